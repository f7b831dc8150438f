//! Code that comes from elsewhere and runs: piped, downloaded, decoded, or as instructions to follow.

use super::guards::{NEG, OWN, QUO, SEC, SINK, TABLE};
use super::pattern::{Pattern, row};
use super::{Level, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "RCE001",
        level: Level::High,
        what: "a download runs as it arrives",
        hint: "install from a package registry, or download, check and then run",
        taxonomy: &["AITech-9.1", "LLM03", "SC2"],
    },
    Rule {
        id: "RCE002",
        level: Level::High,
        what: "a file is downloaded and run",
        hint: "install from a package registry, or check a digest before it runs",
        taxonomy: &["AITech-9.1", "LLM03"],
    },
    Rule {
        id: "RCE003",
        level: Level::Critical,
        what: "something is decoded and run",
        hint: "write the command in the open",
        taxonomy: &["AITech-9.2", "LLM03"],
    },
    Rule {
        id: "RCE004",
        level: Level::High,
        what: "an archive with a password is opened and run",
        hint: "publish the files as they are",
        taxonomy: &["AITech-9.2", "LLM03"],
    },
    Rule {
        id: "RCE005",
        level: Level::Critical,
        what: "a shell is given to another host",
        hint: "remove it",
        taxonomy: &["AITech-9.1", "YR4"],
    },
    Rule {
        id: "RCE006",
        level: Level::High,
        what: "it follows instructions from an address on the network",
        hint: "put the instructions into the skill",
        taxonomy: &["AITech-1.2", "W012"],
    },
    Rule {
        id: "RCE007",
        level: Level::Medium,
        what: "it installs from an address instead of a registry",
        hint: "install a released version from a registry, or pin the commit",
        taxonomy: &["AITech-9.3", "LLM03"],
    },
];

