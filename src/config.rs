//! Raw arguments to a checked configuration. The only reader of the environment, through the arguments.

mod listen;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

pub use self::listen::Listen;
use crate::app::admit::AdmissionLimits;
use crate::domain::agent::{AgentSettings, StrayShare, TriggerMatch, Untriggered};
use crate::domain::limits::{
    CONNECTION_AGE_DEFAULT, CONNECTIONS_DEFAULT, HTTP_CONNECTIONS_MAX, IN_FLIGHT_DEFAULT, MENU_TTL_DEFAULT,
    PLAYBOOKS_DEFAULT, PLAYBOOKS_MAX,
};
use crate::telemetry::log::LogFormat;
use crate::transport::connection::ConnectionLimits;

/// Where the server listens unless told otherwise.
pub const LISTEN_DEFAULT: &str = "127.0.0.1:50051";

/// How long a menu token may be made to hold: a day; it stands for one turn.
const MENU_TTL_SECS_MAX: u64 = 24 * 60 * 60;

/// Where metrics and probes are unless told otherwise.
pub const HTTP_DEFAULT: &str = "127.0.0.1:50052";

/// What turns a door off.
const OFF: &str = "off";

/// How long the notice before a drain may be made to take: a minute.
const DRAIN_NOTICE_MS_MAX: u64 = 60_000;

/// How old connections may be allowed to get: a week.
const CONNECTION_AGE_SECS_MAX: u64 = 7 * 24 * 60 * 60;

/// Bounds of calls and connections that are more than any machine bears.
const COUNT_MAX: usize = 1_000_000;

/// How long a drain may be made to take: an hour.
const DRAIN_SECS_MAX: u64 = 60 * 60;

/// Which playbooks, and how their menus are made.
#[derive(Args, Clone, Debug)]
pub struct CatalogArgs {
    /// A directory of skills: every SKILL.md in it, up to 6 levels deep. Repeatable; the first of two equal names
    /// serves. Without it: the starter packs, or what is kept.
    #[arg(long, value_name = "DIR")]
    pub skills: Vec<PathBuf>,

    /// What a playbook without triggers is: offered on every turn (`always_on`), or ranked by relevance like the others
    /// (`ranked`), which is right for directories of public skills. Default: `always_on`.
    #[arg(long, value_name = "MODE", env = "MAITRED_UNTRIGGERED")]
    pub untriggered: Option<UntriggeredArg>,

    /// How triggers match a turn: anywhere (substring), or whole words only (word).
    #[arg(long, value_name = "MODE", default_value = "substring", env = "MAITRED_TRIGGER_MATCH")]
    pub trigger_match: TriggerMatchArg,

    /// The share of turns about no playbook that may see a menu all the same: the floor is set by it. 0.01 is one turn in a
    /// hundred; 1 means no floor.
    #[arg(long, value_name = "SHARE", default_value = "0.01", env = "MAITRED_STRAY_SHARE")]
    pub stray_share: StrayShare,

    /// A directory with an embedding model to use instead of the built-in one: a static model in Model2Vec's format, or
    /// a sentence transformer of the BERT kind, which takes milliseconds a turn.
    #[arg(long, value_name = "DIR", env = "MAITRED_MODEL")]
    pub model: Option<PathBuf>,

    /// Probabilities and floors instead of the built-in ones, as `calibrate` writes them.
    #[arg(long, value_name = "FILE", env = "MAITRED_CALIBRATION")]
    pub calibration: Option<PathBuf>,

    /// Files that are let in although the scanner blocks them: a line for each, `sha256:DIGEST RULESET REASON`. HIGH
    /// findings alone can be overridden; an edit of the file ends it.
    #[arg(long, value_name = "FILE", env = "MAITRED_ALLOW_FILE")]
    pub allow_file: Option<PathBuf>,

    /// How many playbooks the agent may have, up to 100000.
    #[arg(long, value_name = "N", default_value_t = PLAYBOOKS_DEFAULT, env = "MAITRED_MAX_PLAYBOOKS")]
    pub max_playbooks: usize,
}

/// `--untriggered`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum UntriggeredArg {
    /// Offered on every turn.
    AlwaysOn,
    /// Ranked by relevance.
    Ranked,
}

/// `--trigger-match`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum TriggerMatchArg {
    /// Anywhere.
    Substring,
    /// Whole words.
    Word,
}

/// How the server runs.
#[derive(Args, Clone, Debug)]
pub struct ServeArgs {
    /// Which playbooks.
    #[command(flatten)]
    pub catalog: CatalogArgs,

    /// Where to listen: a loopback address with a port, or unix:PATH.
    #[arg(long, value_name = "ADDR", default_value = LISTEN_DEFAULT, env = "MAITRED_LISTEN")]
    pub listen: String,

