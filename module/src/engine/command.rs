//! Commands: how they are registered with the engine, and how it calls them.

mod arguments;

use super::{
    api::{self, CommandArgument, CommandInfo, CommandInfoVersion, ERR, OK, api, with_nul},
    border::guarded,
    context::Context,
    string::Str,
};
use arguments::Arguments;
use guira_commands::{Argument, Sources};
use std::{
    ffi::{CStr, c_int},
    iter, ptr,
};

/// A command.
pub(crate) trait Command {
    /// The keys that it reads, besides its own.
    const SOURCES: Sources = Sources::None;

    /// Runs the command and replies.
    fn call(context: &mut Context, arguments: &[Str<'_>]);
}

/// The description of a command for the engine.
#[derive(Clone, Debug)]
pub(crate) struct Description {
    pub(crate) name: &'static str,
    /// The flags, with the engine's names: `write deny-oom fast`.
    pub(crate) flags: &'static CStr,
    /// The ACL categories, in engines where a module can define them: not in Redis 7.0.
    pub(crate) categories: &'static CStr,
    /// The number of words; a negative number is a minimum.
    pub(crate) arity: i32,
    pub(crate) summary: &'static str,
    /// True if its first argument is a key. Others are its [`Command::SOURCES`].
    pub(crate) has_key: bool,
    /// The arguments after its name.
    pub(crate) arguments: Vec<Argument>,
}

/// The engine refused a command, usually because another module has registered it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the engine refuses the command {0}: is another module loaded that has it?")]
pub(crate) struct CommandRefused(&'static str);

/// The engine refused an ACL category.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the engine refuses the category {0:?} of access")]
pub(crate) struct CategoryRefused(&'static CStr);

impl Context {
    /// Creates an ACL category, if the engine supports that.
    pub(crate) fn add_category(&self, name: &'static CStr) -> Result<(), CategoryRefused> {
        let Some(add) = api().AddACLCategory else {
            return Ok(());
        };
        // SAFETY: the context is valid.
        match unsafe { add(self.raw(), name.as_ptr()) } {
            OK => Ok(()),
            _ => Err(CategoryRefused(name)),
        }
    }

    pub(crate) fn create_command<C: Command>(
        &self,
        description: &Description,
    ) -> Result<(), CommandRefused> {
        let refused = CommandRefused(description.name);
        // The engine shows names of commands in lower case, as for its own.
        let name = with_nul(&description.name.to_ascii_lowercase());
        let key = c_int::from(description.has_key);
        let (flags, last) = match C::SOURCES {
            Sources::None => (description.flags.to_owned(), key),
            Sources::Rest => (description.flags.to_owned(), -1),
            // The engine asks the command where its keys are.
            Sources::After(_) => {
                let flags = description.flags.to_string_lossy();
                (with_nul(&format!("{flags} getkeys-api")), key)
            }
        };
        // SAFETY: the context is valid, and the engine copies the strings.
        let created = unsafe {
            let (name, flags) = (name.as_ptr(), flags.as_ptr());
            (api().CreateCommand)(self.raw(), name, call::<C>, flags, key, last, key)
        };
        // SAFETY: as above.
        let command = unsafe { (api().GetCommand)(self.raw(), name.as_ptr()) };
        if created != OK || command.is_null() {
            return Err(refused);
        }
        if let Some(set) = api().SetCommandACLCategories {
            // SAFETY: the command belongs to the module.
            let result = unsafe { set(command, description.categories.as_ptr()) };
            if result != OK {
                return Err(refused);
            }
        }
        if let Some(set) = api().SetCommandInfo {
            let summary = with_nul(description.summary);
            let arguments = Arguments::new(&description.arguments);
            let info = CommandInfo {
                version: &raw const VERSION,
                summary: summary.as_ptr(),
                complexity: ptr::null(),
                since: ptr::null(),
                history: ptr::null(),
                tips: ptr::null(),
                arity: description.arity,
                key_specs: ptr::null(),
                arguments: arguments.as_ptr(),
            };
            // SAFETY: the command belongs to the module, and the engine copies the description.
            let result = unsafe { set(command, &raw const info) };
            if result != OK {
                return Err(refused);
            }
        }
        Ok(())
    }
}

impl Context {
    /// True if the engine only wants to know where the keys of the command are.
    fn is_asked_for_keys(&self) -> bool {
        // SAFETY: the context is valid.
        unsafe { (api().IsKeysPositionRequest)(self.raw()) != 0 }
    }

    /// Tells the engine where the keys of the command are.
    fn name_keys(&self, sources: Sources, arguments: &[Str<'_>]) {
        let words: Vec<&[u8]> = arguments.iter().map(|word| word.as_bytes()).collect();
        for index in iter::once(1).chain(sources.indices(&words)) {
            // SAFETY: the context is valid, and the engine asks for positions.
            unsafe { (api().KeyAtPos)(self.raw(), c_int::try_from(index).unwrap_or(c_int::MAX)) }
        }
    }
}

/// The sizes of the structs in `redismodule.h` on 64-bit targets, which allow the structs to grow.
static VERSION: CommandInfoVersion = CommandInfoVersion {
    version: 1,
    history_entry: 16,
    key_spec: 56,
    argument: size_of::<CommandArgument>(),
};

unsafe extern "C" fn call<C: Command>(
    context: *mut api::Ctx,
    arguments: *mut *mut api::Str,
    count: c_int,
) -> c_int {
    // SAFETY: the engine passes values that are valid during this call, on this thread.
    let (mut context, arguments) =
        unsafe { (Context::new(context), Str::arguments(arguments, count)) };
    let result = guarded(
        "a command",
        || {
            if const { matches!(C::SOURCES, Sources::After(_)) } && context.is_asked_for_keys() {
                context.name_keys(C::SOURCES, arguments);
                return OK;
            }
            C::call(&mut context, arguments);
            OK
        },
        || ERR,
    );
    if result != OK {
        // Commands reply once, at their end, so a command that panicked has not replied.
        context.reply_error("ERR internal error");
    }
    OK
}
