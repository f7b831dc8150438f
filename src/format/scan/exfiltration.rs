//! Data on its way out: uploads, drop sites, queries and names that carry it.

use super::guards::{FENCE, NEG, OWN, QUO, SEC, SINK, TABLE, WORDS};
use super::pattern::{Pattern, row};
use super::{Level, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "EXF001",
        level: Level::High,
        what: "it sends data to a host that the skill is not about",
        hint: "name the service in the description, or let the user give the address",
        taxonomy: &["AITech-8.2.3", "LLM02"],
    },
    Rule {
        id: "EXF002",
        level: Level::High,
        what: "it names a site where stolen data is dropped",
        hint: "use an address that the user gives",
        taxonomy: &["AITech-8.2", "E005"],
    },
    Rule {
        id: "EXF003",
        level: Level::High,
        what: "an image carries a value to another host in its query",
        hint: "remove the variable from the query",
        taxonomy: &["AITech-8.2", "LLM02"],
    },
    Rule {
        id: "EXF004",
        level: Level::High,
        what: "a command uploads a file or the output of a command",
        hint: "name the service in the description, or let the user give the address",
        taxonomy: &["AITech-8.2", "LLM02"],
    },
    Rule {
        id: "EXF005",
        level: Level::High,
        what: "a name lookup carries data",
        hint: "look up fixed names",
        taxonomy: &["AITech-8.2", "LLM02"],
    },
];

const DATA: &str = r"\b(?:credentials?|passwords?|secrets\b|private\s+keys?|ssh\s+keys?|\.env\b|env(?:ironment)?\s+(?:files?|variables?)|conversations?|chat\s+(?:history|logs?)|transcripts?|user(?:'s)?\s+(?:data|files|messages?|queries|prompts?)|task\s+prompts?|source\s+code|contents\s+of|clipboard|screenshots?|location\s+data|card\s+(?:data|numbers?)|patient|medical|healthcare|personal\s+data|system\s+info\w*|browser\s+history|browsing\s+history|search\s+history|all\s+(?:the\s+)?(?:data|files|e-?mails|documents)|a\s+copy|logs?|copy\s+of\s+the|valuable)\b";

const SEND: &str = r"\b(?:send|upload|post|forward|transmit|exfiltrate|submit)(?:s|ing)?\s+(?:[\w.'/-]+\s+){0,8}?(?:to|at|via)\s+(?:[\w'/-]+\s+){0,6}?[(<`\x22]?https?://";

const UPLOAD: &str = r"\b(?:curl\b{gap}\s(?:-F|--form|-T|--upload-file|-d|--data(?:-binary|-raw|-urlencode)?)[ =]+[\x22']?(?:[\w.-]+=)?@|wget\b{gap}\s--(?:post|body)-file[ =])";

/// The output of a command that reads what is secret.
const OUTPUT: &str = r"\bcurl\s{gap}(?:\$\(|`)\s*(?:cat|env|printenv|base64|tar|find)\b[^\n]*?(?:\.env|\.ssh|/etc/|~/\.|secret|credential|passw|\benv\b|printenv|id_rsa)";

const TO_PORT: &str =
    r"\b(?:cat|tar|env|printenv|base64|zip)\b[^\n|]*\|\s*(?:nc|ncat|netcat)\s+(?:-\w+\s+)*[\w.-]+\s+\d+";

const PIPED: &str = r"\b(?:cat|tar|zip|env|printenv|base64)\b[^\n]*?\|\s*curl\b{gap}\s(?:-T|-d|-F|--data(?:-binary|-raw)?|--upload-file)[ =]+[\x22']?(?:[\w.-]+=)?@?-";

/// What looks like a service with an account, or an address that the user sets.
const KNOWN_API: &str = r"authorization|bearer|api[-_]?key|x-[\w-]*key|token|-u\s|--user\s|\$\{?\w*(?:URL|HOST|API|BASE|ENDPOINT|SERVER)|/api/|//api\.|upload_?url|presigned";

