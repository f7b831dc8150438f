//! One turn after another: what its menu is, with the floor and without.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use indicatif::ProgressBar;
use serde::Serialize;

use super::data::{self, Labelled};
use crate::domain::agent::{AgentSettings, StrayShare, Untriggered};
use crate::domain::menu::{Menu, MenuItem};
use crate::domain::playbook::Playbook;
use crate::engine::builder::{Builder, Circumstances};
use crate::engine::relevance::Evidence;
use crate::engine::scratch::Scratch;
use crate::engine::select::{examine, select};
use crate::engine::snapshot::AgentIndex;

/// The places that hits are counted in.
const PLACES: [usize; 3] = [1, 3, 6];

/// Bins of the calibration error.
const BINS: usize = 10;

/// What turns are asked of.
pub(in crate::cli) struct Bench {
    pub(in crate::cli) builder: Builder,
    pub(in crate::cli) playbooks: Vec<Arc<Playbook>>,
    pub(in crate::cli) pool: Option<usize>,
    pub(in crate::cli) seed: u64,
    pub(in crate::cli) stray_share: StrayShare,
}

/// What came of a turn.
#[expect(clippy::struct_excessive_bools, reason = "what is so and what is not, counted one by one")]
pub(in crate::cli) struct Measured {
    pub(in crate::cli) names_skill: bool,
    pub(in crate::cli) kind: Option<Arc<str>>,
    in_scope: bool,
    /// Whether it has playbooks that should not come first, and whether one did.
    near_miss: Option<bool>,
    /// How many playbooks come before the first right one, by the ranking and by each kind of evidence alone.
    place: usize,
    place_lexical: usize,
    place_semantic: usize,
    /// Whether a right one is on the menu of the default limit, without a floor and with it.
    unfloored: bool,
    kept: bool,
    /// Lines of the menu.
    items: usize,
    /// The probability of each line of the unfloored menu, and whether it is right.
    stated: Vec<(f64, bool)>,
    us: f64,
}

/// A catalogue: the places of its playbooks, ascending, and their indexes with the floor and without.
pub(in crate::cli) struct Catalogue {
    pub(in crate::cli) places: Vec<usize>,
    floored: AgentIndex,
    pub(in crate::cli) open: AgentIndex,
}

impl Bench {
    pub(in crate::cli) fn measure(&self, labelled: &[Labelled]) -> Result<Vec<Measured>, String> {
        let bar = ProgressBar::new(labelled.len() as u64);
        let mut measured = Vec::with_capacity(labelled.len());
        self.for_each(labelled, &mut |turn, catalogue, scratch| {
            measured.push(ask(catalogue, turn, scratch)?);
            bar.inc(1);
            Ok(())
        })?;
        bar.finish_and_clear();
        Ok(measured)
    }

    /// Gives each turn with the catalogue that it is asked of: that of all playbooks, or a random one that holds its own.
    pub(in crate::cli) fn for_each<'a>(
        &self,
        labelled: impl IntoIterator<Item = &'a Labelled> + Clone,
        visit: &mut dyn FnMut(&'a Labelled, &Catalogue, &mut Scratch) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut scratch = Scratch::default();
        if self.pool.is_none_or(|pool| pool >= self.playbooks.len()) {
            let whole = self.catalogue((0..self.playbooks.len()).collect())?;
            return labelled.into_iter().try_for_each(|turn| visit(turn, &whole, &mut scratch));
        }
        let held = labelled.clone().into_iter().filter(|turn| !turn.is_out_of_scope()).map(Labelled::held);
        let held: Vec<Vec<usize>> = held.collect();
        // Turns out of scope are asked of catalogues as the others are.
        let mut others = held.iter().cycle();
        let mut random = Random(self.seed);
        for turn in labelled {
            let own =
                if turn.is_out_of_scope() { others.next().cloned().unwrap_or_default() } else { turn.held() };
            visit(turn, &self.draw(&own, &mut random)?, &mut scratch)?;
        }
        Ok(())
    }

    /// A random catalogue that holds these playbooks.
    fn draw(&self, held: &[usize], random: &mut Random) -> Result<Catalogue, String> {
        let size = self.pool.unwrap_or(usize::MAX).min(self.playbooks.len());
        let mut places: BTreeSet<usize> = held.iter().copied().collect();
        while places.len() < size {
            places.insert(random.below(self.playbooks.len()));
        }
        self.catalogue(places.into_iter().collect())
    }