    /// A file of 32 to 4096 bytes that signs menu tokens, instead of the key that is kept with the playbooks.
    #[arg(long, value_name = "FILE", env = "MAITRED_MENU_KEY_FILE")]
    pub menu_key_file: Option<PathBuf>,

    /// Where playbooks, the menu key, tokens and usage are kept. Default: `maitred` in the user's directory for data; with --skills
    /// nothing is kept without it.
    #[arg(long, value_name = "DIR", env = "MAITRED_DATA")]
    pub data: Option<PathBuf>,

    /// A name by which the HTTP door is reached besides those of this machine, such as playbooks.example.org. Repeatable; requests
    /// for other names are refused, so that no web page can pose as this server.
    #[arg(long, value_name = "NAME", env = "MAITRED_HTTP_NAME", value_delimiter = ',')]
    pub http_name: Vec<String>,

    /// How long a menu token holds, in seconds.
    #[arg(long, value_name = "SECS", default_value_t = MENU_TTL_DEFAULT.as_secs(), env = "MAITRED_MENU_TTL")]
    pub menu_ttl: u64,

    /// How long calls in flight may take to finish after SIGTERM, in seconds.
    #[arg(long, value_name = "SECS", default_value_t = 10, env = "MAITRED_DRAIN_SECS")]
    pub drain_secs: u64,

    /// How long to go on taking calls after SIGTERM while health says NOT_SERVING already, in milliseconds: until load
    /// balancers have noticed.
    #[arg(long, value_name = "MS", default_value_t = 500, env = "MAITRED_DRAIN_NOTICE_MS")]
    pub drain_notice_ms: u64,

    /// Where the owner API, metrics and probes are (/openapi.json, /metrics, /healthz, /readyz): a loopback address with a port, unix:PATH, or off.
    #[arg(long, value_name = "ADDR", default_value = HTTP_DEFAULT, env = "MAITRED_HTTP")]
    pub http: String,

    /// How many calls may be in flight; further ones are refused with RESOURCE_EXHAUSTED and the time to come back.
    #[arg(long, value_name = "N", default_value_t = IN_FLIGHT_DEFAULT, env = "MAITRED_MAX_IN_FLIGHT")]
    pub max_in_flight: usize,

    /// How many calls may wait for a processor; further ones are refused in the same way, at once. The last of them
    /// waits for N times the time of a call, divided by the number of processors.
    #[arg(long, value_name = "N", default_value_t = AdmissionLimits::queued_default(), env = "MAITRED_MAX_QUEUED")]
    pub max_queued: usize,

    /// How many connections may be open; further ones are closed at once.
    #[arg(long, value_name = "N", default_value_t = CONNECTIONS_DEFAULT, env = "MAITRED_MAX_CONNECTIONS")]
    pub max_connections: usize,

    /// How old a connection may get before it is told to finish its calls and end, in seconds; 0 for no limit.
    #[arg(
        long,
        value_name = "SECS",
        default_value_t = CONNECTION_AGE_DEFAULT.as_secs(),
        env = "MAITRED_MAX_CONNECTION_AGE"
    )]
    pub max_connection_age_secs: u64,

    /// How logs are written, to standard error.
    #[arg(long, value_name = "FORMAT", default_value = "text", env = "MAITRED_LOG_FORMAT")]
    pub log_format: LogFormat,

    /// Which logs: error, warn, info, debug, or a filter by module.
    #[arg(long, value_name = "FILTER", default_value = "info", env = "MAITRED_LOG")]
    pub log: String,
}

/// Which playbooks, checked.
#[derive(Clone, Debug)]
pub struct CatalogConfig {
    /// Directories of skills; none means the starter packs, or what is kept.
    pub skills: Vec<PathBuf>,
    /// The directory of the embedding model; none means the built-in one.
    pub model: Option<PathBuf>,
    /// The file of probabilities and floors; none means the built-in ones.
    pub calibration: Option<PathBuf>,
    /// The file of overrides of the scanner; none means no overrides.
    pub allow_file: Option<PathBuf>,
    /// How menus are made.
    pub settings: AgentSettings,
    /// Whether `untriggered` was chosen, so that no advice is needed.
    pub untriggered_chosen: bool,
    /// How many playbooks the agent may have.
    pub playbooks_max: usize,
}