pub(super) const PATTERNS: &[Pattern] = &[
    row("EXF001", Level::High, SEND)
        .needs(&[DATA])
        .unless(r"\b(?:if|when)\s+the\s+user\s+(?:asks|wants|requests)|//api\.|/api/|\b(?:docs?|documentation|issues?)\b")
        .guards(NEG | QUO | SEC | FENCE | TABLE | SINK | WORDS),
    // Whoever sends data somewhere can call it an API, or documentation.
    row("EXF001", Level::Medium, SEND).needs(&[DATA]).guards(NEG | QUO | SEC | FENCE | TABLE | SINK | WORDS),
    row(
        "EXF002",
        Level::High,
        r"https?://(?:[\w.-]+\.)?(?:webhook\.site|requestbin\.(?:com|net|io)|m\.pipedream\.net|hookbin\.com|interact\.sh|oast\.(?:fun|live|pro|site|me|online)|oastify\.com|burpcollaborator\.net|transfer\.sh|0x0\.st|termbin\.com|bashupload\.com|temp\.sh|gofile\.io|anonfiles\.com|file\.io|sprunge\.us|ix\.io)\b[/\w-]*",
    )
    .guards(NEG | QUO | SEC | TABLE | OWN),
    row(
        "EXF002",
        Level::High,
        r"\b(?:send|upload|post|forward|transmit|exfiltrate|curl|wget|requests\.post|fetch)\b[^\n]*?(?:\bdiscord(?:app)?\.com/api/webhooks/\d{6,}|//api\.telegram\.org/bot\d{6,}|\bpastebin\.com/api|\bhooks\.slack\.com/services/T\w{6,}/B\w{6,})",
    )
    .guards(NEG | SEC | TABLE | OWN),
    row(
        "EXF002",
        Level::Medium,
        r"\b(?:webhook\.site|discord(?:app)?\.com/api/webhooks/|//api\.telegram\.org/bot|pastebin\.com|[\w-]+\.ngrok(?:-free)?\.(?:io|app|dev)|transfer\.sh|0x0\.st|termbin\.com)",
    )
    .unless(r"(?:TOKEN|YOUR|\{|<|\$|example|x{3}|abc|\.\.\.)")
    .guards(NEG | QUO | SEC | TABLE | OWN | WORDS),
    row(
        "EXF003",
        Level::High,
        r"!\[[^\]\n]*\]\(https?://[^)\s]*\?[^)\s]*(?:\{\{|\$\{|\{[a-z_]+\}|<[a-z_]+>|\$[a-z_]{3})",
    )
    .unless(r"shields\.io|badge|star-history|//api\.qrserver|localhost")
    .guards(QUO | SEC | TABLE | OWN),
    row("EXF003", Level::High, r"<img\b[^>\n]*\bsrc=[\x22'`]?https?://[^>\s]*\?[^>\s]*(?:\{\{|\$\{|<[a-z_]+>)")
        .unless(r"shields\.io|badge|localhost")
        .guards(QUO | SEC | FENCE | TABLE | OWN),
    row("EXF004", Level::High, UPLOAD).unless(KNOWN_API).guards(NEG | QUO | SEC | TABLE | SINK),
    // A header with a token is what an honest upload has, and costs a dishonest one nothing; so are words in an address.
    row("EXF004", Level::Medium, UPLOAD).guards(NEG | QUO | SEC | TABLE | SINK),
    row("EXF004", Level::High, OUTPUT)
        .unless(r"localhost|127\.0\.0\.1|-H\s+.?(?:Authorization|X-\w+-Token)[^\n]*\$\(cat")
        .guards(NEG | SEC | TABLE),
    row("EXF004", Level::Medium, OUTPUT).unless(r"-H\s+.?(?:Authorization|X-\w+-Token)[^\n]*\$\(cat").guards(NEG | SEC | TABLE),
    row("EXF004", Level::High, TO_PORT).unless(r"localhost|127\.0\.0\.1|redis|memcached").guards(NEG | SEC | TABLE),
    row("EXF004", Level::Medium, TO_PORT).guards(NEG | SEC | TABLE),
    row("EXF004", Level::High, PIPED).unless(KNOWN_API).guards(NEG | SEC | TABLE | SINK),
    row("EXF004", Level::Medium, PIPED).guards(NEG | SEC | TABLE | SINK),
    row("EXF004", Level::High, r"\brequests\.post\([^\n]*(?:\bopen\(|files\s*=)")
        .needs(&[r"\b(?:after|every|each|always|any|automatically|back ?up|all)\b"])
        .unless(r"headers|auth|localhost|127\.0\.0\.1|/api/|//api\.|example")
        .guards(NEG | SEC | TABLE | SINK),
    row("EXF004", Level::High, r"\brequests\.(?:get|post)\(\s*[f]?[\x22']https?://[^\n]*(?:params|json|data)\s*=\s*(?:\{|dict)[^\n]*(?:session_id|password|secret|token|card|\bkey)")
        .unless(r"headers|auth=|localhost|127\.0\.0\.1|/api/|//api\.|example\.|/v\d|oauth|/token|login|api_?key|grant_type|client_")
        .guards(NEG | SEC | SINK | TABLE),
    row("EXF004", Level::High, r"\bcurl\s{gap}(?:-d|--data(?:-raw|-binary)?)\s+[\x22'](?:[^\n'\x22]|\x22)*?<(?:[\w ]*(?:prompt|query|system_?info|data|secret|password|conversation|content|num))>")
        .needs(&[r"\b(?:after|every|each|always|any task|verify|upload|save)\b"])
        .unless(r"authorization|bearer|api[-_]?key|token|localhost|127\.0\.0\.1|\$\{?\w*(?:URL|HOST|API|BASE|ENDPOINT|SERVER)|//api\.|/api/|/v\d|example\.")
        .guards(NEG | SEC | SINK | TABLE),
    row("EXF005", Level::High, r"\b(?:dig|nslookup|host|ping)\s+(?:[-+]\S+\s+){0,4}[\x22']?(?:\$\([^)\n]*\)|\$\{?(?:secret|token|data|key|password)\w*\}?)\.[\w$-]+\.")
        .guards(NEG | SEC | TABLE),
];
