//! The error table as gRPC has it: a status with a `google.rpc.ErrorInfo`.

use std::collections::HashMap;

use tonic::{Code as GrpcCode, Status};
use tonic_types::{ErrorDetails, StatusExt};

use crate::app::error::{Code, Error};

/// The domain of every `ErrorInfo`.
pub(super) const DOMAIN: &str = "maitred";

/// The status of an error.
pub(super) fn to_status(error: &Error) -> Status {
    let (reason, code) = error.reason().row();
    let metadata: HashMap<String, String> =
        error.metadata().iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    let mut details = ErrorDetails::with_error_info(reason, DOMAIN, metadata);
    if let Some(time) = error.retry_after() {
        details.set_retry_info(Some(time));
    }
    Status::with_error_details(to_grpc(code), error.message(), details)
}

pub(super) fn to_grpc(code: Code) -> GrpcCode {
    match code {
        Code::InvalidArgument => GrpcCode::InvalidArgument,
        Code::NotFound => GrpcCode::NotFound,
        Code::Unauthenticated => GrpcCode::Unauthenticated,
        Code::PermissionDenied => GrpcCode::PermissionDenied,
        Code::FailedPrecondition => GrpcCode::FailedPrecondition,
        Code::Conflict => GrpcCode::AlreadyExists,
        Code::ResourceExhausted => GrpcCode::ResourceExhausted,
        Code::Unimplemented => GrpcCode::Unimplemented,
        Code::Unavailable => GrpcCode::Unavailable,
        Code::DeadlineExceeded => GrpcCode::DeadlineExceeded,
        Code::Internal => GrpcCode::Internal,
    }
}
