//! Credential stores and what is done with them; new accounts and back doors.

use super::guards::{FENCE, NEG, OWN, QUO, SEC, TABLE};
use super::pattern::{Pattern, row};
use super::{Level, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "CRD001",
        level: Level::High,
        what: "it takes credentials from where they are kept",
        hint: "let the tool that owns them read them",
        taxonomy: &["AITech-8.2", "LLM02", "PE3"],
    },
    Rule {
        id: "CRD002",
        level: Level::High,
        what: "it collects environment files, keys or variables",
        hint: "read the one variable that is needed",
        taxonomy: &["AITech-8.2", "E2"],
    },
    Rule {
        id: "CRD003",
        level: Level::Medium,
        what: "it prints a secret",
        hint: "check that it is set without printing it",
        taxonomy: &["AITech-8.2", "W007"],
    },
    Rule {
        id: "CRD004",
        level: Level::High,
        what: "it makes an account with a fixed password, or a back door",
        hint: "let the user choose account and password",
        taxonomy: &["AITech-9.1", "LLM06"],
    },
];

const STORE: &str = r"(?:\.ssh/(?:id_(?:rsa|dsa|ecdsa|ed25519)\b|\*)|\.aws/credentials|\.netrc\b|\.pypirc\b|\.docker/config\.json|\.kube/config|\.config/gcloud|\.gnupg|/etc/shadow\b|Login\s+Data\b|cookies\.sqlite|key4\.db|logins\.json|wallet\.dat|\.mozilla/firefox|Chrome/(?:User\s+Data|Default)|find-generic-password\b)";

pub(super) const PATTERNS: &[Pattern] = &[
    row(
        "CRD001",
        Level::High,
        r"\b(?:zip|tar|upload|sends?|exfiltrate|steal|curl|nc|base64|forward|e-?mail|harvest|post)\b[^\n]{0,120}(?:\.ssh/(?:id_(?:rsa|dsa|ecdsa|ed25519)\b|\*)|\.aws/credentials|\.netrc\b|\.pypirc\b|\.docker/config\.json|\.kube/config|\.gnupg|/etc/shadow\b|Login\s+Data\b|cookies\.sqlite|key4\.db|wallet\.dat)",
    )
    .unless(r"\.pub\b|curl\s+(?:-\S+\s+)*(?:-n|--netrc)|--netrc|base64\s+-w|set-secret|secret\s+set|kubectl|create\s+secret|gh\s+secret|github\.com/settings")
    .guards(NEG | SEC | TABLE),
    row(
        "CRD001",
        Level::High,
        r"\b(?:cat|read|copy|cp|grab|dump|collect|extract|open)\b[^\n]{0,80}(?:\.ssh/id_(?:rsa|dsa|ecdsa|ed25519)\b|\.aws/credentials|/etc/shadow\b|Login\s+Data\b|cookies\.sqlite|key4\.db|wallet\.dat|\.gnupg/)",
    )
    .needs(&[r"\b(?:curl|wget|upload|sends?|post|nc|exfiltrate|forward|transmit|base64|webhook|include\s+(?:it|them|the\s+content)|append)\b"])
    .unless(r"\.pub\b|set-secret|secret\s+set|create\s+secret|gh\s+secret")
    .guards(NEG | SEC | TABLE),
    row("CRD001", Level::Info, STORE).guards(NEG),
    row("CRD001", Level::High, r"\b(?:pbpaste|screencapture|xclip\s+-o|Get-Clipboard|ImageGrab)\b")
        .needs(&[r"\b(?:upload|sends?|forward|transmit|exfiltrate|post)\b[^.\n]{0,120}https?://|\bcurl\s[^\n]*(?:-F|-T|-d|--data)"])
        .guards(NEG | SEC | TABLE | OWN),
    row(
        "CRD002",
        Level::High,
        r"\b(?:collect|gather|harvest|scan|search|find|zip|archive|copy)\b[^.\n]{0,100}(?:\.env\b(?:\s+(?:or|and|files?)|[.,`*]|$)|env(?:ironment)?\s+(?:files?|variables)|\.ssh\b|ssh\s+(?:files?|keys?|folder)|credential\s+files?|all\s+(?:credentials|secrets|api\s+keys))",
    )
    .needs(&[r"\b(?:upload|exfiltrate|forward|transmit)\b|\bsends?\s+(?:it|them|the|each|every|all)\b|\bcurl\s[^\n]*(?:-F|-T|-d|--data)"])
    .guards(NEG | QUO | SEC | TABLE | OWN),
    row("CRD002", Level::High, r"\b(?:env|printenv|export\s+-p)\s*\|\s*(?:curl|wget|nc|ncat|base64)\b|\bcurl\s[^\n]*\$\((?:env|printenv)\b|\bcurl\s[^\n]*@(?:~/|\./|/)?(?:[\w./-]*/)?\.env\b")
        .guards(NEG | SEC | TABLE),
    row(
        "CRD003",
        Level::Medium,
        r"\b(?:echo|printf|print|console\.log|puts)\b[ \t(]*[\x22'`]?(?:[\w :]{0,20})\$\{?\w*(?:TOKEN|SECRET|PASSWORD|API_?KEY|PRIVATE_KEY)\b\}?[\x22'`]?[ \t)]*(?:$|;|`)",
    )
    .guards(NEG | SEC | TABLE),
    row(
        "CRD003",
        Level::Medium,
        r"\b(?:print|log|echo|output|expose|write)\s+(?:the\s+|your\s+|all\s+)?(?:value\s+of\s+)?[`$]?[A-Z_]*(?:_TOKEN|_SECRET|_PASSWORD|API_KEY|PRIVATE_KEY)\b[^.\n]{0,40}\b(?:logs?|output|console|stdout|file)",
    )
    .guards(NEG | QUO | SEC | TABLE),
    row(
        "CRD004",
        Level::High,
        r"\b(?:add|create|include|insert|set\s+up)\b[^.\n]{0,60}\b(?:admin(?:istrator)?|root|super\s?user|backdoor|emergency)\s+(?:accounts?|users?|access)\b[^\n]{0,60}\bpassword\s+(?:is\s+|of\s+)?[`'\x22][^`'\x22\n]{4,40}[`'\x22]",
    )
    .unless(r"\btests?\b|example|<|\$|your|change")
    .guards(NEG | SEC | FENCE | TABLE),
    row(
        "CRD004",
        Level::High,
        r"\b(?:add|create|include|open|install|leave|set\s+up|insert|implant)\s+(?:\w+\s+){0,2}back-?door\b",
    )
    .guards(NEG | QUO | SEC | FENCE | TABLE),
];
