//! The `CF.*` commands inside Valkey and Redis: a loadable module.
//!
//! The engine keeps a filter as the value of a key, of a type that the module brings, and saves,
//! replicates, migrates, expires and evicts it as any other. What the commands mean is in the crate
//! `guira-commands`; the server has it from there, too.
//!
//! | | |
//! |---|---|
//! | `engine` | Valkey and Redis behind safe types: all `unsafe` is in there |
//! | `commands`, `host`, `reply` | a command from its arguments to its answer |
//! | `effects` | what is replicated to replicas and the AOF |
//! | `entry`, `loading` | the value of a key, and its bytes |
//! | `windows`, `clock` | when the windows of filters move on |
//! | `offload`, `workers` | what threads of the module's own do |
//! | `settings`, `info` | what operators set and see |

#![deny(unsafe_code)]

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

/// The engine counts the memory of its filters.
#[cfg_attr(not(any(test, feature = "fuzzing")), global_allocator)]
#[cfg_attr(
    any(test, feature = "fuzzing"),
    expect(dead_code, reason = "there is no engine")
)]
static ALLOCATOR: engine::EngineAllocator = engine::EngineAllocator;

/// The module cannot be loaded.
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

/// Tells the engine all that the module has.
fn load(context: &mut Context, arguments: &[Str<'_>]) -> Result<(), LoadModuleError> {
    let arguments: Vec<_> = arguments.iter().map(|word| word.as_bytes()).collect();
    let chosen = settings::parse(&arguments)?;
    // The engine refuses a second type of this name, so this one stays the only one.
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
