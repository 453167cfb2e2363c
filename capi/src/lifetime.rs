//! A value for filters of each lifetime, and the one place that tells them apart.

/// A value for filters without a TTL, or one for filters with it.
pub(crate) enum Either<F, E> {
    Forever(F),
    Expiring(E),
}

/// The value of an expression with whichever value it is.
macro_rules! with {
    ($either:expr, $it:ident => $value:expr) => {
        match $either {
            $crate::lifetime::Either::Forever($it) => $value,
            $crate::lifetime::Either::Expiring($it) => $value,
        }
    };
}

/// The same, where the values of the expression have two types.
macro_rules! each {
    ($either:expr, $it:ident => $value:expr) => {
        match $either {
            $crate::lifetime::Either::Forever($it) => $crate::lifetime::Either::Forever($value),
            $crate::lifetime::Either::Expiring($it) => $crate::lifetime::Either::Expiring($value),
        }
    };
}

pub(crate) use {each, with};
