//! Reads under continuous publishes: each answer comes from exactly one revision.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use maitred::app::auth::Gatekeeper;
use maitred::app::catalog::Catalog;
use maitred::app::offer::ToolFormat;
use maitred::app::ports::SystemClock;
use maitred::app::read::{LoadRequest, Reader, SelectRequest};
use maitred::app::token::MenuSigner;
use maitred::domain::agent::{AgentId, AgentSettings};
use maitred::domain::playbook::{Playbook, PlaybookParts};
use maitred::domain::query::MenuQuery;
use maitred::domain::revision::Revision;
use maitred::engine::publish::{SnapshotCell, StaleSnapshot};
use maitred::engine::snapshot::Snapshot;

use crate::fixture::{build, parts};

const REVISIONS: u64 = 300;

/// Six playbooks that each say in title, description and body which revision they belong to.
fn playbooks_of(revision: u64) -> Vec<Arc<Playbook>> {
    let one = |number: u64| {
        let mark = format!("revision {revision}");
        build(PlaybookParts {
            title: Some(mark.clone()),
            body: mark.clone(),
            triggers: vec!["go".to_owned()],
            ..parts(&format!("p{number}"), &mark)
        })
    };
    (0..6).map(one).collect()
}

/// CASES 2.26: never half a skill.
#[test]
fn each_answer_has_one_revision() {
    let catalog = Catalog::new(maitred::engine::embed::builtin::model());
    let agent = AgentId::default_agent();
    let publish = |revision| {
        let published = catalog.replace(&agent, playbooks_of(revision), AgentSettings::default()).unwrap();
        assert_eq!(published, Revision::new(revision));
    };
    publish(1);
    let signer = MenuSigner::random(Duration::from_mins(1)).unwrap();
    let reader = Reader::new(&catalog, signer, Arc::new(SystemClock), Arc::default());
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let readers: Vec<_> = (0..3).map(|_| scope.spawn(|| read_until(&reader, &done))).collect();
        (2..=REVISIONS).for_each(publish);
        done.store(true, Ordering::Release);
        for reader in readers {
            let (answers, last) = reader.join().unwrap();
            assert!(answers > 0 && last == Revision::new(REVISIONS), "{answers} answers, the last at {last}");
        }
    });
}

/// Reads until the writer is done, and once more; checks that revisions never go back and answers are of one piece.
fn read_until(reader: &Reader, done: &AtomicBool) -> (u64, Revision) {
    let request = SelectRequest {
        agent_id: "default".to_owned(),
        run_id: None,
        turn_id: None,
        query: MenuQuery::new("go").unwrap(),
        tool_format: ToolFormat::Neutral,
    };
    let (mut answers, mut last) = (0, Revision::default());
    loop {
        let is_last = done.load(Ordering::Acquire);
        let answer = reader.select(&request, None).unwrap();
        let mark = format!("revision {}", answer.revision);
        assert_eq!(answer.menu.items.len(), 6);
        assert!(
            answer.menu.items.iter().all(|item| item.title == mark && item.description == mark),
            "{answer:?}"
        );
        assert!(answer.revision >= last, "{} after {last}", answer.revision);
        last = answer.revision;
        let load = LoadRequest {
            menu_token: &answer.menu_token,
            slug: "p3",
            run_id: None,
            turn_id: None,
            principal: &Gatekeeper::default().anyone(),
        };
        let loaded = reader.load(load).unwrap();
        assert_eq!(loaded.playbook.body(), format!("revision {}", loaded.revision));
        assert_eq!(loaded.revised_since_menu, loaded.revision > answer.revision);
        last = last.max(loaded.revision);
        answers += 1;
        if is_last {
            return (answers, last);
        }
    }
}

#[test]
fn an_unchanged_catalogue_keeps_its_revision_and_an_old_snapshot_is_refused() {
    let catalog = Catalog::new(maitred::engine::embed::builtin::model());
    let agent = AgentId::default_agent();
    let replace = |playbooks| catalog.replace(&agent, playbooks, AgentSettings::default()).unwrap();
    assert_eq!(replace(playbooks_of(1)), Revision::new(1));
    let mut reversed = playbooks_of(1);
    reversed.reverse();
    assert_eq!(replace(reversed), Revision::new(1));
    assert_eq!(replace(playbooks_of(2)), Revision::new(2));

    let cell = SnapshotCell::new();
    let stale = StaleSnapshot { current: Revision::default(), offered: Revision::default() };
    assert_eq!(cell.publish(Snapshot::default()), Err(stale));
}
