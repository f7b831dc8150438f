//! Code that comes from elsewhere and runs: piped, downloaded, decoded, or as instructions to follow.

use std::sync::LazyLock;

use regex::bytes::Regex;

use super::guards::{self, NEG, OWN, QUO, SEC, SINK, TABLE};
use super::pattern::{Pattern, paragraph, row};
use super::settle::Hit;
use super::urls::{self, Sink};
use super::views::{Kind, View};
use super::{File, Level, Rule, rule};

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

/// A downloader and its rest; in each, what runs it.
static PIPED: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    [
        r"\b(?:curl|wget)\b{gap}\|&?(?:\s|\\\r?\n)*(?:[^\n|]{1,60}\|&?(?:\s|\\\r?\n)*)*?(?:{sh}|{py})",
        r"(?:\b(?:ba|z|k|da)?sh|\bsource|\bpython3?|(?:^|[\s;&`])\.)\s+(?:-\S+\s+)?(?:<\s*)?<\(\s*(?:curl|wget)\b[^\n]*",
        r"\b(?:ba|z|k|da)?sh\s+(?:-\S+\s+)?<<<\s*[\x22']?(?:\$\(|`)\s*(?:curl|wget)\b[^\n]*",
        r"\b(?:eval|source|(?:ba|z|da)?sh\s+-\w*c|python3?\s+-c|node\s+-e|perl\s+-e|ruby\s+-e|php\s+-r|exec)\s+[\x22']?\s*(?:\$\(|`)\s*(?:curl|wget)\b[^\n]*",
        r"\b(?:iex|Invoke-Expression)\b[ \t]*[(&]*[ \t]*[(\x22'$&]*[^\n]{0,40}\b(?:irm|iwr|curl|wget|Invoke-WebRequest|Invoke-RestMethod|DownloadString|Net\.WebClient)\b[^\n]*",
        r"\b(?:irm|iwr|Invoke-WebRequest|Invoke-RestMethod|DownloadString)\b{gap}\|\s*(?:iex|Invoke-Expression)\b",
        r"\b(?:exec|eval)\s*\([^\n]{0,60}?(?:\brequests[\x22')]*\.get|\burlopen|\bhttpx\.get|\bawait\s+fetch)\s*\([^\n]*",
        r"\bfetch\s*\([^\n]{1,200}\.then\(\s*(?:eval|\w+\s*=>\s*eval)\b",
        r"\bmshta(?:\.exe)?\s+[\x22']?https?://[^\n]*",
    ]
    .map(super::pattern::regex)
    .into()
});

/// A download with the name of its file.
static SAVED: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    [
        r"\b(?:curl|wget)\b{gap}\s(?:-\w*o|-O|--output|--output-document)[ =]+[\x22']?([\w./~$\{\}-]{1,80})",
        r"\b(?:curl\s{gap}(?:-\w*O\w*|--remote-name)\b|wget\b){gap}https?://[^\s\x22'`]+/([\w.-]{2,80})",
        r"\bcurl\b[^\n>|]*>\s*[\x22']?([\w./~$\{\}-]{1,80})",
        r"\b(?:iwr|Invoke-WebRequest|Invoke-RestMethod|irm)\b[^\n]*-OutFile\s+[\x22']?([\w./~$\\:-]{2,80})",
        r"\b(?:certutil|bitsadmin|Start-BitsTransfer)\b[^\n]*?https?://\S+\s+(?:-Destination\s+)?[\x22']?([\w./~$\\:-]{2,80})",
    ]
    .map(super::pattern::regex)
    .into()
});

