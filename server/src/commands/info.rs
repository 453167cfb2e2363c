//! `INFO`: the state of the server, in sections of `name:value` lines.

use super::{
    Args, Reply,
    objects::{MODULE, VERSION},
};
use crate::{
    keyspace::shown_limit,
    process,
    server::{REDIS_VERSION, Server},
    session::Session,
};
use std::{
    fmt::{self, Write},
    sync::Arc,
};

/// The maximum number of filters that `INFO filters` lists.
const FILTERS: usize = 128;

type Section = (&'static str, fn(&Server, &mut String) -> fmt::Result);

const SECTIONS: [Section; 12] = [
    ("Server", server_section),
    ("Clients", clients),
    ("Memory", memory),
    ("Persistence", persistence),
    ("Stats", stats),
    ("Replication", replication),
    ("CPU", cpu),
    ("Modules", modules),
    ("Commandstats", command_stats),
    ("Cluster", cluster),
    ("Keyspace", keyspace),
    ("Filters", filters),
];

/// Sections that a plain `INFO` omits.
const ON_REQUEST: [&str; 1] = ["Commandstats"];

/// `INFO [section]...`
pub(super) fn info(server: &Arc<Server>, _: &mut Session, args: Args<'_>) -> Reply {
    let wanted = |name: &str| {
        let asked = &args[1..];
        let named = |word: &&[u8]| {
            word.eq_ignore_ascii_case(name.as_bytes())
                || word.eq_ignore_ascii_case(b"everything")
                || word.eq_ignore_ascii_case(b"all")
        };
        let default = asked.is_empty()
            || asked
                .iter()
                .any(|word| word.eq_ignore_ascii_case(b"default"));
        asked.iter().any(named) || (default && !ON_REQUEST.contains(&name))
    };
    let mut text = String::new();
    for (name, section) in SECTIONS.iter().filter(|(name, _)| wanted(name)) {
        if !text.is_empty() {
            text.push_str("\r\n");
        }
        let written = write!(text, "# {name}\r\n").and_then(|()| section(server, &mut text));
        if written.is_err() {
            unreachable!("a string takes all text");
        }
    }
    Reply::Text(text)
}

fn server_section(server: &Server, text: &mut String) -> fmt::Result {
    let up = server.started.elapsed().as_secs();
    write!(
        text,
        "redis_version:{REDIS_VERSION}\r\nredis_mode:standalone\r\nserver_name:guira\r\n\
         run_id:{}\r\nguira_version:{}\r\nos:{}\r\narch_bits:{}\r\nprocess_id:{}\r\ntcp_port:{}\r\n\
         worker_threads:{}\r\nuptime_in_seconds:{up}\r\nuptime_in_days:{}\r\n",
        server.run_id,
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        usize::BITS,
        std::process::id(),
        server.port(),
        server.config.threads(),
        up / 86_400,
    )
}

fn clients(server: &Server, text: &mut String) -> fmt::Result {
    write!(
        text,
        "connected_clients:{}\r\nunauthenticated_clients:{}\r\nmaxclients:{}\r\nblocked_clients:0\r\n\
         long_commands_waiting:{}\r\n",
        server.stats.clients(),
        server.clients.unauthenticated(),
        server.tunable.maxclients(),
        server.slow.waiting(),
    )
}

fn memory(server: &Server, text: &mut String) -> fmt::Result {
    let store = &server.store;
    let (dumps, loads) = (store.dumps.in_progress(), store.loads.in_progress());
    let (pools, used) = (&server.pools, store.keyspace.total());
    let (bytes, filters) = (used.bytes(), store.keyspace.used());
    let resident = process::now().map_or(0, |process| process.resident_bytes);
    let clients = pools.requests.bytes() + pools.replies.bytes() + pools.unauthenticated.bytes();
    write!(
        text,
        "used_memory_human:{}\r\nused_memory_peak_human:{}\r\nused_memory_rss_human:{}\r\n\
         used_memory_overhead:{}\r\nmem_clients_normal:{clients}\r\nmem_clients_slaves:0\r\n\
         mem_fragmentation_ratio:{:.2}\r\nmem_fragmentation_bytes:{}\r\nmem_allocator:{}\r\n\
         lazyfree_pending_objects:{}\r\nmaxmemory_human:{}\r\n",
        human(bytes),
        human(used.peak()),
        human(usize::try_from(resident).unwrap_or(usize::MAX)),
        bytes.saturating_sub(filters),
        resident as f64 / bytes.max(1) as f64,
        i128::from(resident) - bytes as i128,
        if cfg!(feature = "jemalloc") {
            "jemalloc"
        } else {
            "libc"
        },
        store.keyspace.gone(),
        human(shown_limit(store.keyspace.limit())),
    )?;
    write!(
        text,
        "used_memory:{}\r\nused_memory_peak:{}\r\nused_memory_dataset:{}\r\nused_memory_rss:{}\r\n\
         used_memory_loads:{}\r\nloads_in_progress:{}\r\nused_memory_requests:{}\r\n\
         used_memory_replies:{}\r\nused_memory_replies_peak:{}\r\nused_memory_unauthenticated:{}\r\ndumps_in_progress:{}\r\ndumps_bytes_on_disk:{}\r\nmaxmemory:{}\r\nmaxmemory_policy:noeviction\r\n",
        bytes,
        used.peak(),
        filters,
        resident,
        loads.bytes,
        loads.count,
        pools.requests.bytes(),
        pools.replies.bytes(),
        pools.replies.peak(),
        pools.unauthenticated.bytes(),
        dumps.count,
        dumps.bytes,
        shown_limit(store.keyspace.limit()),
    )
}

fn persistence(server: &Server, text: &mut String) -> fmt::Result {
    let status = server.saver.status();
    let directory = server.saver.directory();
    write!(
        text,
        "loading:0\r\nrdb_changes_since_last_save:{}\r\nrdb_bgsave_in_progress:{}\r\n\
         rdb_last_save_time:{}\r\nrdb_last_bgsave_status:{}\r\nrdb_last_bgsave_time_sec:{}\r\n\
         save_directory:{}\r\nsaves:{}\r\nrdb_saves:{6}\r\naof_enabled:0\r\n",
        server.changes(),
        u8::from(status.in_progress),
        status.last_completed,
        if status.last_failed { "err" } else { "ok" },
        match status.completed {
            0 => -1,
            _ => i64::try_from(status.took.as_secs()).unwrap_or(i64::MAX),
        },
        directory.map_or_else(String::new, |path| path.display().to_string()),
        status.completed,
    )
}

fn stats(server: &Server, text: &mut String) -> fmt::Result {
    let stats = &server.stats;
    let calls: u64 = stats.commands().map(|(_, calls)| calls.calls).sum();
    let errors: u64 = stats.commands().map(|(_, calls)| calls.errors).sum();
    let (reads, received) = stats.all_received();
    let (writes, sent) = stats.all_sent();
    let misses = server.store.keyspace.misses();
    write!(
        text,
        "total_net_input_bytes:{received}\r\ntotal_net_output_bytes:{sent}\r\n\
         total_reads_processed:{reads}\r\ntotal_writes_processed:{writes}\r\n\
         keyspace_hits:{}\r\nkeyspace_misses:{misses}\r\nevicted_keys:0\r\n",
        stats.lookups().saturating_sub(misses),
    )?;
    write!(
        text,
        "total_connections_received:{}\r\ntotal_commands_processed:{calls}\r\n\
         rejected_connections:{}\r\ntotal_error_replies:{errors}\r\nprotocol_errors:{}\r\n\
         client_output_limit_disconnections:{}\r\nunauthenticated_disconnections:{}\r\nacl_access_denied_auth:{}\r\n\
         expired_keys:{}\r\n",
        stats.connections(),
        stats.rejected(),
        stats.protocol_errors(),
        stats.output_limit(),
        stats.unauthenticated_disconnections(),
        stats.refused_passwords(),
        server.store.keyspace.expired(),
    )
}

/// A primary does not know its standbys.
fn replication(server: &Server, text: &mut String) -> fmt::Result {
    let standby = &server.standby;
    match standby.primary() {
        None => text.write_str("role:master\r\n")?,
        Some(primary) => {
            let status = standby.status();
            let age = status.age.map(|age| age.as_secs());
            let age = age.map_or_else(|| "-1".into(), |age| age.to_string());
            write!(
                text,
                "role:slave\r\nmaster_host:{}\r\nmaster_port:{}\r\nmaster_link_status:{}\r\n\
                 master_sync_in_progress:{}\r\nslave_read_only:1\r\nlast_sync_age_seconds:{age}\r\n\
                 sync_interval_seconds:{}\r\nsyncs:{}\r\nsync_failures:{}\r\n",
                primary.host,
                primary.port,
                if status.is_up { "up" } else { "down" },
                u8::from(status.is_copying),
                server.config.standby.replica_every.as_secs(),
                status.copies,
                status.failures,
            )?;
        }
    }
    write!(
        text,
        "connected_slaves:0\r\nmaster_failover_state:no-failover\r\n\
         master_replid:{}\r\nmaster_replid2:{:040}\r\nmaster_repl_offset:0\r\n\
         second_repl_offset:-1\r\nrepl_backlog_active:0\r\nrepl_backlog_size:0\r\n\
         repl_backlog_first_byte_offset:0\r\nrepl_backlog_histlen:0\r\n",
        server.run_id, 0,
    )
}

fn command_stats(server: &Server, text: &mut String) -> fmt::Result {
    for (command, calls) in server.stats.commands().filter(|(_, calls)| calls.calls > 0) {
        let usec = calls.nanoseconds / 1_000;
        write!(
            text,
            "cmdstat_{}:calls={},usec={usec},usec_per_call={:.3},rejected_calls=0,failed_calls={}\r\n",
            command.name.to_lowercase(),
            calls.calls,
            calls.nanoseconds as f64 / 1_000.0 / calls.calls as f64,
            calls.errors,
        )?;
    }
    Ok(())
}

fn cpu(_: &Server, text: &mut String) -> fmt::Result {
    let Some(process) = process::now() else {
        return Ok(());
    };
    write!(
        text,
        "used_cpu_sys:{:.6}\r\nused_cpu_user:{:.6}\r\nused_cpu_sys_children:0.000000\r\n\
         used_cpu_user_children:0.000000\r\n",
        process.system_seconds, process.user_seconds,
    )
}

fn modules(_: &Server, text: &mut String) -> fmt::Result {
    write!(
        text,
        "module:name={MODULE},ver={VERSION},api=1,filters=0,usedby=[],using=[],options=[]\r\n"
    )
}

/// Bytes as people read them, in the way of Redis.
fn human(bytes: usize) -> String {
    let units = [
        (1_u64 << 40, "T"),
        (1 << 30, "G"),
        (1 << 20, "M"),
        (1 << 10, "K"),
    ];
    let bytes = bytes as u64;
    match units.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{:.2}{name}", bytes as f64 / *unit as f64),
        None => format!("{bytes}B"),
    }
}

