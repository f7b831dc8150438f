//! Maitred is a selection engine for Agent Skills. Before every turn an agent orchestrator asks it which few of an
//! agent's playbooks deserve a line in the prompt, and fetches the one that the model picks.
//!
//! # Words
//! A *playbook* is a skill that an *agent* owns; a *menu* is what one *turn* is offered; a *run* is one conversation; a
//! *pack* holds curated playbooks of the *library*; a *snapshot* is the immutable index at a *revision*, the
//! catalogue's one ever-growing version number.
//!
//! # Code map
//! Dependencies point one way: each part may name those before it (`tests/it/tidy.rs` checks it).
//!
//! | part | what it is |
//! |---|---|
//! | [`domain`] | values valid by construction, and every limit of the system |
//! | [`compute`] | the pool for CPU work in parallel |
//! | [`mod@format`] | SKILL.md to [`domain::playbook::Playbook`]: the one parser for every way in |
//! | [`engine`] | the data plane: snapshot, builder, the cell, the embedding ([`engine::embed`]), and [`engine::select`], the hot path |
//! | [`app`] | use cases: [`app::read`] (select, load), [`app::catalog`] (the one writer), tokens, errors; owns the ports |
//! | [`store`] | where playbooks come from: a watched directory; and where a model of one's own does |
//! | [`transport`] | the doors: gRPC and HTTP, thin adapters over `app` and its error table; and [`transport::connection`], which bounds them |
//! | [`telemetry`] | logs; metrics, every name and label of them |
//! | [`config`], [`server`], [`cli`] | wiring |
//!
//! # Invariants
//! - One snapshot behind one cell; every answer is read from exactly one, and its revision says which.
//! - What a caller can make the server keep or do is bounded, and beyond it the call is refused at once, health excepted.
//! - A reader never waits and never frees a snapshot; a writer builds first and publishes then.
//! - Equal input at one revision gives byte-equal output, the signed token aside.
//! - Nothing is dropped in silence: it is counted (`omitted`), named (a diagnostic) or refused (a reason).
//! - A vector belongs to a model and a text; vectors of two models never meet. Equal text has an equal vector.
//! - What only our own bug can break is asserted; what the world can break is a `Result`.
//!
//! # The route of one `SelectMenu`
//! 1. [`transport::connection`] reads the frames. `transport/grpc/service.rs` takes a place in the queue ([`app::admit`]) and
//!    notes the deadline; `receive.rs` waits for the whole message; `call.rs` answers in time whatever becomes of the work, and counts.
//! 2. `transport/grpc/menu.rs` takes a permit; `convert` makes a [`domain::query::MenuQuery`] or names the field.
//! 3. [`app::read::Reader::select`] takes its only look at the cell ([`engine::publish::SnapshotCell::read`]).
//! 4. [`engine::select::select`]: embed, fold, triggers, BM25, nearest, judge (the numbers are in [`engine::calibration`]), compose; ordinals inside, slugs at the end.
//!    Where the model takes milliseconds, [`app::turns`] has embedded the turn before, with others that came with it.
//! 5. [`app::offer`] renders block and tool, [`app::token`] signs, `convert` makes the message.
//!
//! # The route of one edit
//! 1. [`store::directory`] sees the event, walks, and reads what changed through [`format::parse::parse`]; a broken
//!    file keeps its last good version.
//!    Or an owner sends it over HTTP: `transport/http/api`, then [`app::owner`], which takes it through the same gate
//!    ([`format::gate`]). Either is a commit of the store first ([`app::ports::store`], kept by [`store::sqlite`]), durable before
//!    anybody hears of it, and that gives the revision.
//! 2. [`app::catalog::Catalog::follow`], one at a time: [`engine::builder::Builder::build`] on the compute pool, for the agents that changed.
//!    [`engine::content`] embeds and counts what is new alone; [`engine::nearest`] makes byte codes for thousands of playbooks and a graph for very many.
//! 3. [`engine::publish::SnapshotCell::publish`] refuses what is not newer, swaps once, and hands the old snapshot to
//!    the reaper.
//! 4. `server/rivals.rs`, beside the calls: says which of the agent's playbooks get in each other's way.
//!
//! # Example
//! ```
//! use maitred::domain::agent::AgentSettings;
//! use maitred::domain::query::MenuQuery;
//! use maitred::engine::builder::{Builder, Circumstances};
//! use maitred::engine::{scratch::Scratch, select::select};
//!
//! let playbooks = maitred::app::packs::starter_playbooks();
//! let built = Builder::default().build(playbooks, AgentSettings::default(), Circumstances::default())?;
//! let menu = select(&built.index, &MenuQuery::new("the customer wants a refund")?, &mut Scratch::default());
//! assert_eq!(menu.items[0].slug.as_str(), "refund-request");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod domain;

pub mod compute;

pub mod engine;
pub mod format;

pub mod app;

pub mod store;
pub mod transport;

pub mod config;
pub mod telemetry;

pub mod cli;
pub mod server;