/// "Download the script at ... and run it."
static TOLD: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    [
        r"\b(?:download|fetch|get|pull|grab|retrieve|save|obtain)\b[^\n]{0,120}?(?:\bscript\b|\binstaller\b|\bbinary\b|\bexecutable\b|\bpayload\b|\.(?:sh|py|exe|ps1|js|bat)\b)[^\n]{0,120}?\b(?:and|then)\s+(?:then\s+)?(?:(?:run|execute|launch|start)\s+(?:it|this|them|the\s+(?:script|file|installer|binary))\b|(?:pipe|feed|pass)\s+(?:it|them|the\s+\w+)\s+(?:in)?to\s+`?{sh})",
        r"\b(?:run|execute|launch)\s+(?:the\s+|this\s+)?(?:\w+\s+){0,2}?(?:script|installer|binary|executable|program|code|payload)\s+(?:that\s+is\s+|which\s+is\s+)?(?:at|from|(?:hosted|located|found|available|served|published)\s+(?:at|on|by|from)|returned\s+(?:by|from))\s+[`<(\[]{0,2}(?:https?://|(?:the\s+|this\s+)?url\b)[^\n]{0,120}",
    ]
    .map(super::pattern::regex)
    .into()
});

/// An address that is a word: who writes the skill leaves it to whoever runs it, or to what it read before.
static AT_URL: LazyLock<Regex> = LazyLock::new(|| {
    super::pattern::regex(r"\b(?:at|from|download|fetch)\s+(?:the\s+|this\s+|that\s+)?url\b")
});

/// Bytes behind a download in which its file may run: five lines.
const RUN_BYTES: usize = 400;

pub(super) fn check(file: &File<'_>, view: &View<'_>, hits: &mut Vec<Hit>) {
    for pattern in PIPED.iter() {
        for found in pattern.find_iter(&view.text) {
            judge(file, view, hits, "RCE001", (found.start(), found.end()), &view.text[found.range()]);
        }
    }
    for pattern in SAVED.iter() {
        for found in pattern.captures_iter(&view.text) {
            let whole = found.get(0).expect("a match has a whole");
            let Some(name) = found.get(1) else { continue };
            let rest = &view.text[whole.end()..(whole.end() + RUN_BYTES).min(view.text.len())];
            if runs(rest, name.as_bytes()) {
                judge(file, view, hits, "RCE002", (whole.start(), whole.end()), whole.as_bytes());
            }
        }
    }
    for pattern in TOLD.iter() {
        for found in pattern.find_iter(&view.text) {
            let near = paragraph(&view.text, found.start(), found.end());
            if urls::sink(near, &file.subject) != Sink::None || AT_URL.is_match(near) {
                judge(file, view, hits, "RCE002", (found.start(), found.end()), near);
            }
        }
    }
}

