//! What an orchestrator asks on every turn: select a menu, load a playbook.
//!
//! **Invariants**: each answer is read from one snapshot; nothing here waits but [`Reader::wait_for`].
//! **Threads**: shared by all requests; each thread has its own scratch.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use tokio::sync::watch;
use tracing::warn;

use super::admit::{ANSWER_MARGIN, Deadline};
use super::auth::{Principal, Right};
use super::catalog::Catalog;
use super::error::{Error, Reason};
use super::offer::{self, Tool, ToolFormat};
use super::owner::unknown_agent;
use super::ports::Clock;
use super::token::{Binding, Claims, MenuSigner};
use super::usage::UsageCounts;
use crate::domain::agent::AgentId;
use crate::domain::digest::Digest;
use crate::domain::limits::{MIN_REVISION_WAIT_MAX, SELECT_HERE_MAX};
use crate::domain::menu::{Menu, SemanticState};
use crate::domain::playbook::Playbook;
use crate::domain::query::MenuQuery;
use crate::domain::revision::Revision;
use crate::domain::slug::Slug;
use crate::domain::stage::Stage;
use crate::domain::text;
use crate::engine::embed::turn::TurnVector;
use crate::engine::embed::{Embedder, ModelId};
use crate::engine::publish::SnapshotCell;
use crate::engine::scratch::Scratch;
use crate::engine::select::{select, select_embedded};
use crate::engine::snapshot::AgentIndex;
use crate::telemetry::metrics::Metrics;

/// How often it is told that the model fails, for as long as it does.
const FAILING_TOLD_SECS: u64 = 60;

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Answers menus and playbooks from the current snapshot.
#[derive(Debug)]
pub struct Reader {
    cell: Arc<SnapshotCell>,
    revisions: watch::Receiver<Revision>,
    signer: MenuSigner,
    clock: Arc<dyn Clock>,
    embedder: Arc<dyn Embedder>,
    metrics: Arc<Metrics>,
    usage: Arc<UsageCounts>,
    /// When it was last told that the model fails.
    failing_told: AtomicU64,
}

/// One turn of one agent, checked.
#[derive(Clone, Debug)]
pub struct SelectRequest {
    /// The agent.
    pub agent_id: String,
    /// The run, when the caller named one.
    pub run_id: Option<String>,
    /// The turn, when the caller named one.
    pub turn_id: Option<String>,
    /// What was asked.
    pub query: MenuQuery,
    /// The shape of the tool.
    pub tool_format: ToolFormat,
}

/// A turn's menu, ready to send.
#[derive(Clone, Debug)]
pub struct SelectAnswer {
    /// The menu.
    pub menu: Menu,
    /// Its proof.
    pub menu_token: String,
    /// The tool; none without a menu.
    pub tool: Option<Tool>,
    /// The menu as text.
    pub prompt_block: String,
    /// The digest of the menu as shown.
    pub menu_digest: Digest,
    /// Whether run state took part.
    pub runs: RunsStatus,
    /// The revision it was read from.
    pub revision: Revision,
    /// The embedding model.
    pub model_id: ModelId,
}

/// The menu of a turn that was tried.
#[derive(Clone, Debug)]
pub struct Tried {
    /// The menu, with what was considered.
    pub menu: Menu,
    /// The revision it was read from.
    pub revision: Revision,
}

/// Whether run state took part in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunsStatus {
    /// A run was named, and there is no run state.
    Unavailable,
    /// No run was named.
    NotAsked,
}

/// A playbook of a menu, asked for.
#[derive(Clone, Copy, Debug)]
pub struct LoadRequest<'a> {
    /// The proof of the menu.
    pub menu_token: &'a str,
    /// The playbook.
    pub slug: &'a str,
    /// The run that the menu was selected for.
    pub run_id: Option<&'a str>,
    /// The turn that the menu was selected for.
    pub turn_id: Option<&'a str>,
    /// Who asks.
    pub principal: &'a Principal,
}

