//! Every bound of the system, with its unit and its reason.
//!
//! **Invariants**: all bounds are inclusive; relations between them are checked at compile time.

use std::time::Duration;

/// Bytes of one SKILL.md: the format's own import limit.
pub const FILE_BYTES_MAX: usize = 64 * 1024;

/// Bytes of a playbook's body: a playbook that does not fit is two playbooks.
pub const BODY_BYTES_MAX: usize = 48 * 1024;

/// Characters of a slug, as in the Agent Skills specification.
pub const SLUG_CHARS_MAX: usize = 64;

/// Characters of a description, as in the Agent Skills specification.
pub const DESCRIPTION_CHARS_MAX: usize = 1_024;

/// Characters of a title: one line of a menu.
pub const TITLE_CHARS_MAX: usize = 128;

/// Triggers of one playbook: more is a description, not a trigger list.
pub const TRIGGERS_MAX: usize = 64;

/// Bytes of one trigger; bounds the overlapping matches at one position of a turn.
pub const TRIGGER_BYTES_MAX: usize = 256;

/// Characters of an ASCII trigger at or below which it is reported as likely to fire inside other words.
pub const TRIGGER_CHARS_SHORT: usize = 3;

/// The magnitude of a playbook's `order`.
pub const ORDER_MAX: i32 = 1_000_000;

/// Levels of nesting in a frontmatter, the top-level mapping being the first.
pub const YAML_LEVELS_MAX: usize = 8;

/// Keys of one mapping in a frontmatter; our own five are not counted, so that an export of what was read can be read.
pub const YAML_KEYS_MAX: usize = 64;

/// Playbooks of an agent unless configured otherwise.
pub const PLAYBOOKS_DEFAULT: usize = 30;

/// Playbooks of an agent at most, for a directory that is a whole catalogue.
pub const PLAYBOOKS_MAX: usize = 100_000;

/// Playbooks of an agent up to which a server looks for rivals among them: those of an agent without further ado. For more
/// there is `maitred check --menu`.
pub const RIVALS_PLAYBOOKS_MAX: usize = PLAYBOOKS_DEFAULT;

/// Directory levels below a `--skills` directory in which a SKILL.md is found.
pub const DIRECTORY_LEVELS_MAX: usize = 6;

/// Entries visited below one `--skills` directory: a mistyped `/` ends with an error, not with a day of walking.
pub const DIRECTORY_ENTRIES_MAX: usize = 2_000_000;

/// Bytes of a zip: it is read into memory.
pub const ARCHIVE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Entries of a zip.
pub const ARCHIVE_ENTRIES_MAX: usize = 10_000;

/// Bytes that the skills of a zip may inflate to together.
pub const ARCHIVE_INFLATED_BYTES_MAX: usize = 128 * 1024 * 1024;

/// How many times its packed size a SKILL.md in a zip may have: text packs to a third, a table of repetitions to a
/// fiftieth, padding to a thousandth.
pub const ARCHIVE_RATIO_MAX: u64 = 200;

/// Bytes of the name of a zip's entry.
pub const ARCHIVE_NAME_BYTES_MAX: usize = 1_024;

/// Directories above a zip's entry.
pub const ARCHIVE_LEVELS_MAX: usize = 32;

/// Bytes of a turn, and of each recent turn.
pub const TURN_BYTES_MAX: usize = 128 * 1024;

/// Recent turns given along with a turn.
pub const RECENT_TURNS_MAX: usize = 16;

/// Menu items when a call does not say.
pub const MENU_ITEMS_DEFAULT: usize = 3;

/// Menu items at most.
pub const MENU_ITEMS_MAX: usize = 6;

/// Slugs in `allowed_slugs`.
pub const ALLOWED_SLUGS_MAX: usize = 1_000;

/// Playbooks explained beyond those on the menu.
pub const CONSIDERED_MAX: usize = 100;

/// Characters of the word shown around a trigger match.
pub const FOUND_IN_CHARS_MAX: usize = 64;

/// Characters of an agent id.
pub const AGENT_ID_CHARS_MAX: usize = 128;

/// Characters of a run id or a turn id.
pub const CALLER_ID_CHARS_MAX: usize = 128;

/// Bytes of a menu token as text.
pub const MENU_TOKEN_BYTES_MAX: usize = 4 * 1024;

/// How long a menu token lives unless configured otherwise.
pub const MENU_TTL_DEFAULT: Duration = Duration::from_mins(15);

/// How long a call waits for `min_revision` at most.
pub const MIN_REVISION_WAIT_MAX: Duration = Duration::from_secs(2);

/// How long a turn waits for its embedding where the model takes milliseconds; then it is answered without.
pub const EMBED_WAIT_MAX: Duration = Duration::from_millis(250);

/// Turns that wait for their embedding at most; further ones are answered without.
pub const EMBED_QUEUE_MAX: usize = 256;

/// How long a call may take, also when its caller names no time or a longer one.
pub const CALL_TIME_MAX: Duration = Duration::from_secs(30);

/// Calls that may wait for a processor, by the number of processors: at some 40 µs a call, the last waits for 3 ms.
pub const QUEUED_PER_CORE: usize = 64;

/// Playbooks of an agent above which its selections leave the threads that serve connections: a tenth of a millisecond,
/// which is several times what the way there and back costs.
pub const SELECT_HERE_MAX: usize = 2_048;

/// Calls in flight unless configured otherwise: each may hold a full turn and its answer.
pub const IN_FLIGHT_DEFAULT: usize = 1_024;

