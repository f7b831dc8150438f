//! Gives the refusals of the gRPC library itself the codes and reasons of the error table.
//!
//! The library answers an oversized message with `OUT_OF_RANGE`, a malformed one with `INTERNAL` and an unknown method
//! without a word. They never reach a service, so the answer is rewritten on its way out.

use tonic::{Code, Status};

use crate::app::error::{Error, Reason};
use crate::domain::text;

/// The error to send instead; none when the status is one of ours, with details.
pub(super) fn rewritten(status: &Status) -> Option<Error> {
    if !status.details().is_empty() {
        return None;
    }
    let said = text::escaped(status.message(), 400);
    let error = match status.code() {
        Code::OutOfRange => {
            let sizes = said.trim_start_matches("Error, decoded message length too large: ");
            Error::new(Reason::MessageTooLarge, format!("the message is too large: {sizes}"))
        }
        Code::Internal => Error::new(Reason::MessageMalformed, format!("the message cannot be read: {said}")),
        Code::Unimplemented if said.is_empty() => no_such_method(),
        Code::Unimplemented => {
            Error::new(Reason::EncodingUnsupported, format!("{said}; send it uncompressed"))
        }
        _ => return None,
    };
    Some(error)
}

/// The refusal of a call to what does not exist.
pub(super) fn no_such_method() -> Error {
    let message = "there is no such method; server reflection lists those that exist";
    Error::new(Reason::MethodUnknown, message)
}
