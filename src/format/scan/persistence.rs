//! What stays after the turn: agents' own files, start-up files, self-updates.

use super::guards::{NEG, NOTES, OWN, QUO, SEC, TABLE, WORDS};
use super::pattern::{Pattern, row};
use super::{Level, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "PER001",
        level: Level::High,
        what: "it writes itself into what the agent reads in every session",
        hint: "leave those files to the user",
        taxonomy: &["AITech-1.2", "MP1", "RA1"],
    },
    Rule {
        id: "PER002",
        level: Level::High,
        what: "it starts something by itself later",
        hint: "let the user schedule it",
        taxonomy: &["AITech-9.1", "RA2"],
    },
    Rule {
        id: "PER003",
        level: Level::High,
        what: "it rewrites itself",
        hint: "publish a new version instead",
        taxonomy: &["AITech-9.3", "RA1"],
    },
];

pub(super) const PATTERNS: &[Pattern] = &[
    row(
        "PER001",
        Level::High,
        r"\b(?:append|add|write|insert|inject|copy|put)\b[^.\n]{0,100}\b(?:to|into|in)\s+(?:the\s+|your\s+|its\s+|user.{0,3}s\s+)?[`\x22']?(?:~/)?(?:\.claude/)?(?:CLAUDE|AGENTS|SOUL|MEMORY|GEMINI)\.md\b",
    )
    .needs(&[r"\b(?:(?:every|each|all)\s+(?:future\s+|new\s+|subsequent\s+)?(?:sessions?|conversations?|chats?)|permanently|persist(?:s|ently)?\s+across|survives?)\b"])
    .guards(NEG | QUO | SEC | TABLE | NOTES),
    row(
        "PER001",
        Level::High,
        r"(?:echo|printf|cat)\s[^\n]*>>\s*[\x22']?(?:~/|\$HOME/)?(?:\.claude/)?(?:CLAUDE|AGENTS|SOUL|MEMORY|GEMINI)\.md\b",
    )
    .needs(&[r"\b(?:always|every|each|ignore|never|must)\b"])
    .guards(NEG | SEC | TABLE | NOTES),
    row(
        "PER002",
        Level::High,
        r"\b(?:crontab\s+-|/etc/cron|@reboot\b|LaunchAgents/|launchctl\s+load|schtasks\s+/create|\.config/autostart)[^\n]*(?:curl|wget|\bnc\b|base64|/dev/tcp)|\b(?:curl|wget|base64|/dev/tcp)[^\n]*\|\s*crontab\b|>>\s*[\x22']?(?:~|\$HOME)?/?\.(?:bashrc|zshrc|profile|bash_profile|zprofile)\b[^\n]*(?:curl|wget)",
    )
    .guards(NEG | SEC | TABLE | OWN),
    row(
        "PER002",
        Level::High,
        r"\b(?:echo|printf|cat)\b[^\n]*(?:\bcurl\b|\bwget\b|\bnc\s|base64\s+-d|/dev/tcp|bash\s+-i)[^\n]*(?:>>\s*[\x22']?(?:~|\$HOME)?/?\.(?:bashrc|zshrc|profile|bash_profile|zprofile)\b|\|\s*(?:sudo\s+)?(?:crontab|tee\s+(?:-a\s+)?/etc/cron))",
    )
    .guards(NEG | SEC | TABLE | OWN),
    row(
        "PER002",
        Level::Medium,
        r"\bcrontab\s+-(?:\s|$)|\|\s*crontab\b|>\s*/etc/cron\.\w+/|\bsystemctl\s+(?:--user\s+)?enable\b|\blaunchctl\s+(?:load|bootstrap)\b|\bschtasks\s+/create\b|\breg\s+add\s[^\n]*\\Run\b",
    )
    .guards(NEG | QUO | SEC | TABLE | OWN | WORDS),
    row("PER003", Level::High, r"\b(?:curl|wget)\s[^\n]*(?:-o|-O|>)\s*\S*SKILL\.md\b").guards(NEG | QUO | SEC | TABLE | OWN),
    row(
        "PER003",
        Level::High,
        r"\b(?:update|rewrite|replace|overwrite)s?\s+(?:this|its\s+own|your\s+own|itself|this\s+file|this\s+skill)\b[^.\n]{0,60}\b(?:from|with)\b[^.\n]{0,40}https?://",
    )
    .guards(NEG | QUO | SEC | TABLE | OWN),
    row(
        "PER003",
        Level::Medium,
        r"\b(?:rewrite|modify|overwrite|edit)\s+(?:this|your\s+own|its\s+own)\s+(?:SKILL\.md|skill\s+file|skill)\b",
    )
    .guards(NEG | QUO | SEC | TABLE | NOTES | WORDS),
];
