//! Calling the PDF library on bytes from outside.
//!
//! The library is careful code, but it is other people's code on a stranger's bytes, and one malformed font must not take
//! down a worker that has ten thousand files to go. So every call runs under `catch_unwind`, and this is the only place
//! that does. All state of the call is dropped with it, so nothing half-made is seen afterwards.
//!
//! The same way out bounds the work: the library cannot be asked to stop, so a device that has seen enough leaves by
//! [`enough`]. The bound counts drawing operations, not seconds, and so gives the same answer on every machine. Both
//! need `panic = "unwind"`, which is the default and which a test below pins.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// How a call into foreign code went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It panicked: a bug of the library's, brought out by these bytes.
    Panicked,
    /// It was stopped because it did more work than a document needs.
    TooMuch,
}

/// The payload that [`enough`] unwinds with.
struct Enough;

/// Run foreign code; a panic in it, or a call of [`enough`], becomes a value.
pub(crate) fn call<T>(work: impl FnOnce() -> T) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work))
        .map_err(|payload| if payload.is::<Enough>() { Failure::TooMuch } else { Failure::Panicked })
}

/// Leave the [`call`] this runs in. Unlike a panic this prints nothing: it is not a fault.
pub(crate) fn enough() -> ! {
    resume_unwind(Box::new(Enough))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_can_be_cut_short() {
        assert_eq!(call(|| 1), Ok(1));
        assert_eq!(call(|| -> u32 { enough() }), Err(Failure::TooMuch));
    }
}