/// Whether one of the next five lines runs the file of this name.
fn runs(rest: &[u8], path: &[u8]) -> bool {
    let name = path.rsplit(|byte| matches!(byte, b'/' | b'\\')).next().unwrap_or(path);
    if name.is_empty() {
        return false;
    }
    let is_program = name.ends_with(b".exe") || name.ends_with(b".bat") || name.ends_with(b".cmd");
    rest.split(|byte| *byte == b'\n').take(6).any(|line| {
        line.windows(name.len()).enumerate().any(|(at, window)| {
            window == name && {
                let before = &line[..at];
                let after = line.get(at + name.len()).copied();
                let is_whole = after
                    .is_none_or(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/' | b'-')));
                is_whole && (RUNNER.is_match(before) || (is_program && NEXT.is_match(before)))
            }
        })
    })
}

static RUNNER: LazyLock<Regex> = LazyLock::new(|| {
    super::pattern::regex(
        r"(?:(?:^|[;&|`(\s])(?:sudo\s+)?(?:(?:ba|z|da)?sh|python[23]?|node|perl|ruby|source|\.|start|powershell\s+(?:-\S+\s+)*(?:-File)?)\s+(?:-\S+\s+)*[\x22']?(?:[\w./~$\{\}-]*/)?|(?:^|[;&|`(]\s*|sudo\s+)[\x22']?(?:\./|/tmp/|~/|\$\w+/))\z",
    )
});

/// Where a command begins behind another.
static NEXT: LazyLock<Regex> = LazyLock::new(|| super::pattern::regex(r"[;&|]\s*\z"));

/// Installers that millions run: told of, and not more.
static INSTALLERS: LazyLock<Regex> = LazyLock::new(|| {
    super::pattern::regex(
        r"https?://(?:(?:www\.)?sh\.rustup\.rs|astral\.sh/|get\.docker\.com|(?:raw\.githubusercontent\.com/(?:Homebrew|nvm-sh|pyenv|ohmyzsh|helm|k3d-io|nektos|golangci|anchore|aquasecurity|trufflesecurity|gitleaks|rhysd|kubernetes-sigs|ahmetb|tj|junegunn|asdf-vm|jdx|denoland|oven-sh|rustwasm|cargo-bins|foundry-rs|starship|sdkman|microsoft|github|docker|hashicorp|google|aws|Azure|cli|rclone|tailscale|NVIDIA|anthropics|openai)/)|(?:www\.)?bun\.(?:sh|com)/|deno\.land/|get\.pnpm\.io|install\.python-poetry\.org|deb\.nodesource\.com|rpm\.nodesource\.com|aka\.ms/|get\.k3s\.io|get\.helm\.sh|get\.sdkman\.io|mise\.(?:run|jdx\.dev)|pixi\.sh/|fly\.io/install|cli\.github\.com|claude\.ai/install|get\.volta\.sh|ollama\.(?:com|ai)/install|tailscale\.com/install|starship\.rs/install|foundry\.paradigm\.xyz|release\.solana\.com|release\.anza\.xyz|sh\.uv|bootstrap\.pypa\.io|nixos\.org/nix|install\.determinate\.systems|packages\.microsoft\.com|download\.docker\.com|apt\.releases\.hashicorp\.com|baltocdn\.com|rclone\.org|sdk\.cloud\.google\.com|dot\.net/|raw\.githubusercontent\.com/[\w.-]+/[\w.-]+/(?:v?\d[\w.]*|[0-9a-f]{7,40})/|github\.com/[\w.-]+/[\w.-]+/releases/)",
    )
});

/// Where nobody publishes software.
static DISREPUTABLE: LazyLock<Regex> = LazyLock::new(|| {
    super::pattern::regex(
        r"https?://(?:\d{1,3}(?:\.\d{1,3}){3}\b|(?:bit\.ly|tinyurl\.com|t\.co|is\.gd|cutt\.ly|rb\.gy|goo\.gl|shorturl\.at)/|(?:[\w-]+\.)?(?:pastebin\.com|paste\.ee|hastebin\.com|termbin\.com|0x0\.st|transfer\.sh|rentry\.co|glot\.io|webhook\.site|ngrok(?:-free)?\.(?:io|app|dev)|trycloudflare\.com)\b)",
    )
});

static LOCAL: LazyLock<Regex> = LazyLock::new(|| {
    super::pattern::regex(
        r"https?://(?:localhost|127\.|0\.0\.0\.0|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|\[::1\])",
    )
});

/// Judges a hit by where the code comes from.
fn judge(
    file: &File<'_>,
    view: &View<'_>,
    hits: &mut Vec<Hit>,
    id: &str,
    span: (usize, usize),
    command: &[u8],
) {
    let (start, end) = span;
    let (from, to) = guards::line_around(&view.text, start, end);
    let own_line =
        if command.windows(4).any(|window| window == b"http") { command } else { &view.text[from..to] };
    let mut level = if DISREPUTABLE.is_match(own_line) && !LOCAL.is_match(own_line) {
        Level::Critical
    } else if LOCAL.is_match(own_line) || INSTALLERS.is_match(own_line) {
        Level::Low
    } else if urls::sink(own_line, &file.subject) == Sink::Own {
        Level::Medium
    } else {
        Level::High
    };
    if view.kind != Kind::Decoded {
        let region = file.regions.at(view.raw_of(start));
        let is_guarded = region != super::Region::Comment
            && (guards::is_negated(view, &file.regions, start, end)
                || guards::is_in_table(&view.text, start, end));
        if is_guarded {
            level = level.min(Level::Medium);
        } else if file.subject.is_security {
            level = level.lowered();
        }
    }
    hits.push(Hit::new(rule(id), level, view, start, end));
}
