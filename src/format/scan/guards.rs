//! What makes a hit harmless: a negation before it, quotes around it, the subject of the skill, a code block.
//!
//! A guard lowers a severity and never silences a rule. **Cost**: each looks at a window of bounded size.

use std::sync::LazyLock;

use regex::bytes::Regex;

use super::regions::{Region, Regions};
use super::views::View;

/// The guards of a pattern, as bits.
pub(super) type Guards = u16;
/// A negation or a defensive word in the sentence before; in a code block also at the end of the text before the block,
/// and as a remark behind the hit.
pub(super) const NEG: Guards = 1;
/// Quotation marks or inline code around it.
pub(super) const QUO: Guards = 1 << 1;
/// A skill about security: one level down.
pub(super) const SEC: Guards = 1 << 2;
/// A code block: one level down.
pub(super) const FENCE: Guards = 1 << 3;
/// A pattern about words: what NEG or QUO guard is LOW then, and MEDIUM otherwise.
pub(super) const WORDS: Guards = 1 << 4;
/// The nearest URL must be one of a foreign host; one that the skill is about makes it MEDIUM.
pub(super) const SINK: Guards = 1 << 5;
/// A URL of a host that the skill is about makes it MEDIUM; no URL is needed.
pub(super) const OWN: Guards = 1 << 6;
/// A skill about prompts and models: MEDIUM.
pub(super) const PROMPTS: Guards = 1 << 7;
/// A skill about agents' own files: MEDIUM.
pub(super) const NOTES: Guards = 1 << 8;
/// A table row or quotation: MEDIUM.
pub(super) const TABLE: Guards = 1 << 9;

/// Bytes before a hit in which a negation counts.
const BEFORE_BYTES: usize = 110;
/// Bytes before a hit in which its list may begin.
const LIST_BYTES: usize = 600;
/// Bytes of a line that are looked at on each side of a hit.
const LINE_BYTES: usize = 300;

fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the patterns of guards are tested")
}

static NEGATION: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i-u)\b(?:\w+_(?:blocked|malicious|dangerous|unsafe|rejected)|(?:warn|alert)(?:s|ing)?\s+(?:when|if|about|on|against)|never|not|don.{1,3}t|cannot|can.{1,3}t|won.{1,3}t|shouldn.{1,3}t|mustn.{1,3}t|avoid(?:s|ing)?|without|no longer|forbid(?:den|s)?|prohibit(?:ed|s)?|den(?:y|ied|ies)|refuse[sd]?|reject(?:s|ed)?|block(?:s|ed|ing)?|prevent(?:s|ing)?|flag(?:s|ged)?|detect(?:s|ing|ion)?|dangerous|malicious|unsafe|insecure|suspicious|attacks?|attackers?|anti-?patterns?|red flags?|warning signs?|risky|harmful|vulnerab\w*|exploit\w*|bad|wrong|instead of|such as|for example|examples?|e\.g\.|like|look(?:s|ing)? for|watch (?:out )?for|scan(?:s|ning)? for|check(?:s|ing)? for|patterns?|injections?|payloads?)\b|\b(?:grep|rg|egrep)\s[^'\x22|;&]*['\x22][^'\x22]*$|\xE2\x9D\x8C|\xF0\x9F\x9A\xAB|\xE2\x9B\x94",
    )
});

/// Words with which a negation forbids nothing: "do not forget to", "never mind", "not dangerous", "you no longer need".
static INVERTED: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i-u)\b(?:not|never|don.{1,3}t|cannot|can.{1,3}t|without)\s+(?:ever\s+)?(?:forget|skip|omit|fail|miss|hesitate|worry|wait|stop|ask|tell|mention|inform|bother|telling|asking|warning|failing|delay|be alarmed|be afraid|panic|mind|only|just|block\s+on)|\b(?:not|isn.{1,3}t|aren.{1,3}t|never|nothing|no)\s+(?:an?\s+|at\s+all\s+)?(?:problem|issue|trouble|dangerous|malicious|unsafe|insecure|suspicious|harmful|risky|bad|wrong|attack|malware|optional)\b|\bwithout\s+(?:root|sudo|admin\w*|docker|npm|brew|homebrew|pip)\b|\bignore\s+(?:that|it|any|the|all|warnings?|alerts?)\b|\bbut\s+(?:it\s+)?(?:is|it.s)\s+(?:fine|safe|ok|okay|harmless)\b|\b(?:is|are|be)\s+(?:perfectly\s+|completely\s+|totally\s+)?safe\b|\bno\s+longer\s+needs?\b|\bcheck(?:s|ing)?\s+for\s+(?:an?\s+|new\s+)*(?:updates?|versions?|releases?)\b",
    )
});

