//! Prints the manual page: `cargo run -p guira-server --example man > guira-server.1`.

use clap::CommandFactory;
use clap_mangen::{
    Man,
    roff::{Roff, roman},
};
use guira_server::config::Config;
use std::io::{self, Write};

/// The sections that the options do not provide.
const SECTIONS: [(&str, &[(&str, &str)]); 4] = [
    (
        "ENVIRONMENT",
        &[
            (
                "GUIRA_NAME",
                "The option --name, in capitals and with underscores: GUIRA_MAX_OUTPUT is --max-output. \
                 The command line takes precedence over the environment, and the environment over the \
                 file that --config names.",
            ),
            (
                "NOTIFY_SOCKET",
                "The socket on which the server notifies systemd that it is ready, and that it stops.",
            ),
            (
                "RUST_BACKTRACE",
                "If it is 1, the log has a backtrace of each panic.",
            ),
        ],
    ),
    (
        "SIGNALS",
        &[
            (
                "SIGTERM, SIGINT",
                "Saves if there is a --dir, completes the commands in flight, and exits with 0. If the save \
                 fails, the server continues; a second SIGTERM then tries once more and ends it in any \
                 case, and a second SIGINT ends it at once.",
            ),
            (
                "SIGHUP",
                "Reloads the certificates of --tls-port. The server keeps running when its terminal closes.",
            ),
        ],
    ),
    (
        "FILES",
        &[
            (
                "DIRECTORY/guira.save",
                "The last complete save, which only the user of the server can read.",
            ),
            ("DIRECTORY/guira.save.tmp", "A save that is being written."),
            (
                "DIRECTORY/guira.lock",
                "Locked by the server that uses the directory.",
            ),
        ],
    ),
    (
        "EXIT STATUS",
        &[
            ("0", "The server was stopped normally."),
            (
                "1",
                "It could not start, could not save when it ended, was ended by a second signal, or one \
                 of its tasks panicked.",
            ),
            ("2", "The settings are wrong."),
        ],
    ),
];

fn main() -> io::Result<()> {
    io::stdout().write_all(&page()?)
}

pub(crate) fn page() -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    let command = Config::command();
    let man = Man::new(command.clone());
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    Man::new(command.override_usage(synopsis())).render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    for (title, entries) in SECTIONS {
        let mut section = Roff::new();
        section.control("SH", [title]);
        for (name, text) in entries {
            section.control("TP", []);
            section.text([roman(*name)]);
            section.text([roman(*text)]);
        }
        section.to_writer(&mut page)?;
    }
    man.render_extra_section(&mut page)?;
    man.render_version_section(&mut page)?;
    Ok(page)
}

/// The synopsis: every option with its value.
fn synopsis() -> String {
    let mut text = String::from("guira-server");
    for option in Config::command().get_opts() {
        let values = option.get_value_names().unwrap_or_default();
        let value = values.first().map_or("", |name| name.as_str());
        text.push_str(&format!(
            " [--{} {value}]",
            option.get_id().as_str().replace('_', "-")
        ));
    }
    text
}
