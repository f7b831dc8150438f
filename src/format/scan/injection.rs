//! Text that would take the model over: overriding orders, modes, harness tokens, concealment, standing orders.

use super::guards::{FENCE, NEG, OWN, PROMPTS, QUO, SEC, SINK, TABLE, WORDS};
use super::pattern::{Pattern, row};
use super::{Level, Rule};

const PROSE: u16 = NEG | QUO | SEC | FENCE | TABLE | WORDS;

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "INJ001",
        level: Level::High,
        what: "it tells the model to ignore its instructions",
        hint: "remove it; in a text about such attacks, put the example in quotes",
        taxonomy: &["AITech-1.1", "LLM01"],
    },
    Rule {
        id: "INJ002",
        level: Level::High,
        what: "it switches the model to a mode without rules",
        hint: "remove it; in a text about such attacks, put the example in quotes",
        taxonomy: &["AITech-2.1", "LLM01"],
    },
    Rule {
        id: "INJ003",
        level: Level::High,
        what: "it holds a token by which chat templates and harnesses mark roles",
        hint: "remove it, or show it in a code block of a skill about prompt formats",
        taxonomy: &["AITech-1.1", "LLM01"],
    },
    Rule {
        id: "INJ004",
        level: Level::High,
        what: "it does something behind the user's back",
        hint: "say what is done and let the user see it",
        taxonomy: &["AITech-1.1", "AITech-15.1", "LLM01"],
    },
    Rule {
        id: "INJ005",
        level: Level::Medium,
        what: "it goes round an approval",
        hint: "leave approvals to the host and its user",
        taxonomy: &["AITech-12.1", "LLM06"],
    },
    Rule {
        id: "INJ006",
        level: Level::Medium,
        what: "it forbids the model to refuse or to warn",
        hint: "say what to do instead",
        taxonomy: &["AITech-2.1", "AR1"],
    },
    Rule {
        id: "INJ007",
        level: Level::High,
        what: "a block marked as important asks for data to be read or sent",
        hint: "write the step in the open, without a tag",
        taxonomy: &["AITech-12.1.2", "TP1"],
    },
    Rule {
        id: "INJ008",
        level: Level::Medium,
        what: "it asks for the system prompt",
        hint: "remove it",
        taxonomy: &["AITech-8.2", "LLM07"],
    },
    Rule {
        id: "INJ009",
        level: Level::High,
        what: "a standing order sends, encrypts or deletes something on every task",
        hint: "make it a step that the user asks for",
        taxonomy: &["AITech-1.1", "AITech-8.2", "LLM01"],
    },
    Rule {
        id: "INJ010",
        level: Level::Low,
        what: "it puts itself above the user's wishes",
        hint: "leave the last word to the user",
        taxonomy: &["AITech-1.1"],
    },
];

const TASKS: &str = r"\b(?:(?:always|after|before|upon|following|when(?:ever)?)\s+(?:(?:you|the|finish(?:ing)?|complet(?:e|ing)|perform(?:ing)?|process(?:ing)?|mak(?:e|ing)|handl(?:e|ing)|edit(?:ing)?|start(?:ing)?|run(?:ning)?|doing|making)\s+){0,3}(?:any|every|each|all|a|an)|(?:on|with|for)\s+(?:(?:you|the|finish(?:ing)?|complet(?:e|ing)|perform(?:ing)?|process(?:ing)?|mak(?:e|ing)|handl(?:e|ing)|edit(?:ing)?|start(?:ing)?|run(?:ning)?|doing|making)\s+){0,3}(?:any|every|each|all))\s+(?:[\w/-]+\s+){0,3}(?:tasks?|operations?|requests?|edits?|editing|changes?|commits?|messages?|responses?|replies|retrievals?|sessions?|turns?|conversations?|queries|interactions?|tool calls?|jobs?)\b";

/// Verbs that take data out or away.
const EFFECT: &str = r"\b(?:sends?|uploads?|posts?|forwards?|transmits?|exfiltrates?|zips?|encrypts?|e-?mails?|backs? ?up|backups?|curl|wget|requests\.post)\b";

