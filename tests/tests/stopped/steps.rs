//! All steps, and which of an operation's equal ones a thread is stopped before.

use guira::model::Step;

macro_rules! all {
    ($($step:ident)*; $($expiring:ident)*) => {
        /// Every step that there is in filters without time.
        pub(crate) const ALL: &[Step] = &[$(Step::$step),*];

        /// Does not compile if one is missing above.
        const _: fn(Step) = |step| match step {
            $(Step::$step => {})*
            // `stopped_steps` stops before these; the last ones are in filters that processes share.
            $(Step::$expiring => {})*
        };
    };
}

all! {
    Observe ReadP ReadQ RereadP RereadQ Validate
    LoadForUpdate Claim
    Outline Advance Shadow Decide Deliver Erase Settle Retract Guard
    Take Kill Hold EndHold
    Reserve Evict Confirm Cancel
    Hint Freeze Copy Cut MovePointer EndPart SeeParts Complete
    Enter Scan;
    ReadEpoch RereadEpoch Withhold Empty Release Renew Tick Swept Piece Began
    Note Gate Leave Appear Vanish
    Commit Publish SeeSegments SeeHint RaiseHint
    Latest Boot
}

/// How many of an operation's equal steps a thread is stopped before, at most.
pub(crate) const MOST: usize = 5;

/// Of `count` equal steps those to stop before: the first, second and third, one
/// in the middle, and the last. (A search for a path loads hundreds of words.)
pub(crate) fn chosen(count: usize) -> Vec<usize> {
    let mut chosen = vec![0, 1, 2, count / 2, count.saturating_sub(1)];
    debug_assert_eq!(chosen.len(), MOST);
    chosen.retain(|&nth| nth < count);
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}