/// A playbook, ready to send.
#[derive(Clone, Debug)]
pub struct LoadAnswer {
    /// The playbook as it is now.
    pub playbook: Arc<Playbook>,
    /// Whether it was edited after the menu was made.
    pub revised_since_menu: bool,
    /// The revision it was read from.
    pub revision: Revision,
}

impl Reader {
    /// A reader of this catalogue.
    #[must_use]
    pub fn new(catalog: &Catalog, signer: MenuSigner, clock: Arc<dyn Clock>, metrics: Arc<Metrics>) -> Self {
        let embedder = Arc::clone(catalog.embedder());
        let (cell, revisions) = (catalog.cell(), catalog.revisions());
        let (usage, failing_told) = (Arc::default(), AtomicU64::new(0));
        Self { cell, revisions, signer, clock, embedder, metrics, usage, failing_told }
    }

    /// How often playbooks are offered and loaded.
    #[must_use]
    pub fn usage(&self) -> &Arc<UsageCounts> {
        &self.usage
    }

    /// Where the times of a call's steps go.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Waits until the catalogue has reached a revision, at most until the caller's deadline and for
    /// [`MIN_REVISION_WAIT_MAX`].
    ///
    /// # Errors
    /// When it has not in time.
    pub async fn wait_for(&self, revision: Revision, deadline: Deadline) -> Result<(), Error> {
        let patience = deadline.remaining().saturating_sub(ANSWER_MARGIN).min(MIN_REVISION_WAIT_MAX);
        let mut revisions = self.revisions.clone();
        let reached = revisions.wait_for(|present| *present >= revision);
        if let Ok(Ok(_)) = tokio::time::timeout(patience, reached).await {
            Ok(())
        } else {
            let present = *self.revisions.borrow();
            let message =
                format!("the catalogue is at revision {present}, and {revision} was not reached in time");
            Err(Error::new(Reason::RevisionNotReached, message).with("revision", present.to_string()))
        }
    }

    /// The model that turns are embedded with.
    #[must_use]
    pub fn embedder(&self) -> &Arc<dyn Embedder> {
        &self.embedder
    }

    /// Whether selecting for this agent takes so long that it belongs in a [`Lane`](super::lane::Lane).
    #[must_use]
    pub fn is_long(&self, agent_id: &str) -> bool {
        let is_large = |index: &AgentIndex| index.playbooks().len() > SELECT_HERE_MAX;
        self.cell.read(|snapshot| snapshot.agent(agent_id).is_some_and(is_large))
    }

    /// Selects the menu of a turn; `turn` is its vector where a [`TurnQueue`](super::turns::TurnQueue) has made it.
    ///
    /// # Errors
    /// An unknown agent.
    pub fn select(&self, request: &SelectRequest, turn: Option<&TurnVector>) -> Result<SelectAnswer, Error> {
        let (menu, revision) = self.cell.read(|snapshot| {
            let index = snapshot.agent(&request.agent_id).ok_or_else(|| unknown_agent(&request.agent_id))?;
            Ok::<_, Error>((self.select_pooled(index, &request.query, turn), snapshot.revision()))
        })?;
        let (began, now) = (Instant::now(), self.clock.unix_secs());
        if menu.semantic == SemanticState::Unavailable {
            self.tell_failing(now);
        }
        let binding = Binding {
            agent: &request.agent_id,
            run: request.run_id.as_deref(),
            turn: request.turn_id.as_deref(),
        };
        let answer = SelectAnswer {
            menu_token: self.signer.sign(&menu, binding, now),
            tool: offer::tool(&menu, request.tool_format),
            prompt_block: offer::prompt_block(&menu),
            menu_digest: offer::menu_digest(&menu),
            runs: if request.run_id.is_some() { RunsStatus::Unavailable } else { RunsStatus::NotAsked },
            revision,
            model_id: self.embedder.about().id,
            menu,
        };
        self.metrics.stage(Stage::Sign, began.elapsed());
        self.metrics.menu(&answer.menu);
        self.usage.offered(&request.agent_id, &answer.menu.items, now);
        Ok(answer)
    }

