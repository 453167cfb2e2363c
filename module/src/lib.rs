//! The `CF.*` commands inside Valkey and Redis: a loadable module.
//!
//! A filter is the value of a key, of a data type that the module registers. The engine saves,
//! replicates, migrates, expires and evicts it like any other value. The crate `guira-commands`
//! implements the commands, here and in the server.
//!
//! | | |
//! |---|---|
//! | `engine` | safe types for the API of Valkey and Redis; contains all `unsafe` code |
//! | `commands`, `host`, `reply` | a command, from its arguments to its reply |
//! | `effects` | what is replicated to replicas and the AOF |
//! | `entry`, `loading` | the value of a key, and its serialization |
//! | `windows`, `clock` | when the epochs of filters begin |
//! | `offload`, `apart`, `workers` | work on the module's own threads |
//! | `settings`, `info` | configuration and metrics |

#![deny(unsafe_code)]

mod apart;
mod clock;
mod commands;
mod effects;
mod engine;
mod entry;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod host;
mod info;
mod loading;
mod offload;
mod reply;
mod settings;
mod slot;
mod windows;
mod workers;

use engine::{Context, EventsRefused, Module, SectionRefused, SettingError, Str, TypeRefused};

engine::entry_point!(Module {
    name: c"guira",
    version: 1,
    load,
});

/// Counts the memory of filters towards the engine's `used_memory`.
#[cfg_attr(not(any(test, feature = "fuzzing")), global_allocator)]
#[cfg_attr(
    any(test, feature = "fuzzing"),
    expect(dead_code, reason = "there is no engine")
)]
static ALLOCATOR: engine::EngineAllocator = engine::EngineAllocator;

/// The reason why the module cannot be loaded.
#[derive(Debug, thiserror::Error)]
enum LoadModuleError {
    #[error(transparent)]
    Argument(#[from] settings::ArgumentError),
    #[error(transparent)]
    Type(#[from] TypeRefused),
    #[error(transparent)]
    Commands(#[from] commands::RegisterError),
    #[error(transparent)]
    Setting(#[from] SettingError),
    #[error(transparent)]
    Section(#[from] SectionRefused),
    #[error(transparent)]
    Events(#[from] EventsRefused),
}

/// Registers the data type, commands, settings and callbacks with the engine.
fn load(context: &mut Context, arguments: &[Str<'_>]) -> Result<(), LoadModuleError> {
    let arguments: Vec<_> = arguments.iter().map(|word| word.as_bytes()).collect();
    let chosen = settings::parse(&arguments)?;
    // The engine refuses a second type of this name, so the cell is set only once.
    let _ = entry::TYPE.set(context.register_type()?);
    commands::register(context)?;
    settings::register(context, &chosen)?;
    context.register_info(info::write)?;
    context.tell_of_restores(clock::restored)?;
    context.look_often(clock::look);
    #[cfg(feature = "faults")]
    engine::log_alignments();
    Ok(())
}
