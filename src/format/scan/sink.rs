//! Whose addresses are: to whom what a text says would send data.

use std::sync::LazyLock;

use regex::bytes::Regex;

use super::guards::Subject;
use super::search;

/// An address; its first group is the host.
pub(super) static URL: LazyLock<Regex> =
    LazyLock::new(|| search::regex(r"\bhttps?://(?:[^\s/@]*@)?([^\s/\x22'`<>()\[\]\\,;]+)"));

/// Hosts from which a file is read or documented, not to which data goes.
pub(super) static DOCUMENTS: LazyLock<Regex> = LazyLock::new(|| {
    search::regex(
        r"^(?:docs?\.|learn\.|developers?\.|help\.|support\.|(?:[\w-]+\.)*(?:github\.com|githubusercontent\.com|gitlab\.com|readthedocs\.io|npmjs\.(?:com|org)|pypi\.org|crates\.io|docs\.rs|arxiv\.org|wikipedia\.org|w3\.org|schema\.org|stackoverflow\.com|mozilla\.org|agentskills\.io|modelcontextprotocol\.io|anthropic\.com|openai\.com|claude\.ai|claude\.com|google\.com|googleapis\.com|microsoft\.com|azure\.com|amazonaws\.com|apple\.com|ietf\.org|json-schema\.org|huggingface\.co|slack\.com|notion\.com|atlassian\.net|cloudflare\.com|stripe\.com|twilio\.com|sendgrid\.com|linear\.app|supabase\.co|shields\.io)$)",
    )
});

/// Hosts of examples and of one's own machine.
pub(super) static PLACEHOLDER: LazyLock<Regex> = LazyLock::new(|| {
    search::regex(
        r"^(?:localhost|127\.|0\.0\.0\.0|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|\[|[^.]+(?::\d+)?$)|[{}$<>*%]|\bexample\b|your|\bmy-?(?:app|site|domain|company|server)|\.(?:local|internal|test|invalid|localhost|lan)(?::\d+)?$|\.\.\.|\bhost(?:name)?\b|\bdomain\b|\bacme\b|\bfoo\b|yoursite|company\.com|xxx",
    )
});

/// Platforms whose customers each have a name before the platform's.
const PLATFORMS: [&str; 12] = [
    "onrender",
    "herokuapp",
    "vercel",
    "netlify",
    "github",
    "workers",
    "pages",
    "azurewebsites",
    "fly",
    "railway",
    "run",
    "web",
];

/// To whom the addresses in a text lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sink {
    /// To nobody: documents, examples, the machine itself, or there are none.
    None,
    /// To whom the skill is about, all of them.
    Own,
    /// To somebody else.
    Foreign,
}

/// To whom the addresses in a text lead.
pub(super) fn sink(text: &[u8], subject: &Subject) -> Sink {
    let mut sink = Sink::None;
    for found in URL.captures_iter(text) {
        let host = found.get(1).map_or(&b""[..], |host| host.as_bytes()).trim_ascii();
        let host = host.strip_suffix(b".").unwrap_or(host);
        if PLACEHOLDER.is_match(host) {
            continue;
        }
        if DOCUMENTS.is_match(host) {
            continue;
        }
        let Ok(name) = std::str::from_utf8(host) else { return Sink::Foreign };
        if owner(name).is_some_and(|label| subject.is_about(label)) {
            sink = Sink::Own;
        } else {
            return Sink::Foreign;
        }
    }
    sink
}

/// The label of a host name that says whose it is.
fn owner(host: &str) -> Option<&str> {
    let labels: Vec<&str> = host.split(':').next()?.split('.').collect();
    let second = labels.len().checked_sub(2)?;
    let is_shared = PLATFORMS.contains(&labels[second]) || (labels[second].len() <= 3 && second > 0);
    Some(labels[if is_shared && second > 0 { second - 1 } else { second }])
}
