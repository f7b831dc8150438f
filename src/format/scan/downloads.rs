//! Downloads that run: piped into a shell, saved and run, or told to be (RCE001, RCE002).
//!
//! **Cost**: linear. A command, with the lines that continue it, is looked through once for each question.

use std::sync::LazyLock;

use regex::bytes::Regex;

use super::guards;
use super::hit::Hit;
use super::pattern::paragraph;
use super::search::{self, Search, Set};
use super::sink::{Sink, sink};
use super::views::{Kind, View};
use super::{File, Level, rule};

/// What downloads.
static DOWNLOADER: LazyLock<Regex> = LazyLock::new(|| search::regex(r"\b(?:curl|wget)\b"));

/// What runs what comes out of a pipe.
static INTO_A_SHELL: LazyLock<Regex> = LazyLock::new(|| search::regex(r"\|&?(?:\s|\\\r?\n)*(?:{sh}|{py})"));

/// Where a download is saved.
static SAVED_AS: LazyLock<Regex> = LazyLock::new(|| {
    search::regex(
        r"\s(?:-\w*o|--output|--output-document)[ =]+[\x22']?([\w./~$\{\}-]{1,80})|>\s*[\x22']?([\w./~$\{\}-]{1,80})",
    )
});

/// A download that keeps the name it has in the address.
static KEEPS_ITS_NAME: LazyLock<Regex> =
    LazyLock::new(|| search::regex(r"\bwget\b|\s(?:-\w*O\w*|--remote-name)\b"));

/// The name of a file in an address.
static NAMED: LazyLock<Regex> = LazyLock::new(|| search::regex(r"https?://[^\s\x22'`]+/([\w.-]{2,80})"));

/// Where a tool of Windows saves a download.
static BY_WINDOWS: LazyLock<Set> = LazyLock::new(|| {
    Set::new([
        r"\b(?:iwr|Invoke-WebRequest|Invoke-RestMethod|irm)\b[^\n]*-OutFile\s+[\x22']?([\w./~$\\:-]{2,80})",
        r"\b(?:certutil|bitsadmin|Start-BitsTransfer)\b[^\n]*?https?://\S+\s+(?:-Destination\s+)?[\x22']?([\w./~$\\:-]{2,80})",
    ]
    .map(Search::new))
});

/// In each a downloader, and what runs it, other than a pipe.
static PIPED: LazyLock<Set> = LazyLock::new(|| {
    Set::new([
        r"(?:\b(?:ba|z|k|da)?sh|\bsource|\bpython3?|(?:^|[\s;&`])\.)\s+(?:-\S+\s+)?(?:<\s*)?<\(\s*(?:curl|wget)\b[^\n]*",
        r"\b(?:ba|z|k|da)?sh\s+(?:-\S+\s+)?<<<\s*[\x22']?(?:\$\(|`)\s*(?:curl|wget)\b[^\n]*",
        r"\b(?:eval|source|(?:ba|z|da)?sh\s+-\w*c|python3?\s+-c|node\s+-e|perl\s+-e|ruby\s+-e|php\s+-r|exec)\s+[\x22']?\s*(?:\$\(|`)\s*(?:curl|wget)\b[^\n]*",
        r"\b(?:iex|Invoke-Expression)\b[ \t]*[(&]*[ \t]*[(\x22'$&]*[^\n]{0,40}\b(?:irm|iwr|curl|wget|Invoke-WebRequest|Invoke-RestMethod|DownloadString|Net\.WebClient)\b[^\n]*",
        r"\b(?:irm|iwr|Invoke-WebRequest|Invoke-RestMethod|DownloadString)\b{gap}\|\s*(?:iex|Invoke-Expression)\b",
        r"\b(?:exec|eval)\s*\([^\n]{0,60}?(?:\brequests[\x22')]*\.get|\burlopen|\bhttpx\.get|\bawait\s+fetch)\s*\([^\n]*",
        r"\bfetch\s*\([^\n]{1,200}\.then\(\s*(?:eval|\w+\s*=>\s*eval)\b",
        r"\bmshta(?:\.exe)?\s+[\x22']?https?://[^\n]*",
    ]
    .map(Search::new))
});

