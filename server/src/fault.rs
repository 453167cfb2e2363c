//! Deliberate panics, with which tests check that the server survives them. They exist only in builds
//! with the feature `faults`.

/// A place at which to panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Any command of a client.
    Command,
    /// A save that has begun.
    Save,
    /// The task that handles SIGTERM and SIGINT.
    Signals,
    /// The task that handles SIGHUP.
    Hangup,
    /// The task that starts saves at an interval.
    SaveEvery,
    /// The task that evicts expired keys.
    Sweep,
    /// The task that begins the epochs of expiring filters.
    Tick,
    /// The task that accepts scrapes.
    Scrapes,
}

#[cfg(feature = "faults")]
mod injected {
    use super::Fault;
    use std::{
        env,
        fs::File,
        path::PathBuf,
        sync::atomic::{AtomicBool, Ordering},
        thread,
        time::Duration,
    };

    impl Fault {
        fn name(self) -> &'static str {
            match self {
                Self::Command => "command",
                Self::Save => "save",
                Self::Signals => "signals",
                Self::Hangup => "hangup",
                Self::SaveEvery => "save-every",
                Self::Sweep => "sweep",
                Self::Tick => "tick",
                Self::Scrapes => "scrapes",
            }
        }

        /// Panics once if `GUIRA_FAULT` names this place and the file named by `GUIRA_FAULT_WHEN`
        /// exists.
        ///
        /// # Panics
        ///
        /// As described.
        pub fn reach(self) {
            static DONE: AtomicBool = AtomicBool::new(false);
            if env::var("GUIRA_FAULT").is_ok_and(|name| name == self.name())
                && file("GUIRA_FAULT_WHEN").is_some_and(|file| file.exists())
                && !DONE.swap(true, Ordering::Relaxed)
            {
                panic!("on purpose: {}", self.name());
            }
        }
    }

    /// Waits while the file named by `GUIRA_HOLD_SAVE` exists.
    pub(crate) fn hold_save() {
        hold("GUIRA_HOLD_SAVE");
    }

    /// Waits while the file named by `GUIRA_HOLD_COPY` exists.
    pub(crate) fn hold_copy() {
        hold("GUIRA_HOLD_COPY");
    }

    /// Makes a file with the extension `reached` as soon as it waits.
    fn hold(variable: &str) {
        while let Some(file) = file(variable).filter(|file| file.exists()) {
            let _ = File::create(file.with_extension("reached"));
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// True if a copy is to ignore that the server was promoted: the control of the test of that.
    pub(crate) fn ignores_promotion() -> bool {
        env::var("GUIRA_FAULT").is_ok_and(|name| name == "promotion")
    }

    fn file(variable: &str) -> Option<PathBuf> {
        env::var_os(variable).map(PathBuf::from)
    }
}

#[cfg(not(feature = "faults"))]
mod injected {
    use super::Fault;

    impl Fault {
        /// Does nothing in this build.
        #[inline(always)]
        pub const fn reach(self) {}
    }

    #[inline(always)]
    pub(crate) const fn hold_save() {}

    #[inline(always)]
    pub(crate) const fn hold_copy() {}

    #[inline(always)]
    pub(crate) const fn ignores_promotion() -> bool {
        false
    }
}

pub(crate) use injected::{hold_copy, hold_save, ignores_promotion};
