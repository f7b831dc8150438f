//! What an operator may look at while the server runs.

use std::sync::Arc;

use super::admit::Admission;
use crate::engine::publish::SnapshotCell;
use crate::telemetry::metrics::{Facts, Metrics};

/// Gathers what is counted with what can be looked up.
#[derive(Debug)]
pub struct Observer {
    metrics: Arc<Metrics>,
    admission: Arc<Admission>,
    cell: Arc<SnapshotCell>,
}

impl Observer {
    /// An observer of one server.
    #[must_use]
    pub fn new(metrics: Arc<Metrics>, admission: Arc<Admission>, cell: Arc<SnapshotCell>) -> Self {
        Self { metrics, admission, cell }
    }

    /// The metrics, in Prometheus' text format.
    #[must_use]
    pub fn metrics(&self) -> String {
        let (queued, in_flight) = (self.admission.queued(), self.admission.in_flight());
        let reaper_backlog = self.cell.reaper_backlog();
        let facts = self.cell.read(|snapshot| Facts {
            revision: snapshot.revision().number(),
            snapshot_age: snapshot.age(),
            reaper_backlog,
            agent_count: snapshot.agent_count(),
            playbook_count: snapshot.playbook_count(),
            queued,
            in_flight,
        });
        self.metrics.render(&facts)
    }
}