/// Bytes that unfinished messages may take together.
pub const RECEIVING_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Calls whose messages may be unfinished together.
pub const WAITING_CALLS_MAX: usize = 16 * 1024;

/// How long a call waits for its message where there is no such place: as long as a message that is on its way may take.
pub const WAITING_GRACE: Duration = Duration::from_millis(50);

/// Bytes that an unfinished message has for nothing: so that those who leave large ones unfinished keep no small ones out.
pub const WAITING_CALL_BYTES: usize = 2 * 1024;

/// Calls of health whose messages may be unfinished together.
pub const PROBES_MAX: usize = 8 * 1024;

/// Bytes that are taken, and thrown away, of a message whose call is refused: those of a whole message.
pub const DISCARD_BYTES_MAX: usize = RUN_DECODE_BYTES_MAX;

/// How long a call that is refused waits for the end of its message.
pub const DISCARD_TIME_MAX: Duration = Duration::from_secs(1);

/// How soon a refused caller may come back; others are told up to 16 times as much.
pub const RETRY_AFTER_MIN: Duration = Duration::from_millis(20);

/// Calls in flight on one connection: a client that needs more opens another connection.
pub const STREAMS_PER_CONNECTION: u32 = 256;

/// Bytes of a request's headers.
pub const HEADER_LIST_BYTES_MAX: u32 = 16 * 1024;

/// Streams that a client has reset and nobody has looked at yet, before its connection is told to calm down. With 256 a flood
/// of 20,000 calls begun and reset at once was not always seen.
pub const PENDING_RESETS_MAX: usize = 20;

/// Streams of a connection that its client's faults made us reset, before it is told to calm down.
pub const FAULTY_STREAMS_MAX: usize = 256;

/// How often an idle connection is probed.
pub const KEEPALIVE_INTERVAL: Duration = Duration::from_mins(1);

/// How long a probe may stay unanswered before the connection is closed.
pub const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(20);

/// Connections of a door unless configured otherwise.
pub const CONNECTIONS_DEFAULT: usize = 4_096;

/// Files that a server has open beside its connections: playbooks that are read, what it watches, what it listens on.
pub const FILES_RESERVED: usize = 128;

/// Connections of the door of metrics and probes.
pub const HTTP_CONNECTIONS_MAX: usize = 64;

/// Connections that have not begun to speak the protocol; of more, the oldest is closed once it has had its time, and at
/// once when the door is full.
pub const HALF_OPEN_MAX: usize = 256;

/// How long a connection may take to begin, however many others do not, unless the door is full.
pub const HANDSHAKE_TIME_MIN: Duration = Duration::from_millis(250);

/// How long a connection may take to begin.
pub const HANDSHAKE_TIME_MAX: Duration = Duration::from_secs(10);

/// How long a connection may leave all its answers unread.
pub const STALL_TIME_MAX: Duration = Duration::from_secs(30);

/// How old a connection may get unless configured otherwise, so that clients spread over a fleet that grew.
pub const CONNECTION_AGE_DEFAULT: Duration = Duration::from_mins(30);

/// How long an old connection may take to finish its calls.
pub const CONNECTION_GRACE: Duration = Duration::from_secs(30);

/// How long a connection that has sent all is kept for a client that has not taken it yet.
pub const LINGER_TIME_MAX: Duration = Duration::from_secs(1);

/// Bytes of a request to `MenuService`: a full turn, with room for a few recent ones.
pub const MENU_DECODE_BYTES_MAX: usize = 256 * 1024;

/// Bytes of a request to `RunService`: the metadata of 10,000 messages.
pub const RUN_DECODE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Bytes of a request to health or reflection, which pass no queue and have no deadline: a name, and nothing else.
pub const PROBE_DECODE_BYTES_MAX: usize = 4 * 1024;

/// Bytes of a response.
pub const ENCODE_BYTES_MAX: usize = 1024 * 1024;

/// Bytes of a request of the owner API at most; a playbook and what JSON makes of it.
pub const API_BODY_BYTES_MAX: usize = 256 * 1024;

/// Bytes of an import's body at most.
pub const IMPORT_BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Files of an import at most.
pub const IMPORT_FILES_MAX: usize = 1_000;

/// Characters of an `Idempotency-Key` at most.
pub const REQUEST_KEY_CHARS_MAX: usize = 128;

/// Bytes of an error message as it is sent, percent-encoded: it travels in HTTP/2 trailers, where some clients allow
/// 8 KiB in all.
pub const ERROR_MESSAGE_BYTES_MAX: usize = 1_000;

const _: () = assert!(BODY_BYTES_MAX < FILE_BYTES_MAX);
const _: () = assert!(RECEIVING_BYTES_MAX >= 2 * RUN_DECODE_BYTES_MAX);
const _: () = assert!(MENU_ITEMS_DEFAULT <= MENU_ITEMS_MAX);
const _: () = assert!(TURN_BYTES_MAX < MENU_DECODE_BYTES_MAX);
const _: () = assert!(PLAYBOOKS_DEFAULT <= PLAYBOOKS_MAX);
const _: () = assert!(BODY_BYTES_MAX + 8 * 1024 < ENCODE_BYTES_MAX);
// Six slugs with their digests, three ids and the signature, in base64.
const _: () = assert!(
    (MENU_ITEMS_MAX * (SLUG_CHARS_MAX + 34) + AGENT_ID_CHARS_MAX + 2 * CALLER_ID_CHARS_MAX + 80) * 4 / 3
        < MENU_TOKEN_BYTES_MAX
);
