//! Turns to vectors where the model takes milliseconds: turns that arrive together are embedded together.
//!
//! **Invariants**: a turn waits at most [`EMBED_WAIT_MAX`]; one that has no vector by then is answered without, and the
//! answer says so. **Threads**: one task waits for turns; the model computes on the compute pool.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tracing::warn;

use super::admit::{ANSWER_MARGIN, Deadline};
use crate::domain::limits::{EMBED_QUEUE_MAX, EMBED_WAIT_MAX};
use crate::domain::query::MenuQuery;
use crate::engine::embed::turn::{Outcome, TurnVector, pieces};
use crate::engine::embed::{EmbedError, Embedder, Vector};

/// Turns of one batch at most.
const BATCH_TURNS_MAX: usize = 32;

/// Embeds turns, in batches.
#[derive(Debug)]
pub struct TurnQueue {
    embedder: Arc<dyn Embedder>,
    /// None when the model is immediate: each turn is embedded where it is answered.
    waiting: Option<mpsc::Sender<Waiting>>,
}

/// The pieces of a turn, and who waits for them.
#[derive(Debug)]
struct Waiting {
    texts: Vec<String>,
    answer: oneshot::Sender<Result<Vec<Option<Vector>>, EmbedError>>,
}

impl TurnQueue {
    /// A queue for this model. For a slow one, call it within a runtime.
    #[must_use]
    pub fn new(embedder: Arc<dyn Embedder>) -> Self {
        if embedder.is_immediate() {
            return Self { embedder, waiting: None };
        }
        let (waiting, arrivals) = mpsc::channel(EMBED_QUEUE_MAX);
        tokio::spawn(embed_batches(Arc::clone(&embedder), arrivals));
        Self { embedder, waiting: Some(waiting) }
    }

    /// The vector of a turn; none when the model is immediate. Waits until the caller's deadline at most.
    pub async fn embed(&self, query: &MenuQuery, deadline: Deadline) -> Option<TurnVector> {
        let waiting = self.waiting.as_ref()?;
        if !self.embedder.about().scripts.most_of(query.turn()) {
            return Some(TurnVector::without(Outcome::ScriptNotCovered));
        }
        let (answer, answered) = oneshot::channel();
        let texts = pieces(query).map(|(text, _)| text.to_owned()).collect();
        if waiting.try_send(Waiting { texts, answer }).is_err() {
            return Some(TurnVector::without(Outcome::Failed));
        }
        let patience = deadline.remaining().saturating_sub(ANSWER_MARGIN).min(EMBED_WAIT_MAX);
        match tokio::time::timeout(patience, answered).await {
            Ok(Ok(vectors)) => Some(TurnVector::of_pieces(&*self.embedder, query, vectors)),
            _ => Some(TurnVector::without(Outcome::Failed)),
        }
    }
}

/// Embeds what waits, as much at a time as has arrived meanwhile, until the queue is dropped.
async fn embed_batches(embedder: Arc<dyn Embedder>, mut arrivals: mpsc::Receiver<Waiting>) {
    let mut batch = Vec::with_capacity(BATCH_TURNS_MAX);
    while arrivals.recv_many(&mut batch, BATCH_TURNS_MAX).await > 0 {
        // Whoever has given up waiting needs no vector.
        let wanted: Vec<Waiting> = batch.drain(..).filter(|turn| !turn.answer.is_closed()).collect();
        let embedder = Arc::clone(&embedder);
        let done = tokio::task::spawn_blocking(move || embed_batch(&*embedder, wanted)).await;
        if let Err(error) = done {
            warn!(%error, "embedding turns failed");
        }
    }
}

fn embed_batch(embedder: &dyn Embedder, batch: Vec<Waiting>) {
    let texts: Vec<&str> = batch.iter().flat_map(|turn| turn.texts.iter().map(String::as_str)).collect();
    let mut vectors = embedder.embed(&texts);
    if let Err(error) = &vectors {
        warn!(%error, "embedding turns failed");
    }
    for turn in batch {
        let own = vectors.as_mut().map(|all| all.drain(..turn.texts.len()).collect());
        // Whoever has given up waiting needs no vector.
        let _ = turn.answer.send(own.map_err(|error| error.clone()));
    }
}
