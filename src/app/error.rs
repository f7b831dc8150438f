//! The error table: a closed set of reasons to branch on, each with its code, and a sentence to read.

use std::fmt;
use std::time::Duration;

use crate::domain::limits::ERROR_MESSAGE_BYTES_MAX;
use crate::domain::query::QueryError;
use crate::format::diagnostic::Diagnostic;

/// What kind of answer an error is. Maps to gRPC in `transport/grpc/status.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// The request is wrong in itself.
    InvalidArgument,
    /// Something that the request names does not exist.
    NotFound,
    /// Nobody knows who the caller is.
    Unauthenticated,
    /// The caller may not do this.
    PermissionDenied,
    /// The request was right once, and is not in the present state.
    FailedPrecondition,
    /// What is to be made is there already, or the state of something is in the way.
    Conflict,
    /// A limit is reached.
    ResourceExhausted,
    /// It is declared and not built yet.
    Unimplemented,
    /// It may work later.
    Unavailable,
    /// The caller's time was over first.
    DeadlineExceeded,
    /// A fault of ours.
    Internal,
}

/// Why a call failed: stable, to branch on. Sent as the reason of a `google.rpc.ErrorInfo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A field is missing, malformed or over its limit.
    FieldInvalid,
    /// The message is not what the contract says: wrong UTF-8, wrong wire types, truncated.
    MessageMalformed,
    /// The message is over the service's limit.
    MessageTooLarge,
    /// There is too much to do; the answer says when to come back.
    Overloaded,
    /// The caller's time was over before the answer was there.
    DeadlineExceeded,
    /// There is no such agent.
    AgentUnknown,
    /// The slug is not on the menu that the token proves.
    SlugNotOnMenu,
    /// The token was not made here, or was changed.
    MenuTokenInvalid,
    /// The token was made for another run.
    MenuTokenOtherRun,
    /// The token was made for another turn.
    MenuTokenOtherTurn,
    /// The token's time is over.
    MenuTokenExpired,
    /// The playbook was withdrawn after the menu was made.
    PlaybookWithdrawn,
    /// The revision that the call waits for was not reached in time.
    RevisionNotReached,
    /// There is no token, or one that does not hold.
    Unauthenticated,
    /// The token does not allow it.
    NotPermitted,
    /// The agent has no such playbook.
    PlaybookUnknown,
    /// The playbook never had a version of this digest.
    VersionUnknown,
    /// There is a playbook of this name.
    SlugTaken,
    /// The agent has as many playbooks as it may have.
    PlaybooksTooMany,
    /// The format or the scanner refuses the playbook.
    PlaybookRefused,
    /// The version was withdrawn for security, and does not come back.
    DigestBarred,
    /// The playbook is another than the caller has read.
    DigestMismatch,
    /// The call changes a playbook and does not say which version its caller has read.
    DigestMissing,
    /// The playbooks come from a directory, and are edited there.
    AgentReadOnly,
    /// Somebody else wrote at the same time.
    WriteConflict,
    /// The key of a repeated request belongs to another one.
    RequestKeyReused,
    /// There is no room to keep anything.
    StoreFull,
    /// What is kept cannot be reached at present.
    StoreUnavailable,
    /// The method or the field is declared and not built yet.
    NotBuiltYet,
    /// There is no such method.
    MethodUnknown,
    /// The message is compressed, or encoded otherwise, in a way that is not understood.
    EncodingUnsupported,
    /// A fault of ours.
    Internal,
}

