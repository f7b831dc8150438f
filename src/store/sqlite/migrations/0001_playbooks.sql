-- What owners keep. Digests are SHA-256, 32 bytes; times are seconds since 1970; revisions are those of the catalogue.

-- One row: the revision that the catalogue is at.
CREATE TABLE catalogue (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    revision INTEGER NOT NULL
) STRICT;
INSERT INTO catalogue VALUES (1, 0);

-- Who has playbooks. The stray share is in millionths.
CREATE TABLE agents (
    id TEXT PRIMARY KEY,
    untriggered TEXT NOT NULL,
    trigger_match TEXT NOT NULL,
    stray_share INTEGER NOT NULL,
    playbooks_max INTEGER NOT NULL,
    revision INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The texts of playbooks, by the digest of the playbook that they are read as; the checksum is that of the text.
CREATE TABLE documents (
    digest BLOB PRIMARY KEY,
    checksum BLOB NOT NULL,
    text TEXT NOT NULL
) STRICT;

-- Which version of a playbook is the newest, and which serves. `file` is the digest of the bytes that the newest was read from;
-- `pack` and `pack_version` say more of an origin that is a pack.
CREATE TABLE entries (
    agent TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    slug TEXT NOT NULL,
    newest BLOB NOT NULL REFERENCES documents (digest),
    file BLOB NOT NULL,
    active BLOB REFERENCES documents (digest),
    standing TEXT NOT NULL,
    origin TEXT NOT NULL,
    pack TEXT,
    pack_version TEXT,
    revision INTEGER NOT NULL,
    edited INTEGER NOT NULL,
    PRIMARY KEY (agent, slug)
) STRICT, WITHOUT ROWID;
CREATE INDEX entries_newest ON entries (newest);
CREATE INDEX entries_active ON entries (active);

-- What happened to playbooks, oldest first; it outlives them, but not their agent.
CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    agent TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    slug TEXT NOT NULL,
    deed TEXT NOT NULL,
    digest BLOB NOT NULL REFERENCES documents (digest),
    actor TEXT NOT NULL,
    time INTEGER NOT NULL,
    revision INTEGER NOT NULL
) STRICT;
CREATE INDEX events_playbook ON events (agent, slug);
CREATE INDEX events_digest ON events (digest);

-- Files that an owner lets in although the scanner blocks them, by the digest of their bytes.
CREATE TABLE overrides (
    agent TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    file BLOB NOT NULL,
    ruleset TEXT NOT NULL,
    reason TEXT NOT NULL,
    actor TEXT NOT NULL,
    time INTEGER NOT NULL,
    PRIMARY KEY (agent, file)
) STRICT, WITHOUT ROWID;

-- Versions that must not serve again, for an agent, or for all where that is empty.
CREATE TABLE bars (
    agent TEXT NOT NULL,
    digest BLOB NOT NULL,
    reason TEXT NOT NULL,
    actor TEXT NOT NULL,
    time INTEGER NOT NULL,
    PRIMARY KEY (agent, digest)
) STRICT, WITHOUT ROWID;

-- Vectors, by the model that made them and the digest of what they were made from: 32-bit floats, little end first.
CREATE TABLE vectors (
    model BLOB NOT NULL,
    text BLOB NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (model, text)
) STRICT, WITHOUT ROWID;

-- How often playbooks were offered, by reason, and loaded. No text of any turn.
CREATE TABLE usage (
    agent TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    slug TEXT NOT NULL,
    offered_always_on INTEGER NOT NULL,
    offered_trigger INTEGER NOT NULL,
    offered_semantic INTEGER NOT NULL,
    loaded INTEGER NOT NULL,
    last INTEGER NOT NULL,
    PRIMARY KEY (agent, slug)
) STRICT, WITHOUT ROWID;

-- Bearer tokens that were handed out, by name; of the token its digest alone. The role of an owner and of an agent has its agent.
CREATE TABLE grants (
    id TEXT PRIMARY KEY,
    token BLOB NOT NULL UNIQUE,
    role TEXT NOT NULL,
    agent TEXT,
    label TEXT NOT NULL,
    made INTEGER NOT NULL,
    ended INTEGER
) STRICT, WITHOUT ROWID;

-- Keys, by what they are for.
CREATE TABLE keys (
    purpose TEXT PRIMARY KEY,
    bytes BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Answers that were given to requests with an Idempotency-Key; kept for a day.
CREATE TABLE answers (
    principal TEXT NOT NULL,
    key TEXT NOT NULL,
    request BLOB NOT NULL,
    answer BLOB NOT NULL,
    time INTEGER NOT NULL,
    PRIMARY KEY (principal, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX answers_time ON answers (time);