fn cluster(_: &Server, text: &mut String) -> fmt::Result {
    text.write_str("cluster_enabled:0\r\n")
}

fn keyspace(server: &Server, text: &mut String) -> fmt::Result {
    let keyspace = &server.store.keyspace;
    match keyspace.len() {
        0 => Ok(()),
        keys => {
            let expires = keyspace.expiring();
            write!(text, "db0:keys={keys},expires={expires},avg_ttl=0\r\n")
        }
    }
}

fn filters(server: &Server, text: &mut String) -> fmt::Result {
    for (key, filter) in server.store.keyspace.entries().take(FILTERS) {
        let stats = filter.stats();
        write!(
            text,
            "filter_{}:items={},capacity={},max_capacity={},load_factor={:.4},memory={},\
             relocations={},doublings={}",
            key.escape_ascii(),
            stats.items,
            filter.capacity(),
            filter.max_capacity(),
            stats.load_factor,
            stats.memory_usage,
            stats.relocations,
            stats.doublings,
        )?;
        if let Some(window) = filter.window() {
            let (epochs, epoch, age) = (window.epochs(), window.epoch(), window.epoch_age());
            let length = window.length().as_secs();
            let age = age.as_secs_f64();
            write!(
                text,
                ",window={length},epochs={epochs},epoch={epoch},epoch_age={age:.3}"
            )?;
        }
        text.push_str("\r\n");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::Config, persist::Saver};
    use clap::Parser;

    #[test]
    fn long_commands_that_wait_are_shown() {
        let server = Server::new(Config::parse_from([""]), Saver::open(None).unwrap());
        let shows = |number: usize| {
            let mut text = String::new();
            clients(&server, &mut text).unwrap();
            text.contains(&format!("\r\nlong_commands_waiting:{number}\r\n"))
        };
        assert!(shows(0));
        let waiting = [server.slow.begin_waiting(), server.slow.begin_waiting()];
        assert!(shows(2));
        drop(waiting);
        assert!(shows(0));
    }
}
