//! How large a request may be.

/// What a request may be at most.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Arguments, the command's name among them.
    pub arguments: usize,
    /// Bytes of one argument.
    pub argument_bytes: usize,
    /// Bytes of a request.
    pub request_bytes: usize,
}

impl Limits {
    /// For a client that has not said who it is: enough for `HELLO` and `AUTH`.
    pub const UNAUTHENTICATED: Self = Self {
        arguments: 10,
        argument_bytes: 16 * 1024,
        request_bytes: 64 * 1024,
    };
}