/// An order at the end of a text: what follows is to be run, whatever was denied before. "Never run" is none.
static ORDERED: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i-u)(?:[,:;\x21?]|\s-+|\xE2\x80[\x93\x94]|\b(?:then|just|please|simply|and\s+then))\s+(?:(?:then|just|please|simply|now|first|also|instead|you\s+(?:can|may|must|should)|go\s+ahead\s+and)\s+)*(?:run|execute|paste|type|enter|launch|install|call|use|try|do)\b[^,;.\x21?]{0,40}$",
    )
});

/// What stands between a negation and the verb that it forbids: "never, under any circumstances, run".
static PARENTHESIS: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i-u)^\W*(?:ever|under\s+(?:any|no)\s+\w+|for\s+(?:any|no)\s+reason|in\s+(?:any|no)\s+case|no\s+matter\s+[^,]{1,40}|even\s+[^,]{1,60}|please)\b",
    )
});

/// A negation that is the condition of what follows: "if it is not installed, ...", "when that does not work: ...".
static CONDITION: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i-u)\b(?:if|when|whenever|unless|in\s+case|where|because|since)\s[^,:;]{0,70}\b(?:not|(?:do|does|did|is|are|was|ca|wo|has|have|could|would|should)n.{1,3}t|cannot|never|without|no\s+longer|bad|wrong)\b[^,:;]{0,60}[,:](?:\s[^,]{0,30})?$",
    )
});

/// Words that introduce an example, which an order has as well: "run a command such as".
static EXAMPLE: LazyLock<Regex> =
    LazyLock::new(|| compile(r"(?i-u)\b(?:such as|for example|examples?|e\.g\.|like)(?:\b|$)"));

/// How a line of a list or a quotation begins.
static ITEM: LazyLock<Regex> = LazyLock::new(|| compile(r"(?-u)^[ \t]*(?:[-*+>]|\d{1,3}[.)])[ \t]+"));

/// A sentence that begins as an order.
static COMMAND: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i-u)^\W*(?:\d+\W+)?(?:then\s+|just\s+|please\s+|now\s+|first\W+)?(?:run|execute|paste|type|enter|launch|install|start|do|use)\b",
    )
});

static REMARK: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i-u)\b(?:never|dangerous|malicious|unsafe|insecure|suspicious|attack|backdoor|exfiltrat\w*|remote code execution|RCE|reverse shell|code injection|red flag|high[- ]risk|bad|wrong|blocked|forbidden|rejected|refused?|denied|malware|say\s+no|stop\s+and\s+(?:report|ask|warn)|vulnerab\w*|injection)\b|\xE2\x9D\x8C|\xF0\x9F\x9A\xAB|\xE2\x9B\x94",
    )
});

static SECURITY: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i-u)\b(?:security|pentest\w*|penetration|vulnerabilit\w*|malware|red[ -]?team\w*|prompt[ -]injections?|jailbreak\w*|exploit\w*|threats?|forensics?|ctf|guardrails?|owasp|attack\w*|hardening|revers(?:e|ing)[ -]engineer\w*|incident|injections?|xss|ssrf|backdoors?|secrets?[ -](?:scan|detect|leak)\w*|supply[ -]chain|phishing|intrusion|privilege|offensive|defensive|audit(?:s|ing|or)? (?:code|skills?|contracts?|dependenc\w*)|(?:code|skill|contract|dependency)[ -]audit\w*)\b",
    )
});

