//! Ways to be wrong, which tests must notice. They are in builds with the feature `faults` only.

/// What is done wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The client's command is replicated as it is.
    Verbatim,
    /// A piece that was loaded is not replicated.
    ForgetLoad,
    /// The engine is not told that slots can move at once.
    NoSlotMigration,
    /// The time is not replicated.
    ForgetClock,
    /// All memory is taken for aligned.
    Misaligned,
    /// A value that is saved panics after its header.
    PanicInSave,
}

/// True in an engine in whose environment there is a variable for this fault.
#[cfg(feature = "faults")]
pub(crate) fn is(fault: Fault) -> bool {
    use std::sync::OnceLock;
    static CHOSEN: OnceLock<Option<Fault>> = OnceLock::new();
    let chosen = CHOSEN.get_or_init(|| {
        // Without an allocation, as the allocator asks, too.
        let all = [
            (c"GUIRA_FAULT_VERBATIM", Fault::Verbatim),
            (c"GUIRA_FAULT_FORGET_LOAD", Fault::ForgetLoad),
            (c"GUIRA_FAULT_FORGET_CLOCK", Fault::ForgetClock),
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