    fn catalogue(&self, places: Vec<usize>) -> Result<Catalogue, String> {
        let build = |stray_share| {
            let playbooks = places.iter().map(|at| Arc::clone(&self.playbooks[*at])).collect();
            let settings =
                AgentSettings { untriggered: Untriggered::Ranked, stray_share, ..AgentSettings::default() };
            let built = self.builder.build(playbooks, settings, Circumstances::default());
            built.map(|built| built.index).map_err(|error| error.to_string())
        };
        let (floored, open) = (build(self.stray_share)?, build(StrayShare::ALL)?);
        Ok(Catalogue { places, floored, open })
    }
}

fn ask(catalogue: &Catalogue, turn: &Labelled, scratch: &mut Scratch) -> Result<Measured, String> {
    let began = Instant::now();
    let menu = select(&catalogue.floored, &turn.query, scratch);
    let us = began.elapsed().as_secs_f64() * 1e6;
    let open = select(&catalogue.open, &turn.query, scratch);
    let six = turn.query.clone().with_limit(PLACES[2]).map_err(|error| error.message)?;
    let ranking = select(&catalogue.open, &six, scratch);
    let is_right = |item: &MenuItem| data::place(&item.slug).is_some_and(|at| turn.relevant.contains(&at));
    let (all, _) = examine(&catalogue.open, &turn.query, scratch);
    let relevant: Vec<usize> =
        turn.relevant.iter().filter_map(|at| catalogue.places.binary_search(at).ok()).collect();
    let offered = |menu: &Menu| menu.items.iter().any(is_right);
    let stated: Vec<(f64, bool)> =
        ranking.items.iter().map(|item| (item.scores.probability, is_right(item))).collect();
    let first = ranking.items.first().and_then(|item| data::place(&item.slug));
    let near_miss = (!turn.negative.is_empty()).then(|| first.is_some_and(|at| turn.negative.contains(&at)));
    Ok(Measured {
        names_skill: turn.names_skill,
        kind: turn.kind.clone(),
        in_scope: !turn.relevant.is_empty(),
        near_miss,
        place: stated.iter().position(|(_, right)| *right).unwrap_or(usize::MAX),
        place_lexical: place(&all, &relevant, |evidence| f64::from(evidence.bm25)),
        place_semantic: place(&all, &relevant, |e| e.near.map_or(-1.0, |near| f64::from(near.cosine))),
        unfloored: offered(&open),
        kept: offered(&menu),
        items: menu.items.len(),
        stated,
        us,
    })
}

/// How many playbooks come before the first right one, equal ones in the order of their slugs.
fn place(all: &[Evidence], relevant: &[usize], key: fn(&Evidence) -> f64) -> usize {
    let before = |at: &usize| {
        let own = key(&all[*at]);
        let better = |(other, evidence): (usize, &Evidence)| {
            let score = key(evidence);
            score > own || (score.total_cmp(&own).is_eq() && other < *at)
        };
        all.iter().enumerate().filter(|other| better(*other)).count()
    };
    relevant.iter().map(before).min().unwrap_or(usize::MAX)
}

/// Numbers that only look random, the same ones for a seed (`SplitMix64`; Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % count.max(1) as u64).unwrap_or(0)
    }
}

/// The figures of some turns. Shares of nothing are null.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct Figures {
    pub(in crate::cli) in_scope: usize,
    pub(in crate::cli) out_of_scope: usize,
    pub(in crate::cli) near_misses: usize,
    #[serde(flatten)]
    pub(in crate::cli) hits: Hits,
    /// Of the near misses, those where the wrong playbook comes first.
    pub(in crate::cli) near_miss_on_top: Option<f64>,
    /// Of the turns out of scope, those that get a menu.
    pub(in crate::cli) offered_out_of_scope: Option<f64>,
    /// Of the turns with a right playbook on the unfloored menu, those that have one on the menu.
    pub(in crate::cli) kept_in_scope: Option<f64>,
    /// The same of all turns in scope.
    pub(in crate::cli) kept_of_all: Option<f64>,
    /// Lines of a menu, where there is one.
    pub(in crate::cli) items_mean: Option<f64>,
    pub(in crate::cli) ece: Option<f64>,
    pub(in crate::cli) us_per_select_p50: f64,
    pub(in crate::cli) us_per_select_p99: f64,
    pub(in crate::cli) lexical_alone: Hits,
    pub(in crate::cli) semantic_alone: Hits,
}