/// "Download the script at ... and run it."
static TOLD: LazyLock<Set> = LazyLock::new(|| {
    Set::new([
        r"\b(?:download|fetch|get|pull|grab|retrieve|save|obtain)\b[^\n]{0,120}?(?:\bscript\b|\binstaller\b|\bbinary\b|\bexecutable\b|\bpayload\b|\.(?:sh|py|exe|ps1|js|bat)\b)[^\n]{0,120}?\b(?:and|then)\s+(?:then\s+)?(?:(?:run|execute|launch|start)\s+(?:it|this|them|the\s+(?:script|file|installer|binary))\b|(?:pipe|feed|pass)\s+(?:it|them|the\s+\w+)\s+(?:in)?to\s+`?{sh})",
        r"\b(?:run|execute|launch)\s+(?:the\s+|this\s+)?(?:\w+\s+){0,2}?(?:script|installer|binary|executable|program|code|payload)\s+(?:that\s+is\s+|which\s+is\s+)?(?:at|from|(?:hosted|located|found|available|served|published)\s+(?:at|on|by|from)|returned\s+(?:by|from))\s+[`<(\[]{0,2}(?:https?://|(?:the\s+|this\s+)?url\b)[^\n]{0,120}",
    ]
    .map(Search::new))
});

/// An address that is a word: who writes the skill leaves it to whoever runs it, or to what it read before.
static AT_URL: LazyLock<Regex> =
    LazyLock::new(|| search::regex(r"\b(?:at|from|download|fetch)\s+(?:the\s+|this\s+|that\s+)?url\b"));

/// Bytes behind a download in which its file may run: five lines.
const RUN_BYTES: usize = 400;
/// Files that one command saves; the rest of a longer list is not looked at.
const FILES_MAX: usize = 16;
/// Bytes before the name of a file in which what runs it stands.
const RUNNER_BYTES: usize = 80;

pub(super) fn check(file: &File<'_>, view: &View<'_>, hits: &mut Vec<Hit>) {
    let text = &*view.text;
    let mut at = 0;
    while let Some(found) = DOWNLOADER.find_at(text, at) {
        at = command_end(text, found.end());
        piped(file, view, (found.start(), at), hits);
        saved(file, view, (found.start(), at), hits);
    }
    for (_, pattern) in PIPED.over(text) {
        for found in pattern.find_iter(text) {
            judge(file, view, hits, "RCE001", (found.start(), found.end()), found.as_bytes());
        }
    }
    for found in BY_WINDOWS.over(text).flat_map(|(_, pattern)| pattern.captures_iter(text)) {
        let (whole, name) = (found.get(0).expect("a match has a whole"), &found[1]);
        if runs(behind(text, whole.end()), name) {
            judge(file, view, hits, "RCE002", (whole.start(), whole.end()), whole.as_bytes());
        }
    }
    for found in TOLD.over(text).flat_map(|(_, pattern)| pattern.find_iter(text)) {
        let near = paragraph(text, found.start(), found.end());
        let is_told = sink(near, &file.subject) != Sink::None || AT_URL.is_match(near);
        if is_told {
            judge(file, view, hits, "RCE002", (found.start(), found.end()), near);
        }
    }
}

/// Where a command ends that goes on behind `at`: at the end of a line that neither `\` nor a pipe continues.
fn command_end(text: &[u8], mut at: usize) -> usize {
    while let Some(length) = text[at..].iter().position(|byte| *byte == b'\n') {
        let line = text[at..at + length].trim_ascii_end();
        let is_continued = line.ends_with(b"\\") || line.ends_with(b"|") || line.ends_with(b"|&");
        if !is_continued {
            return at + length;
        }
        at += length + 1;
    }
    text.len()
}

/// Downloads of a command that go into a shell. After each the next downloader begins: the command is looked through once.
fn piped(file: &File<'_>, view: &View<'_>, command: (usize, usize), hits: &mut Vec<Hit>) {
    let (mut start, end) = command;
    while let Some(pipe) = INTO_A_SHELL.find(&view.text[start..end]) {
        let piped = start + pipe.end();
        judge(file, view, hits, "RCE001", (start, piped), &view.text[start..piped]);
        let Some(next) = DOWNLOADER.find(&view.text[piped..end]) else { return };
        start = piped + next.start();
    }
}

/// The first download of a command whose file runs soon afterwards.
fn saved(file: &File<'_>, view: &View<'_>, command: (usize, usize), hits: &mut Vec<Hit>) {
    let (start, end) = command;
    let text = &view.text[start..end];
    let given = SAVED_AS.captures_iter(text).take(FILES_MAX);
    let kept = NAMED.captures_iter(text).take(if KEEPS_ITS_NAME.is_match(text) { FILES_MAX } else { 0 });
    let run = given.chain(kept).find_map(|found| {
        let name = found.get(1).or(found.get(2))?;
        runs(behind(&view.text, start + name.end()), name.as_bytes()).then_some(start + name.end())
    });
    if let Some(end) = run {
        judge(file, view, hits, "RCE002", (start, end), &view.text[start..end]);
    }
}

