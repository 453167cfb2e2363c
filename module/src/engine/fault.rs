//! Deliberate faults, which tests must detect. They exist only in builds with the feature `faults`.

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The client's command is replicated instead of its effects.
    Verbatim,
    /// A loaded piece is not replicated.
    ForgetLoad,
    /// The module does not tell the engine that it supports atomic slot migration.
    NoSlotMigration,
    /// Elapsed time is not replicated.
    ForgetClock,
    /// Elapsed time is replicated by the engine's function for commands with keys.
    ReplicateClock,
    /// All memory is treated as aligned.
    Misaligned,
    /// Saving a value panics after its header.
    PanicInSave,
}

/// True if the environment of the engine has a variable for this fault.
#[cfg(feature = "faults")]
pub(crate) fn is(fault: Fault) -> bool {
    use std::sync::OnceLock;
    static CHOSEN: OnceLock<Option<Fault>> = OnceLock::new();
    let chosen = CHOSEN.get_or_init(|| {
        // Does not allocate, because the allocator calls this.
        let all = [
            (c"GUIRA_FAULT_VERBATIM", Fault::Verbatim),
            (c"GUIRA_FAULT_FORGET_LOAD", Fault::ForgetLoad),
            (c"GUIRA_FAULT_FORGET_CLOCK", Fault::ForgetClock),
            (c"GUIRA_FAULT_REPLICATE_CLOCK", Fault::ReplicateClock),
            (c"GUIRA_FAULT_NO_SLOT_MIGRATION", Fault::NoSlotMigration),
            (c"GUIRA_FAULT_MISALIGNED", Fault::Misaligned),
            (c"GUIRA_FAULT_PANIC_IN_SAVE", Fault::PanicInSave),
        ];
        let found = all.into_iter().find(|(name, _)| is_in_environment(name));
        found.map(|(_, fault)| fault)
    });
    *chosen == Some(fault)
}

/// True if there is an environment variable of this name. It allocates nothing.
#[cfg(feature = "faults")]
fn is_in_environment(name: &std::ffi::CStr) -> bool {
    unsafe extern "C" {
        fn getenv(name: *const std::ffi::c_char) -> *const std::ffi::c_char;
    }
    // SAFETY: it is a valid name; only whether the variable exists is used.
    !unsafe { getenv(name.as_ptr()) }.is_null()
}

#[cfg(not(feature = "faults"))]
#[inline(always)]
pub(crate) const fn is(_: Fault) -> bool {
    false
}

/// Overwrites the stack below the caller, so that a callee that reads a variable before it sets it
/// reads only ones. Otherwise, what it reads depends on the calls before.
#[cfg(feature = "faults")]
#[inline(never)]
pub(crate) fn overwrite_stack() {
    std::hint::black_box([0xff_u8; 1 << 14]);
}

#[cfg(not(feature = "faults"))]
#[inline(always)]
pub(crate) const fn overwrite_stack() {}