/// The share of turns in scope that have a right playbook among the first 1, 3 and 6.
#[expect(clippy::struct_field_names, reason = "the names in the JSON")]
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(in crate::cli) struct Hits {
    pub(in crate::cli) hit_at_1: Option<f64>,
    pub(in crate::cli) hit_at_3: Option<f64>,
    pub(in crate::cli) hit_at_6: Option<f64>,
}

impl Figures {
    pub(in crate::cli) fn of(measured: &[Measured], wanted: impl Fn(&Measured) -> bool) -> Self {
        let turns: Vec<&Measured> = measured.iter().filter(|turn| wanted(turn)).collect();
        let inside: Vec<&Measured> = turns.iter().copied().filter(|turn| turn.in_scope).collect();
        let outside: Vec<&Measured> =
            turns.iter().copied().filter(|turn| !turn.in_scope && turn.near_miss.is_none()).collect();
        let misses: Vec<&Measured> = turns.iter().copied().filter(|turn| turn.near_miss.is_some()).collect();
        let reachable: Vec<&Measured> = inside.iter().copied().filter(|turn| turn.unfloored).collect();
        let hits = |place: fn(&Measured) -> usize| {
            let [hit_at_1, hit_at_3, hit_at_6] =
                PLACES.map(|places| share(&inside, |turn| place(turn) < places));
            Hits { hit_at_1, hit_at_3, hit_at_6 }
        };
        let menus: Vec<f64> =
            turns.iter().filter(|turn| turn.items > 0).map(|turn| count(turn.items)).collect();
        let mut us: Vec<f64> = turns.iter().map(|turn| turn.us).collect();
        us.sort_by(f64::total_cmp);
        let at = |part: usize| us.get(us.len().saturating_sub(1) * part / 100).copied().unwrap_or(0.0);
        Self {
            in_scope: inside.len(),
            out_of_scope: outside.len(),
            near_misses: misses.len(),
            hits: hits(|turn| turn.place),
            near_miss_on_top: share(&misses, |turn| turn.near_miss == Some(true)),
            offered_out_of_scope: share(&outside, |turn| turn.items > 0),
            kept_in_scope: share(&reachable, |turn| turn.kept),
            kept_of_all: share(&inside, |turn| turn.kept),
            items_mean: (!menus.is_empty()).then(|| menus.iter().sum::<f64>() / count(menus.len())),
            ece: calibration_error(&inside, &outside),
            us_per_select_p50: at(50),
            us_per_select_p99: at(99),
            lexical_alone: hits(|turn| turn.place_lexical),
            semantic_alone: hits(|turn| turn.place_semantic),
        }
    }
}

fn share(turns: &[&Measured], is: impl Fn(&Measured) -> bool) -> Option<f64> {
    (!turns.is_empty()).then(|| count(turns.iter().filter(|turn| is(turn)).count()) / count(turns.len()))
}

/// The expected calibration error (Naeini, Cooper and Hauskrecht, 2015) over every line of the unfloored menus of six, in
/// bins of equal width; turns in scope weigh as much together as those out of it, since how many of each there are says
/// nothing of what an agent hears.
fn calibration_error(inside: &[&Measured], outside: &[&Measured]) -> Option<f64> {
    let mut bins = [[0.0_f64; 3]; BINS];
    for turns in [inside, outside] {
        for turn in turns {
            for (probability, right) in &turn.stated {
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 1")]
                let bin = ((probability * count(BINS)) as usize).min(BINS - 1);
                let weight = 1.0 / count(turns.len());
                bins[bin][0] += weight;
                bins[bin][1] += weight * probability;
                bins[bin][2] += weight * f64::from(u8::from(*right));
            }
        }
    }
    let total: f64 = bins.iter().map(|bin| bin[0]).sum();
    (total > 0.0).then(|| bins.iter().map(|[_, stated, right]| (stated - right).abs()).sum::<f64>() / total)
}

#[expect(clippy::cast_precision_loss, reason = "counts of turns are far below 2^52")]
pub(in crate::cli) fn count(count: usize) -> f64 {
    count as f64
}
