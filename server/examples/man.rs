//! Prints the manual page: `cargo run -p guira-server --example man > guira-server.1`.

use clap::CommandFactory;
use guira_server::config::Config;
use std::io;

fn main() -> io::Result<()> {
    clap_mangen::Man::new(Config::command()).render(&mut io::stdout().lock())
}
