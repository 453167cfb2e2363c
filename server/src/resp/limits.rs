//! How large a request may be.

/// What a request may be at most.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Arguments, the command's name among them.
    pub arguments: usize,
    /// Bytes of one argument.
    pub argument_bytes: usize,
    /// Bytes of a request, below 4 GiB.
    pub request_bytes: usize,
}

impl Limits {
    /// For a client that has not authenticated: enough for `HELLO` and `AUTH`.
    pub const UNAUTHENTICATED: Self = Self {
        arguments: 10,
        argument_bytes: 1024,
        request_bytes: 4 * 1024,
    };
}