impl Reason {
    /// The reason as it is sent, and its code.
    #[must_use]
    pub fn row(self) -> (&'static str, Code) {
        match self {
            Self::FieldInvalid => ("FIELD_INVALID", Code::InvalidArgument),
            Self::MessageMalformed => ("MESSAGE_MALFORMED", Code::InvalidArgument),
            Self::MessageTooLarge => ("MESSAGE_TOO_LARGE", Code::ResourceExhausted),
            Self::Overloaded => ("OVERLOADED", Code::ResourceExhausted),
            Self::DeadlineExceeded => ("DEADLINE_EXCEEDED", Code::DeadlineExceeded),
            Self::AgentUnknown => ("AGENT_UNKNOWN", Code::NotFound),
            Self::SlugNotOnMenu => ("SLUG_NOT_ON_MENU", Code::NotFound),
            Self::MenuTokenInvalid => ("MENU_TOKEN_INVALID", Code::PermissionDenied),
            Self::MenuTokenOtherRun => ("MENU_TOKEN_OTHER_RUN", Code::PermissionDenied),
            Self::MenuTokenOtherTurn => ("MENU_TOKEN_OTHER_TURN", Code::PermissionDenied),
            Self::MenuTokenExpired => ("MENU_TOKEN_EXPIRED", Code::FailedPrecondition),
            Self::PlaybookWithdrawn => ("PLAYBOOK_WITHDRAWN", Code::FailedPrecondition),
            Self::RevisionNotReached => ("REVISION_NOT_REACHED", Code::Unavailable),
            Self::Unauthenticated => ("UNAUTHENTICATED", Code::Unauthenticated),
            Self::NotPermitted => ("NOT_PERMITTED", Code::PermissionDenied),
            Self::PlaybookUnknown => ("PLAYBOOK_UNKNOWN", Code::NotFound),
            Self::VersionUnknown => ("VERSION_UNKNOWN", Code::NotFound),
            Self::SlugTaken => ("SLUG_TAKEN", Code::Conflict),
            Self::PlaybooksTooMany => ("PLAYBOOKS_TOO_MANY", Code::Conflict),
            Self::PlaybookRefused => ("PLAYBOOK_REFUSED", Code::InvalidArgument),
            Self::DigestBarred => ("DIGEST_BARRED", Code::Conflict),
            Self::DigestMismatch => ("DIGEST_MISMATCH", Code::FailedPrecondition),
            Self::DigestMissing => ("DIGEST_MISSING", Code::InvalidArgument),
            Self::AgentReadOnly => ("AGENT_READ_ONLY", Code::Conflict),
            Self::WriteConflict => ("WRITE_CONFLICT", Code::Conflict),
            Self::RequestKeyReused => ("REQUEST_KEY_REUSED", Code::InvalidArgument),
            Self::StoreFull => ("STORE_FULL", Code::ResourceExhausted),
            Self::StoreUnavailable => ("STORE_UNAVAILABLE", Code::Unavailable),
            Self::NotBuiltYet => ("NOT_BUILT_YET", Code::Unimplemented),
            Self::MethodUnknown => ("METHOD_UNKNOWN", Code::Unimplemented),
            Self::EncodingUnsupported => ("ENCODING_UNSUPPORTED", Code::Unimplemented),
            Self::Internal => ("INTERNAL", Code::Internal),
        }
    }
}

/// A call that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    reason: Reason,
    message: String,
    metadata: Vec<(&'static str, String)>,
    retry_after: Option<Duration>,
    findings: Vec<Diagnostic>,
}

impl Error {
    /// An error with a sentence: lower case, no full stop, names the thing, the limit and what to do.
    #[must_use]
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        let mut message = message.into();
        message.truncate(sendable_bytes(&message));
        Self { reason, message, metadata: Vec::new(), retry_after: None, findings: Vec::new() }
    }

    /// A field that is missing, malformed or over its limit.
    #[must_use]
    pub fn field(field: &'static str, message: impl fmt::Display) -> Self {
        Self::new(Reason::FieldInvalid, format!("{field}: {message}")).with("field", field)
    }

    /// A field that is declared and not built yet.
    #[must_use]
    pub fn field_not_built(field: &'static str) -> Self {
        let message = format!("the field `{field}` is declared and not built yet; leave it out");
        Self::new(Reason::NotBuiltYet, message).with("field", field)
    }

    /// A method that is declared and not built yet.
    #[must_use]
    pub fn method_not_built(service: &str, method: &str) -> Self {
        let method = format!("{}.{method}", service.rsplit('.').next().unwrap_or(service));
        let message = format!("the method {method} is declared and not built yet");
        Self::new(Reason::NotBuiltYet, message).with("method", method)
    }

    /// The same error with a fact for programs.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.metadata.push((key, value.into()));
        self
    }

    /// The same error with the time after which the call may be tried again.
    #[must_use]
    pub fn with_retry_after(mut self, time: Duration) -> Self {
        self.retry_after = Some(time);
        self
    }

    /// The same error with what there is to say about a file.
    #[must_use]
    pub fn with_findings(mut self, findings: Vec<Diagnostic>) -> Self {
        self.findings = findings;
        self
    }

    /// What there is to say about a file that is refused.
    #[must_use]
    pub fn findings(&self) -> &[Diagnostic] {
        &self.findings
    }

    /// The time after which the call may be tried again.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// Why.
    #[must_use]
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// The sentence.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Facts for programs.
    #[must_use]
    pub fn metadata(&self) -> &[(&'static str, String)] {
        &self.metadata
    }
}

/// How many bytes of a message fit its limit once they are percent-encoded; ends between characters.
fn sendable_bytes(message: &str) -> usize {
    let mut left = ERROR_MESSAGE_BYTES_MAX;
    for (at, c) in message.char_indices() {
        let is_sent_as_it_is = matches!(c, ' '..='~') && c != '%';
        let sent_bytes = if is_sent_as_it_is { 1 } else { 3 * c.len_utf8() };
        match left.checked_sub(sent_bytes) {
            Some(rest) => left = rest,
            None => return at,
        }
    }
    message.len()
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<QueryError> for Error {
    fn from(error: QueryError) -> Self {
        Self::field(error.field, error.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_cut_by_what_is_sent_and_between_characters() {
        for (text, bytes) in [("a", 1_000), ("猫", 333), ("%", 333), ("🚀", 332)] {
            let error = Error::new(Reason::Internal, text.repeat(2_000));
            assert_eq!(error.message().len(), bytes, "{text}");
        }
        assert_eq!(Error::new(Reason::Internal, "short").message(), "short");
    }
}
