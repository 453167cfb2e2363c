//! fred and rustis against a server on the port of the first argument.

use fred::{
    prelude::{Builder, ClientLike, Config, KeysInterface},
    types::{ClusterHash, CustomCommand, RespVersion, Value},
};
use rustis::{
    client::Client,
    commands::{
        ClientKillOptions, ConnectionCommands, CuckooCommands, FlushingMode, GenericCommands,
        ServerCommands,
    },
};
use std::{env, error::Error};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let port = env::args().nth(1).ok_or("no port")?;
    let address = format!("redis://127.0.0.1:{port}");
    for version in [RespVersion::RESP2, RespVersion::RESP3] {
        with_fred(&address, version).await?;
    }
    println!("fred passed");
    with_rustis(&address).await?;
    println!("rustis passed");
    Ok(())
}

async fn with_fred(address: &str, version: RespVersion) -> Result<(), Box<dyn Error>> {
    let mut config = Config::from_url(address)?;
    config.version = version;
    let client = Builder::from_config(config).build()?;
    client.init().await?;
    let _: () = client.flushall(false).await?;
    let ask = async |name: &'static str, words: &[&str]| -> Result<Value, fred::error::Error> {
        let command = CustomCommand::new(name, ClusterHash::FirstKey, false);
        let words: Vec<String> = words.iter().map(|&word| word.into()).collect();
        client.custom(command, words).await
    };
    assert!(ask("CF.ADD", &["k", "a"]).await?.convert::<bool>()?);
    assert!(ask("CF.EXISTS", &["k", "a"]).await?.convert::<bool>()?);
    assert!(!ask("CF.EXISTS", &["k", "b"]).await?.convert::<bool>()?);
    let added = ask("CF.INSERTNX", &["w", "WINDOW", "60", "ITEMS", "a", "a"]).await?;
    assert_eq!(added.convert::<Vec<i64>>()?, [1, 0]);
    assert!(client.expire::<bool, _>("k", 100, None).await?);
    let _: () = client.rename("k", "l").await?;
    assert_eq!(client.exists::<i64, _>("l").await?, 1);
    client.quit().await?;
    Ok(())
}

async fn with_rustis(address: &str) -> Result<(), Box<dyn Error>> {
    let client = Client::connect(address).await?;
    client.flushall(FlushingMode::Sync).await?;
    client.cf_reserve("k", 1000, Default::default()).await?;
    client.cf_add("k", "a").await?;
    assert!(!client.cf_addnx("k", "a").await?);
    assert!(client.cf_exists("k", "a").await?);
    assert_eq!(client.cf_insert("k", Default::default(), ["b", "c"]).await?, [true, true]);
    assert_eq!(client.cf_count("k", "a").await?, 1);
    assert!(client.cf_del("k", "a").await?);
    assert_eq!(client.exists("k").await?, 1);
    let itself = client.client_info().await?;
    let listed = client.client_list(Default::default()).await?;
    assert!(listed.client_infos.iter().any(|other| other.id == itself.id));
    let ended = client.client_kill(ClientKillOptions::default().id(i64::MAX)).await?;
    assert_eq!(ended, 0);
    let modules = client.module_list::<Vec<rustis::commands::ModuleInfo>>().await?;
    assert_eq!(modules[0].name, "guira");
    let commands = client.command_info(["cf.add"]).await?;
    assert_eq!(commands.len(), 1);
    Ok(())
}
