//! What is to be expected of a set of playbooks on menus: which fire where they should not, which cannot be told apart,
//! which do not find themselves. What can be said of one file alone, such as that a trigger is too short, the parser says.
//!
//! **Cost**: a selection a neutral turn and one a playbook, and a cosine a pair of playbooks.

pub mod rivals;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crate::domain::agent::AgentSettings;
use crate::domain::limits::MENU_ITEMS_MAX;
use crate::domain::menu::{Exclusion, Menu, Reason};
use crate::domain::playbook::Playbook;
use crate::domain::query::MenuQuery;
use crate::domain::slug::Slug;
use crate::domain::text::{escaped, fold};
use crate::domain::words::NEUTRAL_TURNS;
use crate::engine::builder::{Builder, Circumstances};
use crate::engine::scratch::Scratch;
use crate::engine::select::select;
use crate::engine::snapshot::AgentIndex;
use crate::engine::terms;
use crate::engine::trigger::TooManyTriggers;

/// The share of neutral turns from which on a playbook or a trigger fires too often. Of the library's playbooks the one about
/// meetings fires most, on 2%: the turns are about office life, and one in sixty speaks of a meeting.
pub const NEUTRAL_SHARE_MAX: f64 = 0.03;

/// Distinct terms below which a description says nothing.
pub const DESCRIPTION_TERMS_MIN: usize = 5;

/// The cosine from which on the author should say how two playbooks differ. Half a step below where they become one line:
/// among 443 public skills of three sets four pairs reach it.
pub const ALIKE_COSINE: f32 = 0.93;

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Lint {
    /// How many neutral turns were asked.
    pub neutral_turns: usize,
    /// In slug order.
    pub playbooks: Vec<PlaybookLint>,
}

/// What was found of one playbook.
#[derive(Clone, Debug, PartialEq)]
pub struct PlaybookLint {
    /// Which one.
    pub slug: Slug,
    /// The share of neutral turns on which it qualifies for the menu.
    pub neutral_share: f64,
    /// Sentences, each with what to do.
    pub warnings: Vec<String>,
}

/// Looks at playbooks as one agent's. Names are distinct. `progress` is told how many turns of how many are asked.
///
/// # Errors
/// When the triggers are too many for one index.
pub fn lint(
    playbooks: Vec<Arc<Playbook>>,
    settings: AgentSettings,
    builder: &Builder,
    progress: &dyn Fn(usize, usize),
) -> Result<Lint, TooManyTriggers> {
    let index = builder.build(playbooks, settings, Circumstances::default())?.index;
    let neutral: Vec<&str> = NEUTRAL_TURNS.lines().collect();
    let steps = neutral.len() + index.playbooks().len();
    let mut scratch = Scratch::default();
    let mut fired = Fired::default();
    for (done, turn) in neutral.iter().enumerate() {
        if let Some(menu) = ask(&index, turn, &mut scratch) {
            fired.add(&menu);
        }
        progress(done, steps);
    }
    let mut alike: HashMap<Slug, Vec<String>> = HashMap::new();
    for (one, other) in index.alike(ALIKE_COSINE) {
        let told = |other: &Slug| {
            format!("can hardly be told from {other}; say in both descriptions how they differ")
        };
        alike.entry(one.clone()).or_default().push(told(&other));
        alike.entry(other).or_default().push(told(&one));
    }
    let count = share_of(neutral.len());
    let mut found = Vec::with_capacity(index.playbooks().len());
    for (done, playbook) in index.playbooks().enumerate() {
        let slug = playbook.slug().clone();
        let neutral_share = count(fired.playbooks.get(&slug).copied().unwrap_or(0));
        let mut warnings = of_triggers(playbook, &fired, &count);
        if neutral_share > NEUTRAL_SHARE_MAX {
            let percent = neutral_share * 100.0;
            warnings.push(format!(
                "fires on {percent:.1}% of neutral turns; make its triggers and description narrower"
            ));
        }
        warnings.extend(of_description(playbook));
        warnings.extend(alike.remove(&slug).unwrap_or_default());
        warnings.extend(of_rivals(&index, playbook, &mut scratch));
        found.push(PlaybookLint { slug, neutral_share, warnings });
        progress(neutral.len() + done, steps);
    }
    Ok(Lint { neutral_turns: neutral.len(), playbooks: found })
}

/// How often each playbook qualified, and each trigger matched.
#[derive(Default)]
struct Fired {
    playbooks: HashMap<Slug, usize>,
    triggers: BTreeMap<(Slug, String), usize>,
}

impl Fired {
    fn add(&mut self, menu: &Menu) {
        for item in &menu.items {
            if let Reason::Trigger { matched, .. } = &item.reason {
                for trigger in matched {
                    *self.triggers.entry((item.slug.clone(), trigger.clone())).or_default() += 1;
                }
            }
        }
        let offered = menu.items.iter().filter(|item| item.reason != Reason::AlwaysOn).map(|item| &item.slug);
        let cut = menu.considered.iter().filter(|c| c.exclusion == Exclusion::NoPlace).map(|c| &c.slug);
        for slug in offered.chain(cut) {
            *self.playbooks.entry(slug.clone()).or_default() += 1;
        }
    }
}

/// None for a text that is no turn.
fn ask(index: &AgentIndex, turn: &str, scratch: &mut Scratch) -> Option<Menu> {
    let query = MenuQuery::new(turn).ok()?.with_limit(MENU_ITEMS_MAX).ok()?.with_explain(true);
    Some(select(index, &query, scratch))
}

fn of_triggers(playbook: &Playbook, fired: &Fired, share: &dyn Fn(usize) -> f64) -> Vec<String> {
    let mut warnings = Vec::new();
    for trigger in playbook.triggers() {
        let shown = escaped(trigger, 60);
        let times = fired.triggers.get(&(playbook.slug().clone(), trigger.clone())).copied().unwrap_or(0);
        if share(times) > NEUTRAL_SHARE_MAX {
            let percent = share(times) * 100.0;
            warnings.push(format!(
                "the trigger \"{shown}\" is in {percent:.1}% of neutral turns; write a longer phrase"
            ));
        }
    }
    warnings
}

fn of_description(playbook: &Playbook) -> Option<String> {
    let mut distinct = HashSet::new();
    terms::for_each(&fold(playbook.description()), |term| {
        distinct.insert(term.to_owned());
    });
    (distinct.len() < DESCRIPTION_TERMS_MIN).then(|| {
        "its description says almost nothing; say what it does and when to use it, in words of its subject".to_owned()
    })
}

fn of_rivals(index: &AgentIndex, playbook: &Playbook, scratch: &mut Scratch) -> Option<String> {
    let instead = rivals::named(&rivals::outranked_by(index, playbook, scratch)?);
    Some(format!("its own description does not select it; {instead} comes instead: say what it alone does"))
}

#[expect(clippy::cast_precision_loss, reason = "a number of turns")]
fn share_of(turns: usize) -> impl Fn(usize) -> f64 {
    move |count| count as f64 / turns.max(1) as f64
}
