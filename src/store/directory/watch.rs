//! Keeps a directory's playbooks current while it changes.
//!
//! File events say when to look; the walk says what is there. A slow poll closes the gaps that events have (a directory
//! made and filled at once, a network mount). **Threads**: one, named `watch`; it ends with its [`Watch`].

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use super::{Directory, DirectoryError, Refresh};

/// How long to wait for more events after one: an editor's save is several.
const SETTLE: Duration = Duration::from_millis(50);

/// How long a stream of events may put off the look.
const SETTLE_MAX: Duration = Duration::from_millis(250);

/// When to look again after a change, for what happened during the look.
const SECOND_LOOK: Duration = Duration::from_millis(300);

/// How often to look whether a directory is still the one that is watched: a link to it may lead elsewhere now.
const ROOTS_LOOK: Duration = Duration::from_millis(500);

/// How often to look without any event.
const POLL: Duration = Duration::from_secs(30);

/// How often to look where there are no events, or the directory cannot be read.
const POLL_BLIND: Duration = Duration::from_millis(500);

/// Messages that may wait; when there are more, everything is looked at anyway.
const MESSAGES_MAX: usize = 4_096;

enum Message {
    Changed(Vec<PathBuf>),
    Stop,
}

/// A watched directory; dropping it ends the watching.
#[derive(Debug)]
pub struct Watch {
    sender: SyncSender<Message>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        // A thread that has ended is not there to hear it.
        let _ = self.sender.send(Message::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Calls `on_change` with each refresh of `directory`, and with each failure of one. The first refresh was the caller's.
///
/// # Errors
/// When the system cannot start a thread.
pub fn watch(
    directory: Directory,
    on_change: impl FnMut(Result<Refresh, DirectoryError>) + Send + 'static,
    on_blind: impl Fn(&str) + Send + 'static,
) -> std::io::Result<Watch> {
    let (sender, messages) = sync_channel(MESSAGES_MAX);
    let events = sender.clone();
    let spawned = thread::Builder::new().name("watch".to_owned()).spawn(move || {
        let mut eyes = Eyes::open(&directory, events, Box::new(on_blind));
        follow(directory, &messages, &mut eyes, on_change);
    });
    Ok(Watch { sender, thread: Some(spawned?) })
}

fn follow(
    mut directory: Directory,
    messages: &Receiver<Message>,
    eyes: &mut Eyes,
    mut on_change: impl FnMut(Result<Refresh, DirectoryError>),
) {
    // What changed between the first refresh and the first event is found by an early look.
    let mut next_look = Instant::now() + SECOND_LOOK;
    loop {
        let mut dirty = BTreeSet::new();
        let patience = next_look.saturating_duration_since(Instant::now()).min(ROOTS_LOOK);
        let changed = match messages.recv_timeout(patience) {
            Ok(Message::Changed(paths)) => {
                dirty.extend(paths);
                if !settle(messages, &mut dirty) {
                    return;
                }
                true
            }
            Err(RecvTimeoutError::Timeout) => eyes.are_roots_exchanged(&directory),
            Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => return,
        };
        if !changed && Instant::now() < next_look {
            continue;
        }
        eyes.follow_roots(&directory);
        let refresh = directory.refresh(&dirty);
        let failed = matches!(refresh, Err(DirectoryError::Discover(_)));
        let pause = if failed || eyes.is_blind() {
            POLL_BLIND
        } else if changed {
            SECOND_LOOK
        } else {
            POLL
        };
        next_look = Instant::now() + pause;
        on_change(refresh);
    }
}

/// Takes in the events that belong together. False when it is time to stop.
fn settle(messages: &Receiver<Message>, dirty: &mut BTreeSet<PathBuf>) -> bool {
    let deadline = Instant::now() + SETTLE_MAX;
    while let Some(left) = deadline.checked_duration_since(Instant::now()) {
        match messages.recv_timeout(SETTLE.min(left)) {
            Ok(Message::Changed(paths)) => dirty.extend(paths),
            Err(RecvTimeoutError::Timeout) => return true,
            Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
    true
}

/// The system's file events for the directories, renewed when another directory takes the place of a watched one.
struct Eyes {
    watcher: Option<RecommendedWatcher>,
    on_blind: Box<dyn Fn(&str) + Send>,
    roots: Vec<Option<(u64, u64)>>,
}

impl Eyes {
    fn open(directory: &Directory, events: SyncSender<Message>, on_blind: Box<dyn Fn(&str) + Send>) -> Self {
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            let paths = match event {
                Ok(event) if matches!(event.kind, EventKind::Access(_)) => return,
                Ok(event) => event.paths,
                Err(_) => Vec::new(),
            };
            // When the queue is full a look is due anyway; the stamps tell what changed.
            let _ = events.try_send(Message::Changed(paths));
        });
        let mut eyes = Self { watcher: None, on_blind, roots: vec![None; directory.roots().len()] };
        match watcher {
            Ok(watcher) => eyes.watcher = Some(watcher),
            Err(error) => (eyes.on_blind)(&error.to_string()),
        }
        eyes.follow_roots(directory);
        eyes
    }

    fn is_blind(&self) -> bool {
        self.watcher.is_none()
    }

    /// Whether another directory stands where a watched one stood.
    fn are_roots_exchanged(&self, directory: &Directory) -> bool {
        directory.roots().iter().zip(&self.roots).any(|(root, watched)| id_of(root) != *watched)
    }

    /// Watches each root that is not the directory that was watched there. One that cannot be watched ends the
    /// watching: from then on the poll finds what changed.
    fn follow_roots(&mut self, directory: &Directory) {
        let Some(watcher) = self.watcher.as_mut() else { return };
        for (root, watched) in directory.roots().iter().zip(&mut self.roots) {
            let present = id_of(root);
            if present == *watched {
                continue;
            }
            // There is nothing to unwatch the first time, or when the old directory is gone.
            let _ = watcher.unwatch(root);
            *watched = present;
            if present.is_some()
                && let Err(error) = watcher.watch(root, RecursiveMode::Recursive)
            {
                (self.on_blind)(&error.to_string());
                self.watcher = None;
                return;
            }
        }
    }
}

/// What tells one directory from another; none when there is none.
fn id_of(root: &Path) -> Option<(u64, u64)> {
    fs::metadata(root).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}