static PROMPT_SUBJECT: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i-u)\b(?:prompts?|prompting|chat[ -]?templates?|fine[ -]?tun\w*|tokeni[sz]\w*|inference|vllm|transformers|llama\w*|qwen\w*|gguf|llms?|language models?|sft|rlhf|grpo|training|hooks?|transcripts?)\b",
    )
});

static NOTES_SUBJECT: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i-u)(?:claude\.md|agents\.md|soul\.md|gemini\.md|memor(?:y|ies)|\brules?\b|\bsettings?\b|\bhooks?\b|\bpermissions?\b|\bconfig\w*|\bset ?up\b|\binstall\w*|\bonboard\w*|\bbootstrap\w*|\blearn\w*|\breflect\w*|\bclaude[ -]code\b|\bskills?\b|\bcontext\b|\binstructions?\b|\bconventions?\b|\bdocument\w*|\bsessions?\b|\bknowledge\b|\binit\w*)",
    )
});

/// What a skill is about, from its name and description.
pub(super) struct Subject {
    pub(super) is_security: bool,
    is_prompts: bool,
    is_notes: bool,
    /// Name and description in lower case, letters and digits alone: hosts are looked up in it.
    squeezed: String,
}

impl Subject {
    pub(super) fn of(text: &str, regions: &Regions) -> Self {
        let mut head = String::new();
        for index in 0..=regions.line_of(regions.body.saturating_sub(1)) {
            let start = regions.line_start(index);
            // What a menu shows: who names a host or a subject in `metadata` alone has said it to nobody.
            let is_shown =
                |opened: usize| !text[opened..].trim_start_matches(['"', '\'']).starts_with("metadata");
            let is_label = start < regions.body && regions.at(start) == Region::Label;
            if is_label && regions.start_of(start).is_some_and(is_shown) {
                head.push_str(regions.line(text, index));
                head.push('\n');
            }
        }
        let squeezed =
            head.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
        // A name joins words by hyphens.
        let words = head.replace(['-', '_'], " ") + &head;
        Self {
            is_security: SECURITY.is_match(words.as_bytes()),
            is_prompts: PROMPT_SUBJECT.is_match(words.as_bytes()),
            is_notes: NOTES_SUBJECT.is_match(head.as_bytes()),
            squeezed,
        }
    }

    /// Whether the skill is about what this host belongs to.
    pub(super) fn is_about(&self, label: &str) -> bool {
        let label: String = label.chars().filter(char::is_ascii_alphanumeric).collect();
        label.len() >= 3 && self.squeezed.contains(&label.to_ascii_lowercase())
    }

    pub(super) fn is_prompts(&self) -> bool {
        self.is_prompts
    }

    pub(super) fn is_notes(&self) -> bool {
        self.is_notes
    }
}

/// Whether a negation or a defensive word governs what begins at `start` and ends at `end`.
pub(super) fn is_negated(view: &View<'_>, regions: &Regions, start: usize, end: usize) -> bool {
    let text = &*view.text;
    if has_negation(sentence_before(text, start)) || is_listed_as_bad(text, start) {
        return true;
    }
    let raw = view.raw_of(start);
    if regions.at(raw) != Region::Code {
        return has_remark(text, end);
    }
    // What introduces the block, and what a comment behind the hit says.
    let introduction = regions.start_of(raw).filter(|opened| raw - opened < 400);
    let is_bad = introduction.is_some_and(|opened| {
        let back = raw - opened;
        let opened = start.saturating_sub(back);
        let before = text[..opened].trim_ascii_end();
        let last = sentence_before(before, before.len());
        let is_order = COMMAND.is_match(last) && !has_negation(last);
        !is_order && has_negation(&before[before.len().saturating_sub(BEFORE_BYTES)..])
    });
    is_bad || has_remark(text, end)
}

/// Whether a hit is an item of a list, or a quotation, that is introduced as bad: "Flag these:", "## Red flags".
fn is_listed_as_bad(text: &[u8], start: usize) -> bool {
    let window = &text[start.saturating_sub(LIST_BYTES)..start];
    let mut lines = window.rsplit(|byte| *byte == b'\n');
    let item = lines.next().unwrap_or_default();
    if !ITEM.is_match(item) || COMMAND.is_match(&ITEM.replace(item, &b""[..])) {
        return false;
    }
    let introduction = lines.find(|line| !line.trim_ascii().is_empty() && !ITEM.is_match(line));
    introduction.is_some_and(|line| {
        let line = line.trim_ascii();
        let last = sentence_before(line, line.len());
        (line.ends_with(b":") || line.starts_with(b"#")) && has_negation(last)
    })
}

