//! Faults that comparable systems had in selection, each as what users get here instead. The numbers are those of our
//! collection of such faults; those that other modules cover carry their number there.

mod cjk;
mod menus;
mod relevance;
mod serving;
mod triggers;

use maitred::domain::menu::Menu;
use maitred::domain::query::MenuQuery;
use maitred::engine::scratch::Scratch;
use maitred::engine::select::select;
use maitred::engine::snapshot::AgentIndex;

/// The menu of a turn; a limit of 0 is the default.
fn menu(index: &AgentIndex, turn: &str, limit: usize) -> Menu {
    let query = MenuQuery::new(turn).unwrap().with_limit(limit).unwrap().with_explain(true);
    select(index, &query, &mut Scratch::default())
}

fn slugs(menu: &Menu) -> Vec<&str> {
    menu.items.iter().map(|item| item.slug.as_str()).collect()
}