pub(super) const PATTERNS: &[Pattern] = &[
    row("RCE003", Level::Critical, r"\bbase64\s+(?:-d|-D|--decode)\b{gap}\|\s*(?:{sh}|{py})").guards(NEG | SEC | TABLE),
    row("RCE003", Level::Critical, r"\b(?:xxd\s+-r|rev|openssl\s+enc\s[^\n|]*-d|uudecode|tr\s+[^\n|]{3,40}|base32\s+-d|gunzip\s+-c|zcat)\b[^\n|]*\|\s*{sh}(?:\s*(?:$|[`\x22');&]))")
        .guards(NEG | SEC | TABLE),
    row("RCE003", Level::Critical, r"\b(?:eval|source|(?:ba|z)?sh\s+-c|(?:ba|z)?sh\s+<|python3?\s+-c)\s*[\x22']?\s*(?:\$?\(|`)[^\n)]{0,200}\bbase64\s+(?:-d|-D|--decode)\b")
        .guards(NEG | SEC | TABLE),
    row("RCE003", Level::Critical, r"\b(?:eval|exec|Function)\s*\(\s*(?:compile\s*\()?\s*(?:\w+\.)*(?:b64decode|atob|decodestring|fromhex|unhexlify|decompress|fromCharCode|decode)\s*\(")
        .guards(NEG | SEC | TABLE),
    row("RCE003", Level::Critical, r"\b(?:eval|exec)\s*\([^\n]{0,60}\b(?:b64decode|atob|Buffer\.from\([^\n)]{8,}base64|fromCharCode)\b").guards(NEG | SEC | TABLE),
    row("RCE003", Level::Critical, r"\b(?:powershell|pwsh)(?:\.exe)?\b[^\n]*?\s-e(?:nc|ncodedcommand|c)?\s+[a-z0-9+/=]{16,}").guards(NEG | SEC | TABLE),
    row("RCE003", Level::Critical, r"\b(?:iex|Invoke-Expression)\b[^\n]{0,80}FromBase64String").guards(NEG | SEC | TABLE),
    row("RCE004", Level::High, r"\b(?:unzip\s+(?:-\w+\s+)*-P\s*\S+|7z\w*\s+[ex]\s[^\n]*-p\S+|unrar\s+[ex]\s[^\n]*-p\S+)")
        .needs(&[r"(?:\./[\w.-]+|\b(?:bash|sh|python3?|start|open|run|execute|chmod\s\+x)\b)"])
        .guards(NEG | SEC | TABLE),
    row("RCE004", Level::High, r"\b(?:download|extract|unpack|unzip|open)\b[^.\n]{0,120}\b(?:archive|zip|rar|7z)\b[^.\n]{0,60}\bpassword:?\s+[`'\x22\w]")
        .needs(&[r"\b(?:run|execute|launch|install|double-click)\b"])
        .guards(NEG | QUO | SEC | TABLE),
    row("RCE004", Level::Medium, r"\bzip\s+(?:-\w+\s+)*-P\s*\S+").guards(NEG),
    row("RCE005", Level::Critical, r"\b(?:ba|z|k)?sh\s+-i\b[^\n]{0,30}/dev/(?:tcp|udp)/|/dev/(?:tcp|udp)/[\w.$\{\}-]+/[\w$\{\}]+\s*(?:0>&1|<&1|0<&)").guards(NEG | SEC | TABLE),
    row("RCE005", Level::Critical, r"\b(?:nc|ncat|netcat)\s[^\n|;]{0,80}(?:-e|-c|--exec)\s*[\x22']?(?:/bin/)?(?:ba|z)?sh\b|\b(?:nc|ncat|netcat)\s[^\n|;]{0,80}-e\s+(?:cmd|powershell)").guards(NEG | SEC | TABLE),
    row("RCE005", Level::Critical, r"\bmkfifo\s[^\n]{0,120}\|\s*(?:nc|ncat|netcat|openssl\s+s_client)\b").guards(NEG | SEC | TABLE),
    row("RCE005", Level::Critical, r"\bsocket\.socket\([^\n]{0,300}(?:os\.dup2|pty\.spawn|subprocess\.(?:call|run|Popen)\(\[?[\x22'](?:/bin/)?(?:ba)?sh)").guards(NEG | SEC | TABLE),
    row("RCE005", Level::Critical, r"\bsocat\s[^\n]{0,80}exec:[\x22']?(?:/bin/)?(?:ba)?sh|\bSystem\.Net\.Sockets\.TCPClient\([^\n]{0,300}(?:iex|Invoke-Expression)|\bfsockopen\([^\n]{0,80}(?:exec|shell_exec|proc_open)\(").guards(NEG | SEC | TABLE),
    row("RCE006", Level::High, r"\b(?:fetch|download|read|load|retrieve|get|pull|visit|open|check|curl|access)\b[^.\n]{0,80}https?://[^\s]+[^.\n]{0,60}\b(?:and|then)\s+(?:follow|obey|execute|carry\s+out|perform|do\s+(?:what|everything|whatever))\s+(?:\w+\s+){0,3}?(?:instructions?|commands?|steps?|directions?|orders?|it|says?|rules?)\b")
        .guards(NEG | QUO | SEC | TABLE | SINK),
    row("RCE006", Level::High, r"\b(?:follow|obey|execute)\s+(?:the\s+|all\s+|any\s+|its\s+)*(?:instructions?|commands?|rules?|directions?)\s+(?:\w+\s+){0,3}?(?:at|from|in|on)\s+[`<(\[]{0,2}https?://")
        .guards(NEG | QUO | SEC | TABLE | SINK),
    row("RCE007", Level::Medium, r"\bpip[3x]?\s+install\s[^\n]*(?:git\+|https?://|--index-url|--extra-index-url)").unless(r"@[0-9a-f]{7,40}\b|pytorch\.org|localhost|-r\s+https://raw\.githubusercontent").guards(NEG | OWN),
    row("RCE007", Level::Medium, r"\b(?:npx|bunx|uvx|pipx\s+(?:run|install)|pnpm\s+dlx|deno\s+run)\s+(?:-\S+\s+)*(?:git\+)?https?://").unless(r"@[0-9a-f]{7,40}\b|#[0-9a-f]{7,40}\b|localhost|deno\.land|jsr\.io").guards(NEG | OWN),
    row("RCE007", Level::Medium, r"\b(?:npm|pnpm|yarn|bun)\s+(?:i|install|add)\s[^\n]*(?:https?://|git\+|--registry)").unless(r"#[0-9a-f]{7,40}\b|localhost|registry\.npmjs\.org").guards(NEG | OWN),
];
