//! How much memory a selection asks for: bounded, whatever the catalogue, and nothing that grows from call to call.

use std::sync::Arc;
use std::time::Duration;

use allocation_counter::{AllocationInfo, measure};
use maitred::app::auth::Gatekeeper;
use maitred::app::catalog::Catalog;
use maitred::app::offer::ToolFormat;
use maitred::app::packs;
use maitred::app::ports::SystemClock;
use maitred::app::read::{LoadRequest, Reader, SelectRequest};
use maitred::app::token::MenuSigner;
use maitred::domain::agent::{AgentId, AgentSettings};
use maitred::domain::menu::Menu;
use maitred::domain::query::MenuQuery;
use maitred::engine::embed::builtin;
use maitred::engine::scratch::Scratch;
use maitred::engine::select::select;

use crate::fixture::{RANKED, index};

fn measured<R>(mut body: impl FnMut() -> R) -> AllocationInfo {
    // Buffers grow to their size once.
    for _ in 0..3 {
        body();
    }
    measure(|| {
        body();
    })
}

/// What a menu itself is made of: its list, a slug, a title and a description an item, a list of matches and a match.
fn pieces(menu: &Menu) -> u64 {
    1 + 5 * u64::try_from(menu.items.len()).unwrap()
}

#[test]
fn a_selection_allocates_its_menu_and_a_list_or_two() {
    let library: Vec<_> = packs::library().into_iter().flat_map(|pack| pack.playbooks).collect();
    let catalogue = index(library, RANKED);
    let mut scratch = Scratch::default();
    for turn in [
        "the customer wants a refund for the broken kettle, and is angry",
        "what is the capital of Peru?",
        "write the release notes for the version that went out on Friday",
    ] {
        let query = MenuQuery::new(turn).unwrap();
        let menu = select(&catalogue, &query, &mut scratch);
        let used = measured(|| select(&catalogue, &query, &mut scratch));
        let bound = pieces(&menu) + 4;
        assert!(used.count_total <= bound, "{turn}: {used:?}, at most {bound} are expected");
        assert!(used.bytes_total < 8_192, "{turn}: {used:?}");
        assert_eq!(used.count_current, 0, "{turn}: {used:?}");
    }
}

#[test]
fn a_call_from_the_query_to_the_signed_answer_has_a_bound() {
    let catalog = Catalog::new(builtin::model());
    let agent = AgentId::default_agent();
    catalog.replace(&agent, packs::starter_playbooks(), AgentSettings::default()).unwrap();
    let signer = MenuSigner::random(Duration::from_mins(1)).unwrap();
    let reader = Reader::new(&catalog, signer, Arc::new(SystemClock), Arc::default());
    let request = SelectRequest {
        agent_id: agent.to_string(),
        run_id: None,
        turn_id: None,
        query: MenuQuery::new("the customer wants a refund").unwrap(),
        tool_format: ToolFormat::OpenAi,
    };
    let used = measured(|| reader.select(&request, None).unwrap());
    assert!(used.count_total <= 32, "{used:?}");
    let answer = reader.select(&request, None).unwrap();
    let slug = answer.menu.items[0].slug.to_string();
    let anyone = Gatekeeper::default().anyone();
    let load = || LoadRequest {
        menu_token: &answer.menu_token,
        slug: &slug,
        run_id: None,
        turn_id: None,
        principal: &anyone,
    };
    let used = measured(|| reader.load(load()).unwrap());
    assert!(used.count_total <= 8, "{used:?}");
}
