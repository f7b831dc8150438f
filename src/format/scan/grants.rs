//! What a file would take for itself: tool grants, hooks, settings. None of it is honoured here; other hosts may.

use super::guards::{FENCE, NEG, NOTES, OWN, QUO, SEC, TABLE};
use super::pattern::{Pattern, row};
use super::{Level, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "TGW001",
        level: Level::Info,
        what: "`allowed-tools` is dropped",
        hint: "grant tools in the host",
        taxonomy: &["AITech-12.1"],
    },
    Rule {
        id: "TGW002",
        level: Level::Info,
        what: "the frontmatter asks for what no file may have",
        hint: "set it in the host",
        taxonomy: &["AITech-12.1"],
    },
    Rule {
        id: "TGW003",
        level: Level::High,
        what: "a command runs while the skill is read, in hosts that support it",
        hint: "write it as a step",
        taxonomy: &["AITech-9.1"],
    },
    Rule {
        id: "TGW004",
        level: Level::High,
        what: "it widens its host's permissions or redirects its model",
        hint: "leave the host's settings to its user",
        taxonomy: &["AITech-12.1", "LLM06"],
    },
];

pub(super) const PATTERNS: &[Pattern] = &[
    row("TGW003", Level::High, r"(?:^|[ \t])!`[^`\n]*(?:\bcurl\b|\bwget\b|\bnc\b|base64|\beval\b|/dev/tcp|\.ssh|\.env\b|\brm\s|\bsudo\b|\benv\b|printenv|\bpython3?\s+-c|\bnode\s+-e)[^`\n]*`")
        .guards(SEC | FENCE),
    row("TGW003", Level::Low, r"(?:^|[ \t])!`[^`\n]+`").guards(FENCE),
    row("TGW004", Level::High, r"\benableAllProjectMcpServers\b[\x22']?\s*[:=]\s*true").guards(NEG | SEC | TABLE),
    row(
        "TGW004",
        Level::High,
        r"\b(?:add|append|write|set|insert)\b[^.\n]{0,80}(?:\bBash\(\*\)|[\x22'`]Bash[\x22'`]|\bbypassPermissions\b)[^.\n]{0,80}(?:permissions?\.allow|\.claude/settings|allow\s*list)",
    )
    .guards(NEG | QUO | SEC | TABLE | NOTES),
    row("TGW004", Level::High, r"[\x22']?defaultMode[\x22']?\s*:\s*[\x22']bypassPermissions").guards(NEG | SEC | TABLE | NOTES),
    row("TGW004", Level::High, r"\b(?:ANTHROPIC|OPENAI)_BASE_URL[\x22']?\s*[=:]\s*[\x22']?https?://(?:[a-z0-9-]+\.)+[a-z]{2,}")
        .unless(r"api\.anthropic\.com|api\.openai\.com|openai\.azure\.com|amazonaws\.com|example\.|your|localhost|127\.0\.0\.1|\.local\b|api\.")
        .guards(NEG | QUO | SEC | TABLE | OWN),
];
