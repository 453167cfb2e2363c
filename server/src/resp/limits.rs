//! Limits on the size of a request.

/// The limits of one request.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The most arguments, including the name of the command.
    pub arguments: usize,
    /// The most bytes of one argument.
    pub argument_bytes: usize,
    /// The most bytes of a request, below 4 GiB.
    pub request_bytes: usize,
}

impl Limits {
    /// The limits before a client has authenticated: enough for `HELLO` and `AUTH`.
    pub const UNAUTHENTICATED: Self = Self {
        arguments: 10,
        argument_bytes: 1024,
        request_bytes: 4 * 1024,
    };
}
