//! What a client makes of `CF.INSERT` and `CF.INSERTNX` of a full key. Arguments: client, port, protocol.
//! redis-rs and fred convert a reply to the type that their caller names: `bool` or `i64`.

use fred::{
    prelude::{Builder, ClientLike, Config},
    types::{ClusterHash, CustomCommand, FromValue, RespVersion, Value},
};
use rustis::{client::Client, commands::CuckooCommands};
use std::{env, error::Error, fmt::Debug};

const LOCK_FILE: &str = include_str!("../../Cargo.lock");
const INSERT: (&str, [&str; 4]) = ("CF.INSERT", ["insert", "ITEMS", "kept", "new"]);
const INSERTNX: (&str, [&str; 5]) = ("CF.INSERTNX", ["insertnx", "ITEMS", "kept", "kept", "new"]);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let [client, port, protocol] = arguments.try_into().map_err(|_| "not three arguments")?;
    let address = format!("redis://127.0.0.1:{port}");
    let version = if protocol == "3" {
        RespVersion::RESP3
    } else {
        RespVersion::RESP2
    };
    let (library, kind) = client.split_once(',').unwrap_or((&client, ""));
    let in_lock_file = format!("name = \"{library}\"\nversion = \"");
    let (_, pinned) = LOCK_FILE
        .split_once(&in_lock_file)
        .ok_or("no such client")?;
    let number = pinned.split('"').next().unwrap_or_default();
    println!(
        "Rust: {} {number}{kind}",
        if library == "redis" {
            "redis-rs"
        } else {
            library
        }
    );
    match (library, kind) {
        ("redis", " as bool") => {
            with_redis_rs::<Vec<bool>>(&format!("{address}?protocol=resp{protocol}"))
        }
        ("redis", " as i64") => {
            with_redis_rs::<Vec<i64>>(&format!("{address}?protocol=resp{protocol}"))
        }
        ("fred", " as bool") => with_fred::<Vec<bool>>(&address, version).await,
        ("fred", " as i64") => with_fred::<Vec<i64>>(&address, version).await,
        ("rustis", "") => with_rustis(&address).await,
        _ => Err("no such client".into()),
    }
}

/// A reply that cannot be converted is an error for the caller.
fn show(converted: Result<impl Debug, impl Error>) {
    match converted {
        Ok(value) => println!("{value:?}"),
        Err(_) => println!("an error"),
    }
}

fn with_redis_rs<T: redis::FromRedisValue + Debug>(address: &str) -> Result<(), Box<dyn Error>> {
    let mut connection = redis::Client::open(address)?.get_connection()?;
    show(
        redis::cmd(INSERT.0)
            .arg(&INSERT.1)
            .query::<T>(&mut connection),
    );
    show(
        redis::cmd(INSERTNX.0)
            .arg(&INSERTNX.1)
            .query::<T>(&mut connection),
    );
    Ok(())
}

async fn with_fred<T: FromValue + Debug>(
    address: &str,
    version: RespVersion,
) -> Result<(), Box<dyn Error>> {
    let mut config = Config::from_url(address)?;
    config.version = version;
    let client = Builder::from_config(config).build()?;
    client.init().await?;
    let command = |name: &'static str| CustomCommand::new(name, ClusterHash::FirstKey, false);
    let inserted: Value = client.custom(command(INSERT.0), INSERT.1.to_vec()).await?;
    let insertednx: Value = client
        .custom(command(INSERTNX.0), INSERTNX.1.to_vec())
        .await?;
    show(inserted.convert::<T>());
    show(insertednx.convert::<T>());
    client.quit().await?;
    Ok(())
}

/// This client speaks RESP3 only.
async fn with_rustis(address: &str) -> Result<(), Box<dyn Error>> {
    let client = Client::connect(address).await?;
    let added = client
        .cf_insert(INSERT.1[0], Default::default(), ["kept", "new"])
        .await?;
    println!("{added:?}");
    let items = ["kept", "kept", "new"];
    let added: Vec<i64> = client
        .cf_insertnx(INSERTNX.1[0], Default::default(), items)
        .await?;
    println!("{added:?}");
    Ok(())
}
