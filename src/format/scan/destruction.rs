//! What destroys: deletion of everything, encryption for ransom, safeguards taken off.

use super::guards::{FENCE, NEG, QUO, SEC, TABLE, WORDS};
use super::pattern::{Pattern, row};
use super::{Level, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "DST001",
        level: Level::High,
        what: "it deletes or overwrites far more than the work needs",
        hint: "name the one folder that is meant",
        taxonomy: &["AITech-12.1", "LLM06"],
    },
    Rule {
        id: "DST002",
        level: Level::High,
        what: "it locks files away and removes the originals",
        hint: "keep the originals",
        taxonomy: &["AITech-12.1", "LLM06"],
    },
    Rule {
        id: "DST003",
        level: Level::Medium,
        what: "it takes a safeguard off",
        hint: "keep it, or say when and why it may go",
        taxonomy: &["AITech-12.1", "PE2"],
    },
];

const CODE: u16 = NEG | QUO | SEC | TABLE;

pub(super) const PATTERNS: &[Pattern] = &[
    row(
        "DST001",
        Level::High,
        r"\brm\s+(?:-\w+\s+|--[\w-]+\s+)*-\w*r\w*\s+(?:-\w+\s+|--[\w-]+\s+)*[\x22']?(?:/|~/?|\$HOME/?|\$\{HOME\}/?|/\*|~/\*|\*|\.\./?\*?|/(?:home|etc|usr|var|root|bin|boot|lib|opt|Users)/?\*?)[\x22']?(?:[\s`;&|)]|$)",
    )
    .guards(CODE),
    row("DST001", Level::High, r"\brm\s+(?:-\w+\s+)*[`\x22']?\$\(\s*(?:cat|find|ls)\b").guards(CODE),
    row("DST001", Level::High, r"\bmkfs(?:\.\w+)?\s+(?:-\S+\s+)*/dev/\w+|\bdd\s[^\n]*\bof=/dev/(?:sd|nvme|hd|disk|vd)\w*|:\(\)\s*\{\s*:\s*\|\s*:\s*&\s*\}\s*;\s*:|>\s*/dev/sd[a-z]\b")
        .guards(CODE),
    row("DST001", Level::High, r"\b(?:rd|rmdir|del)\s+(?:/\w\s+)+[\x22']?C:\\(?:\*|Users|Windows)?[\x22']?(?:\s|$)|\bRemove-Item\s[^\n]*-Recurse\b[^\n]*(?:C:\\(?:\s|\*|$)|\$HOME\b\s*$|~\s*$)")
        .guards(CODE),
    row(
        "DST001",
        Level::High,
        r"\b(?:always|automatically|silently|immediately)\s+(?:delete|remove|wipe|erase|purge|destroy)\s+(?:all|every)\s+(?:of\s+)?(?:the\s+|user\s+)?(?:files?|events?|e-?mails?|messages?|contacts?|data|records|databases?|documents?|backups?|repositories)\b",
    )
    .guards(NEG | QUO | SEC | FENCE | TABLE | WORDS),
    row(
        "DST001",
        Level::Low,
        r"\b(?:delete|wipe|erase|purge|destroy)\s+(?:all|every)\s+(?:of\s+)?(?:the\s+|user\s+)?(?:files?|events?|e-?mails?|messages?|contacts?|data|records|databases?|documents?|backups?|repositories)\b",
    )
    .guards(NEG | QUO),
    row(
        "DST001",
        Level::High,
        r"\bcheck\s+if\s+files\s+are\s+older\b[^.\n]{0,40}\bdelete\b|\bfor\s+each\s+of\s+the\s+other\b[^.\n]{0,60}\b(?:remove|delete)\s+all\b",
    )
    .guards(NEG | QUO | SEC | FENCE | TABLE | WORDS),
    row(
        "DST002",
        Level::High,
        r"\b(?:securely\s+)?(?:delete|remove|shred|erase|wipe)\s+(?:the\s+|all\s+|any\s+)*(?:unencrypted\s+|plain(?:text)?\s+)?(?:originals?\b|other\s+versions|source\s+files)",
    )
    .needs(&[r"\b(?:encrypt(?:s|ed|ion|ing)?|password-protected|lock\s+(?:it|the|each)|ransom)\b", r"\b(?:files?|documents?)\b"])
    .guards(NEG | QUO | SEC | TABLE),
    row("DST002", Level::High, r"\bencrypt\s+(?:all|every|each)\s+(?:of\s+the\s+|the\s+|user.{0,3}s\s+)?(?:\w+\s+)?(?:files?|documents?|databases?)\b")
        .needs(&[r"\b(?:delete|remove|shred|ransom|bitcoin|wallet|original)\b"])
        .guards(NEG | QUO | SEC | TABLE),
    row("DST003", Level::Medium, r"\bgit\s+push\b[^\n`]*\s(?:--force\b|-f\b)")
        .unless(r"--force-with-lease")
        .guards(NEG | QUO | SEC | TABLE | WORDS),
    row("DST003", Level::Medium, r"\bgit\s+reset\s+--hard\s+(?:HEAD~|HEAD\^)\d*|\bgit\s+clean\s+-\w*x\w*d\w*f|\bgit\s+clean\s+-f\w*d\w*x").guards(NEG | QUO | SEC | TABLE | WORDS),
    row("DST003", Level::Medium, r"\bchmod\s+(?:-R\s+)?(?:0?777|a\+rwx)\b").guards(NEG | SEC | TABLE | WORDS),
    row("DST003", Level::Medium, r"\bNODE_TLS_REJECT_UNAUTHORIZED\s*=\s*[\x22']?0|\bhttp\.sslVerify\s+false|\bGIT_SSL_NO_VERIFY\s*=|\bNOPASSWD\s*:|\bssl\._create_unverified_context|\bverify\s*=\s*False\b")
        .guards(NEG | QUO | SEC | TABLE | WORDS),
];