    /// Tries a turn, for whoever wants to know what becomes of it: nothing is signed or counted.
    ///
    /// # Errors
    /// An unknown agent.
    pub async fn try_turn(&self, agent: AgentId, query: MenuQuery) -> Result<Tried, Error> {
        let cell = Arc::clone(&self.cell);
        let tried = move || {
            cell.read(|snapshot| {
                let index = snapshot.agent(agent.as_str()).ok_or_else(|| unknown_agent(agent.as_str()))?;
                let menu = select(index, &query, &mut Scratch::default());
                Ok(Tried { menu, revision: snapshot.revision() })
            })
        };
        tokio::task::spawn_blocking(tried).await.expect("a selection does not panic")
    }

    /// Loads a playbook from a menu that was offered.
    ///
    /// # Errors
    /// A token that does not hold, a slug that is not on its menu, a playbook that was withdrawn since.
    pub fn load(&self, request: LoadRequest<'_>) -> Result<LoadAnswer, Error> {
        if request.slug.is_empty() {
            return Err(Error::field("slug", "is empty: send one of the menu's slugs"));
        }
        let now = self.clock.unix_secs();
        let claims = self.signer.verify(request.menu_token, request.run_id, request.turn_id, now)?;
        request.principal.check(Right::Use(&claims.agent))?;
        let offered = offered_digest(&claims, request.slug)?;
        let slug = Slug::parse(request.slug).map_err(|error| Error::field("slug", error))?;
        let answer = self.cell.read(|snapshot| {
            let index = snapshot.agent(&claims.agent).ok_or_else(|| unknown_agent(&claims.agent))?;
            let playbook = index.playbook(&slug).ok_or_else(|| withdrawn(&slug))?;
            Ok::<_, Error>(LoadAnswer {
                playbook: Arc::clone(playbook),
                revised_since_menu: *playbook.digest().bytes() != offered,
                revision: snapshot.revision(),
            })
        })?;
        self.usage.loaded(&claims.agent, &slug, now);
        Ok(answer)
    }

    /// Says in the log that menus are made without the semantic pass: to whoever looks at empty menus, that may look like
    /// turns that nothing fits.
    fn tell_failing(&self, now: u64) {
        let told = self.failing_told.load(Ordering::Relaxed);
        let is_due = now.saturating_sub(told) >= FAILING_TOLD_SECS;
        if is_due
            && self.failing_told.compare_exchange(told, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        {
            warn!("the embedding model fails or is late: menus are made of triggers and words alone");
        }
    }

    /// Selects with this thread's scratch.
    fn select_pooled(&self, index: &AgentIndex, query: &MenuQuery, turn: Option<&TurnVector>) -> Menu {
        SCRATCH.with_borrow_mut(|scratch| {
            let menu = match turn {
                Some(turn) => select_embedded(index, query, turn, scratch),
                None => select(index, query, scratch),
            };
            for (stage, time) in scratch.stopwatch.spent() {
                self.metrics.stage(stage, time);
            }
            menu
        })
    }
}

/// The digest under which the slug was offered.
fn offered_digest(claims: &Claims, slug: &str) -> Result<[u8; 32], Error> {
    if let Some((_, digest)) = claims.items.iter().find(|(offered, _)| offered == slug) {
        return Ok(*digest);
    }
    let slugs: Vec<&str> = claims.items.iter().map(|(slug, _)| slug.as_str()).collect();
    let shown = text::escaped(slug, 80);
    let message = if slugs.is_empty() {
        format!("\"{shown}\" is not on the menu: it is empty")
    } else {
        format!("\"{shown}\" is not on the menu; it offers {}", slugs.join(", "))
    };
    Err(Error::new(Reason::SlugNotOnMenu, message).with("slugs", slugs.join(",")))
}

fn withdrawn(slug: &Slug) -> Error {
    let message = format!("the playbook \"{slug}\" was withdrawn after the menu was made; select a new menu");
    Error::new(Reason::PlaybookWithdrawn, message)
}