pub(super) const PATTERNS: &[Pattern] = &[
    row(
        "INJ001",
        Level::High,
        r"\b(?:ignore|disregard|forget|neglect)\s+(?:(?:all|any|the|your|of|every|everything|these|those|my|other|and|or|in|from)\s+){0,4}(?:previous|prior|above|earlier|preceding|existing|former|system|original|initial|developer|safety)\s+(?:(?:and|or|system|user|developer|safety|given|set|of|your|the)\s+){0,3}(?:instructions?|rules?|prompts?|directions?|directives?|guidelines?|commands?|context|policies|policy|guardrails?|constraints?|messages?|training)\b",
    )
    .guards(PROSE),
    row(
        "INJ001",
        Level::High,
        r"\b(?:override|bypass|circumvent|supersede)\s+(?:(?:all|any|the|your|of|every|these|those|other)\s+){0,3}(?:previous|prior|earlier|preceding|system|safety|developer)\s+(?:(?:and|or|system|user|developer|safety)\s+){0,2}(?:instructions?|prompts?|directives?|guidelines?|guardrails?)\b",
    )
    .guards(PROSE),
    row(
        "INJ002",
        Level::High,
        r"\b(?:enter|enable|activate|switch\s+to|become|go\s+into|you\s+are(?:\s+now)?(?:\s+in)?|act\s+as|act\s+in)\s+(?:(?:a|an|the|in|into)\s+)?(?:DAN|jailbreak(?:en|ed)?|god|unrestricted|unfiltered|uncensored|no[- ]restrictions?)\s+(?:mode|persona|assistant|model|AI)\b",
    )
    .guards(PROSE),
    row(
        "INJ002",
        Level::High,
        r"\byou\s+(?:are|have)\s+(?:now\s+)?(?:DAN\b|do\s+anything\s+now|no\s+(?:longer\s+(?:bound|restricted|limited)|restrictions|ethical|safety|content\s+polic)|free(?:d)?\s+(?:of|from)\s+(?:all\s+)?(?:restrictions|rules|guidelines))",
    )
    .guards(PROSE),
    row(
        "INJ003",
        Level::High,
        r"<\|(?:im_start|im_end|system|user|assistant|start_header_id|end_header_id|eot_id)\|>|\[/?INST\]|<</?SYS>>|</?system-reminder>|</?antml:|<function_calls>",
    )
    .guards(NEG | QUO | SEC | FENCE | PROMPTS | TABLE | WORDS),
    row("INJ003", Level::High, r"^[ \t>]*Human:[ \t]")
        .needs(&[r"^[ \t>]*Assistant:"])
        .guards(QUO | SEC | FENCE | PROMPTS),
    row(
        "INJ004",
        Level::High,
        r"\b(?:silently|secretly|covertly|stealthily|surreptitiously)\s+(?:\w+\s+){0,2}?(?:send|upload|post|forward|transmit|exfiltrate|copy|e-?mail|encrypt|execute|download)(?:s|ing)?\b",
    )
    .guards(PROSE),
    row(
        "INJ004",
        Level::High,
        r"\b(?:send|upload|forward|transmit|exfiltrate|e-?mail|encrypt|delete|download|install|execute|copy|post)(?:s|ing)?\b[^.\n]{0,120}\b(?:without\s+(?:telling|informing|notifying|alerting|asking)\s+(?:the\s+)?users?|without\s+(?:the\s+)?users?(?:'s)?\s+(?:knowledge|knowing|noticing|consent))",
    )
    .unless(r"asking\s+(?:the\s+)?users?\s+to\s")
    .guards(PROSE),
    row(
        "INJ004",
        Level::High,
        r"\b(?:do\s+not|don.{1,3}t|never)\s+(?:ever\s+)?(?:tell|inform|notify|alert|mention\s+(?:this|it|that|any\s+of\s+this)(?:\s+step)?\s+to|reveal\s+(?:this|it)\s+to|show\s+this\s+to|let)\s+(?:the\s+)?user",
    )
    .needs(&[r"\b(?:upload|exfiltrate|forward|transmit|curl|wget|webhook|send\s+(?:it|them|the|all|a\s+copy)|post\s+(?:it|them|the)\s|delete\s+(?:all|the)|encrypt)\b"])
    .guards(QUO | SEC | FENCE | SINK | WORDS),
    row(
        "INJ004",
        Level::Low,
        r"\b(?:(?:do\s+not|don.{1,3}t|never)\s+(?:ever\s+)?(?:tell|inform|notify|alert|mention\s+(?:this|it|that)\s+to)\s+the\s+user|without\s+(?:telling|informing|notifying|alerting)\s+the\s+user|(?:hide|keep)\s+(?:this|it)\s+(?:secret\s+|hidden\s+)?from\s+the\s+user)",
    ),
    row("INJ005", Level::Medium, r"--dangerously-skip-permissions|--dangerously-bypass-approvals[\w-]*|(?:^|\s)--yolo\b")
        .guards(NEG | SEC | TABLE | WORDS),
    row(
        "INJ005",
        Level::Medium,
        r"\b(?:skip|bypass|disable|ignore)\s+(?:(?:all|any|the|user|human|your)\s+){0,3}(?:approvals?|permission\s+(?:checks?|prompts?)|confirmation\s+prompts?)\b",
    )
    .unless(r"--?\w+.*(?:#|\||:)|^\s*\|")
    .guards(NEG | QUO | SEC | WORDS),
    row("INJ005", Level::Low, r"\bauto-?approve\b").guards(NEG | QUO | WORDS),
    row(
        "INJ006",
        Level::Medium,
        r"\b(?:never|do\s+not|don.{1,3}t|must\s+not)\s+(?:ever\s+)?(?:refuse|decline|reject)\s+(?:(?:any|the|a|all|user|users?.{0,3}s)\s+){0,3}(?:requests?|instructions?|prompts?|to\s+(?:answer|help|comply|respond))",
    )
    .guards(QUO | SEC | WORDS),
    row(
        "INJ006",
        Level::Low,
        r"\b(?:never|do\s+not|don.{1,3}t)\s+(?:add|include|give|provide|show)\s+(?:any\s+)?(?:safety\s+|ethical\s+|legal\s+)?(?:disclaimers?|caveats)",
    ),
    row("INJ007", Level::High, r"<(?:important|critical|secret|hidden|admin|priority)\b[^>\n]{0,40}>")
        .needs(&[
            r"\b(?:sends?|upload|post|forward|exfiltrate|transmit|curl|pass)\b",
            r"~/\.|\.ssh|\.env\b|password|secret|token|credential|api[ _-]?key|https?://|private key|mcp\.json",
        ])
        .guards(QUO | SEC | FENCE | PROMPTS),
    row(
        "INJ008",
        Level::Medium,
        r"\b(?:reveal|print|output|repeat|show|leak|disclose|display|dump)\s+(?:(?:me|us|out|the|your|all|of|its|full|entire|complete|hidden|verbatim)\s+){0,5}(?:system\s+prompt|hidden\s+instructions|system\s+instructions|initial\s+instructions)\b",
    )
    .guards(PROSE),
    row(
        "INJ008",
        Level::High,
        r"\b(?:upload|send|post|forward|transmit|exfiltrate|e-?mail)\s+(?:(?:the|your|all|of|its|full|entire|task|user|complete)\s+){0,4}(?:system\s+prompt|hidden\s+instructions|system\s+instructions|task\s+prompt|system\s+message|conversation\s+history|chat\s+history)\b",
    )
    .guards(NEG | QUO | SEC | WORDS | SINK),
    row("INJ009", Level::High, TASKS).needs(&[EFFECT]).guards(NEG | SEC | SINK | WORDS),
    row("INJ009", Level::High, TASKS)
        .needs(&[
            r"\b(?:delete|remove|wipe|erase|shred)\s+(?:all|every|any|the)\s+(?:other\s+|original\s+|user.{0,3}s\s+)?(?:files|events|e-?mails|messages|originals?|backups|contacts|databases|data)\b|\brm\s+-\w*[rf]\w*\s[^\n]*(?:\.\./|~|\$HOME|\s/)|\brm\s+[`]?\$\(",
        ])
        .guards(NEG | SEC | WORDS),
    row(
        "INJ009",
        Level::High,
        r"\b(?:always|automatically|usually)\s+(?:\w+\s+){0,3}?(?:send|upload|post|forward|transmit|copy)s?\s+(?:[\w'-]+\s+){0,7}(?:to|at)\s+(?:[\w'-]+\s+){0,6}[(]?https?://",
    )
    .guards(NEG | QUO | SEC | SINK | WORDS),
    row(
        "INJ009",
        Level::High,
        r"\b(?:after|when|whenever|before|once)\s+(?:\w+\s+){0,2}?\w+ing\b[^.\n]{0,80}[,:]\s*(?:always\s+|make\s+sure\s+to\s+|also\s+|automatically\s+)?(?:send|upload|post|forward|transmit)\s+(?:[\w'-]+\s+){1,9}(?:to|at)\s",
    )
    .guards(NEG | QUO | SEC | SINK | WORDS),
    row(
        "INJ009",
        Level::High,
        r"\b(?:forward|send|bcc|copy)\s+(?:it|them|all|every|each|a\s+(?:copy|summary))\b[^.\n]{0,60}\bto\s+[\w.+-]+@[\w-]+\.[a-z]{2,}",
    )
    .needs(&[r"\b(?:after|every|each|always|any|all)\b", r"\b(?:e-?mails?|messages?|files?|documents?|data|inbox)\b"])
    .unless(r"@(?:example|acme|company|yourcompany|domain)\b|\bexample\b|\bif\b|\bask\b")
    .guards(NEG | QUO | SEC | FENCE | TABLE | WORDS),
    row(
        "INJ010",
        Level::Low,
        r"\b(?:regardless\s+of|no\s+matter)\s+what(?:ever)?\s+(?:the\s+)?users?\s+(?:asks?|says?|wants?|requests?)|\bregardless\s+of\s+(?:the\s+)?user(?:'s)?\s+(?:requests?|instructions?|wishes|input)",
    )
    .guards(OWN),
];
