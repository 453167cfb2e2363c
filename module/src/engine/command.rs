//! Commands: what the engine knows of them, and how it calls them.

mod arguments;

use super::{
    api::{self, CommandArgument, CommandInfo, CommandInfoVersion, ERR, OK, api, with_nul},
    border::guarded,
    context::Context,
    string::Str,
};
use arguments::Arguments;
use guira_commands::Argument;
use std::{
    ffi::{CStr, c_int},
    ptr,
};

/// A command.
pub(crate) trait Command {
    /// Does it, and answers.
    fn call(context: &mut Context, arguments: &[Str<'_>]);
}

/// The description of a command for the engine. A command has at most one key.
#[derive(Clone, Debug)]
pub(crate) struct Description {
    pub(crate) name: &'static str,
    /// As of the engine's own commands: `write deny-oom fast`.
    pub(crate) flags: &'static CStr,
    /// Categories of access, where a module can have its own: not in Redis 7.0.
    pub(crate) categories: &'static CStr,
    /// How many words it has; if negative, how many at least.
    pub(crate) arity: i32,
    pub(crate) summary: &'static str,
    /// True if its first argument is a key.
    pub(crate) has_key: bool,
    /// What follows its name.
    pub(crate) arguments: Vec<Argument>,
}

/// The engine refuses a command: another module has it, as a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the engine refuses the command {0}: is another module loaded that has it?")]
pub(crate) struct CommandRefused(&'static str);

/// The engine refuses a category of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the engine refuses the category {0:?} of access")]
pub(crate) struct CategoryRefused(&'static CStr);

impl Context {
    /// Makes a category for the access to commands, where there are such.
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
        // As the engine's own commands, whose names it shows in small letters.
        let name = with_nul(&description.name.to_ascii_lowercase());
        let flags = description.flags.as_ptr();
        let key = c_int::from(description.has_key);
        // SAFETY: the context is valid, and the engine copies the texts.
        let created = unsafe {
            (api().CreateCommand)(self.raw(), name.as_ptr(), call::<C>, flags, key, key, key)
        };
        // SAFETY: as above.
        let command = unsafe { (api().GetCommand)(self.raw(), name.as_ptr()) };
        if created != OK || command.is_null() {
            return Err(refused);
        }
        if let Some(set) = api().SetCommandACLCategories {
            // SAFETY: the command is the module's.
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
            // SAFETY: the command is the module's, and the engine copies what the description has.
            let result = unsafe { set(command, &raw const info) };
            if result != OK {
                return Err(refused);
            }
        }
        Ok(())
    }
}

/// Those of `redismodule.h`, on 64 bits. The engine goes by these sizes, so that they may grow.
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
    // SAFETY: the engine hands over what is valid during this call, on this thread.
    let (mut context, arguments) =
        unsafe { (Context::new(context), Str::arguments(arguments, count)) };
    let result = guarded(
        "a command",
        || {
            C::call(&mut context, arguments);
            OK
        },
        || ERR,
    );
    if result != OK {
        // Commands answer when all is done, with one reply: that there was a panic means that there
        // has been none.
        context.reply_error("ERR internal error");
    }
    OK
}
