//! Commands: how they are registered with the engine, and how it calls them.

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
    /// Runs the command and replies.
    fn call(context: &mut Context, arguments: &[Str<'_>]);
}

/// The description of a command for the engine. A command has at most one key.
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
    /// True if its first argument is a key.
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
        let flags = description.flags.as_ptr();
        let key = c_int::from(description.has_key);
        // SAFETY: the context is valid, and the engine copies the strings.
        let created = unsafe {
            (api().CreateCommand)(self.raw(), name.as_ptr(), call::<C>, flags, key, key, key)
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