/// How the server runs, checked.
#[derive(Clone, Debug)]
pub struct ServeConfig {
    /// Which playbooks.
    pub catalog: CatalogConfig,
    /// Where to listen.
    pub listen: Listen,
    /// The directory that playbooks and keys are kept in; none keeps nothing.
    pub data: Option<PathBuf>,
    /// Names of the HTTP door besides those of this machine, in lower case.
    pub http_names: Vec<String>,
    /// The file with the key of menu tokens.
    pub menu_key_file: Option<PathBuf>,
    /// How long a menu token holds.
    pub menu_ttl: Duration,
    /// How long the drain may take.
    pub drain: Duration,
    /// How long calls are still taken while health says already that they are not.
    pub drain_notice: Duration,
    /// Where metrics and probes are, if anywhere.
    pub http: Option<Listen>,
    /// How many calls.
    pub admission: AdmissionLimits,
    /// How many gRPC connections, and how long.
    pub connections: ConnectionLimits,
    /// How many connections of metrics and probes.
    pub http_connections_max: usize,
}

impl CatalogArgs {
    /// Checks the arguments.
    ///
    /// # Errors
    /// A sentence that names the flag.
    pub fn check(self) -> Result<CatalogConfig, String> {
        if !(1..=PLAYBOOKS_MAX).contains(&self.max_playbooks) {
            return Err(format!("--max-playbooks {}: 1 to {PLAYBOOKS_MAX} are possible", self.max_playbooks));
        }
        let untriggered = match self.untriggered {
            None | Some(UntriggeredArg::AlwaysOn) => Untriggered::AlwaysOn,
            Some(UntriggeredArg::Ranked) => Untriggered::Ranked,
        };
        let trigger_match = match self.trigger_match {
            TriggerMatchArg::Substring => TriggerMatch::Substring,
            TriggerMatchArg::Word => TriggerMatch::Word,
        };
        Ok(CatalogConfig {
            skills: self.skills,
            model: self.model,
            calibration: self.calibration,
            allow_file: self.allow_file,
            settings: AgentSettings { untriggered, trigger_match, stray_share: self.stray_share },
            untriggered_chosen: self.untriggered.is_some(),
            playbooks_max: self.max_playbooks,
        })
    }
}

impl ServeArgs {
    /// Checks the arguments.
    ///
    /// # Errors
    /// A sentence that names the flag.
    pub fn check(self) -> Result<ServeConfig, String> {
        if !(1..=MENU_TTL_SECS_MAX).contains(&self.menu_ttl) {
            return Err(format!(
                "--menu-ttl {}: 1 to {MENU_TTL_SECS_MAX} seconds are possible",
                self.menu_ttl
            ));
        }
        for (flag, count) in [
            ("--max-in-flight", self.max_in_flight),
            ("--max-queued", self.max_queued),
            ("--max-connections", self.max_connections),
        ] {
            if !(1..=COUNT_MAX).contains(&count) {
                return Err(format!("{flag} {count}: 1 to {COUNT_MAX} are possible"));
            }
        }
        if self.max_connection_age_secs > CONNECTION_AGE_SECS_MAX {
            return Err(format!(
                "--max-connection-age-secs {}: 1 to {CONNECTION_AGE_SECS_MAX} seconds are possible, or 0 for no limit",
                self.max_connection_age_secs
            ));
        }
        if self.drain_notice_ms > DRAIN_NOTICE_MS_MAX {
            return Err(format!(
                "--drain-notice-ms {}: 0 to {DRAIN_NOTICE_MS_MAX} milliseconds are possible",
                self.drain_notice_ms
            ));
        }
        if self.drain_secs > DRAIN_SECS_MAX {
            return Err(format!(
                "--drain-secs {}: 0 to {DRAIN_SECS_MAX} seconds are possible",
                self.drain_secs
            ));
        }
        let age = Some(self.max_connection_age_secs).filter(|secs| *secs > 0).map(Duration::from_secs);
        let http = Some(&self.http).filter(|address| *address != OFF);
        let catalog = self.catalog.check()?;
        let data = match self.data {
            None if catalog.skills.is_empty() => Some(user_data()?),
            data => data,
        };
        Ok(ServeConfig {
            catalog,
            data,
            http_names: self.http_name.iter().map(|name| name.to_ascii_lowercase()).collect(),
            listen: Listen::parse("--listen", &self.listen)?,
            drain_notice: Duration::from_millis(self.drain_notice_ms),
            http: http.map(|address| Listen::parse("--http", address)).transpose()?,
            admission: AdmissionLimits { queued_max: self.max_queued, in_flight_max: self.max_in_flight },
            connections: ConnectionLimits::new(self.max_connections, age),
            http_connections_max: HTTP_CONNECTIONS_MAX,
            menu_key_file: self.menu_key_file,
            menu_ttl: Duration::from_secs(self.menu_ttl),
            drain: Duration::from_secs(self.drain_secs),
        })
    }
}

/// Where a user's playbooks are kept unless told otherwise.
///
/// # Errors
/// A system that has no place for a user's data.
pub fn user_data() -> Result<PathBuf, String> {
    let directory =
        dirs::data_dir().ok_or("there is no directory for this user's data: give one with --data DIR")?;
    Ok(directory.join("maitred"))
}