/// Whether a negation in this text, which ends where a hit begins, is about the hit.
fn has_negation(text: &[u8]) -> bool {
    let Some(negation) = NEGATION.find(text) else { return false };
    let rest = &text[negation.end()..];
    let is_order = ORDERED.is_match(rest) && !PARENTHESIS.is_match(rest);
    // A sentence that orders something and gives an example of it forbids nothing.
    let is_example = || {
        let plain = EXAMPLE.replace_all(text, &b""[..]);
        COMMAND.is_match(text) && !NEGATION.is_match(&plain)
    };
    !(is_order || INVERTED.is_match(text) || CONDITION.is_match(text) || is_example())
}

/// Whether a remark behind a hit says that it is bad.
fn has_remark(text: &[u8], end: usize) -> bool {
    let after = line_after(text, end, 60);
    REMARK.is_match(after) && !INVERTED.is_match(after)
}

/// The text before `at` back to the end of the last sentence or paragraph, at most [`BEFORE_BYTES`].
fn sentence_before(text: &[u8], at: usize) -> &[u8] {
    let window = &text[at.saturating_sub(BEFORE_BYTES)..at];
    let is_end = |pair: &[u8]| matches!(pair, b". " | b"! " | b"? " | b"\n\n" | b".\n" | b"; ");
    let cut = window.windows(2).rposition(is_end).map_or(0, |at| at + 2);
    &window[cut..]
}

fn line_after(text: &[u8], at: usize, bytes_max: usize) -> &[u8] {
    let rest = &text[at.min(text.len())..(at + bytes_max).min(text.len())];
    &rest[..rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())]
}

/// The start and end of the line around a match, cut to a bounded length on each side.
pub(super) fn line_around(text: &[u8], start: usize, end: usize) -> (usize, usize) {
    let floor = start.saturating_sub(LINE_BYTES);
    let from = text[floor..start].iter().rposition(|byte| *byte == b'\n').map_or(floor, |at| floor + at + 1);
    let ceiling = (end + LINE_BYTES).min(text.len());
    let to = text[end..ceiling].iter().position(|byte| *byte == b'\n').map_or(ceiling, |at| end + at);
    (from, to)
}

/// Whether a match lies wholly inside quotation marks or inline code on its line.
pub(super) fn is_quoted(text: &[u8], start: usize, end: usize) -> bool {
    if text[start..end].contains(&b'\n') {
        return false;
    }
    let (from, to) = line_around(text, start, end);
    let (before, after) = (&text[from..start], &text[end..to]);
    let is_inside =
        |mark: u8| before.split(|byte| *byte == mark).count().is_multiple_of(2) && after.contains(&mark);
    let opens_single = before.iter().rposition(|byte| *byte == b'\'').is_some_and(|at| {
        at == 0 || matches!(before[at - 1], b' ' | b'(' | b'[' | b'\t' | b',' | b':' | b'=')
    });
    let find = |text: &[u8], mark: &[u8]| text.windows(mark.len()).rposition(|window| window == mark);
    let opens_curly = match (find(before, "“".as_bytes()), find(before, "”".as_bytes())) {
        (Some(opened), Some(closed)) => opened > closed,
        (Some(_), None) => true,
        _ => false,
    };
    is_inside(b'"')
        || is_inside(b'`')
        || (opens_single && after.contains(&b'\''))
        || (opens_curly && find(after, "”".as_bytes()).is_some())
}

/// Whether a match stands in a table row or a quotation.
pub(super) fn is_in_table(text: &[u8], start: usize, end: usize) -> bool {
    let (from, to) = line_around(text, start, end);
    let line = text[from..to].trim_ascii();
    line.starts_with(b"|") && line.ends_with(b"|") && line.len() > 2
}