/// What stands in the next five lines or so.
fn behind(text: &[u8], at: usize) -> &[u8] {
    &text[at..(at + RUN_BYTES).min(text.len())]
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
                let before = &line[at.saturating_sub(RUNNER_BYTES)..at];
                let after = line.get(at + name.len()).copied();
                let is_whole = after
                    .is_none_or(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/' | b'-')));
                is_whole && (RUNNER.is_match(before) || (is_program && NEXT.is_match(before)))
            }
        })
    })
}

static RUNNER: LazyLock<Regex> = LazyLock::new(|| {
    search::regex(
        r"(?:(?:^|[;&|`(\s])(?:sudo\s+)?(?:(?:ba|z|da)?sh|python[23]?|node|perl|ruby|source|\.|start|powershell\s+(?:-\S+\s+)*(?:-File)?)\s+(?:-\S+\s+)*[\x22']?(?:[\w./~$\{\}-]*/)?|(?:^|[;&|`(]\s*|sudo\s+)[\x22']?(?:\./|/tmp/|~/|\$\w+/))\z",
    )
});

/// Where a command begins behind another.
static NEXT: LazyLock<Regex> = LazyLock::new(|| search::regex(r"[;&|]\s*\z"));

/// Installers that millions run: told of, and not more.
static INSTALLERS: LazyLock<Regex> = LazyLock::new(|| {
    search::regex(
        r"https?://(?:(?:www\.)?sh\.rustup\.rs|astral\.sh/|get\.docker\.com|(?:raw\.githubusercontent\.com/(?:Homebrew|nvm-sh|pyenv|ohmyzsh|helm|k3d-io|nektos|golangci|anchore|aquasecurity|trufflesecurity|gitleaks|rhysd|kubernetes-sigs|ahmetb|tj|junegunn|asdf-vm|jdx|denoland|oven-sh|rustwasm|cargo-bins|foundry-rs|starship|sdkman|microsoft|github|docker|hashicorp|google|aws|Azure|cli|rclone|tailscale|NVIDIA|anthropics|openai)/)|(?:www\.)?bun\.(?:sh|com)/|deno\.land/|get\.pnpm\.io|install\.python-poetry\.org|deb\.nodesource\.com|rpm\.nodesource\.com|aka\.ms/|get\.k3s\.io|get\.helm\.sh|get\.sdkman\.io|mise\.(?:run|jdx\.dev)|pixi\.sh/|fly\.io/install|cli\.github\.com|claude\.ai/install|get\.volta\.sh|ollama\.(?:com|ai)/install|tailscale\.com/install|starship\.rs/install|foundry\.paradigm\.xyz|release\.solana\.com|release\.anza\.xyz|sh\.uv|bootstrap\.pypa\.io|nixos\.org/nix|install\.determinate\.systems|packages\.microsoft\.com|download\.docker\.com|apt\.releases\.hashicorp\.com|baltocdn\.com|rclone\.org|sdk\.cloud\.google\.com|dot\.net/|raw\.githubusercontent\.com/[\w.-]+/[\w.-]+/(?:v?\d[\w.]*|[0-9a-f]{7,40})/|github\.com/[\w.-]+/[\w.-]+/releases/)",
    )
});

/// Where nobody publishes software.
static DISREPUTABLE: LazyLock<Regex> = LazyLock::new(|| {
    search::regex(
        r"https?://(?:\d{1,3}(?:\.\d{1,3}){3}\b|(?:bit\.ly|tinyurl\.com|t\.co|is\.gd|cutt\.ly|rb\.gy|goo\.gl|shorturl\.at)/|(?:[\w-]+\.)?(?:pastebin\.com|paste\.ee|hastebin\.com|termbin\.com|0x0\.st|transfer\.sh|rentry\.co|glot\.io|webhook\.site|ngrok(?:-free)?\.(?:io|app|dev)|trycloudflare\.com)\b)",
    )
});

static LOCAL: LazyLock<Regex> = LazyLock::new(|| {
    search::regex(
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
    } else if sink(own_line, &file.subject) == Sink::Own {
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
