//! Trigger fields, in every spelling and place that they are found in.

use super::*;

/// CASES 1.23.
#[test]
fn triggers_are_read_in_every_spelling_under_metadata() {
    for spelling in [
        "triggers:\n    - pitch deck\n    - slides",
        "triggers: [\"pitch deck\", 'slides']",
        "triggers: pitch deck, slides",
        "triggers: pitch deck，slides",
        "triggers:\n    - pitch deck, slides",
        "triggers: \"- pitch deck, slides\"",
        "triggers: |\n    - pitch deck\n    - slides",
        "triggers: '\"pitch deck\", slides, Slides'",
        "triggers: pitch deck OR slides",
        "trigger: pitch deck, slides",
        "triggers: \"* pitch deck\\n* slides\"",
        "triggers: \"• pitch deck\\n• slides\"",
        "triggers: “pitch deck”, “slides”",
        "triggers: ‘pitch deck’, ‘slides’",
        "triggers: «pitch deck», «slides»",
        "triggers: 「pitch deck」、「slides」",
        "triggers: pitch deck, slides, PITCH DECK",
        "trigger:\n  - pitch deck\n  - 'slides'",
        "triggers: '[\"pitch deck\", \"slides\"]'",
        "triggers: '[pitch deck, slides]'",
        "maitred-triggers: pitch deck, slides",
        "maitred-triggers: '[\"pitch deck\", \"slides\"]'",
        "maitred-triggers: [pitch deck, slides]",
    ] {
        check(
            named(&format!("metadata:\n  {spelling}")),
            &["triggers [\"pitch deck\", \"slides\"] wanted false"],
        );
    }
    check_clean(
        named("metadata:\n  maitred-triggers: '[\"one, two\", \"three\"]'"),
        &["triggers [\"one, two\", \"three\"]"],
    );
    check(
        named("metadata:\n  triggers: theirs\n  maitred-triggers: ours here"),
        &["triggers [\"ours here\"]"],
    );
}

/// CASES 2.01 and 2.23: what the author of a short, a blank or a baited trigger is told.
#[test]
fn a_file_that_wanted_triggers_never_becomes_always_on_in_silence() {
    for field in
        ["triggers: [pitch deck, slides]", "trigger: pitch deck, slides", "trigger_words: pitch deck, slides"]
    {
        check(
            named(field),
            &[
                "triggers [] wanted true",
                "note 4:1 `trigger",
                "warning 4:1 triggers are intended here, and none could be read",
                "hint write under `metadata:` the line `maitred-triggers: \"pitch deck, slides\"`",
            ],
        );
    }
    check(
        named("metadata:\n  maitred-triggers: ''"),
        &["triggers [] wanted true", "warning 5:21 triggers are intended"],
    );
    check(named("metadata:\n  triggers: []"), &["triggers [] wanted true"]);
    check(
        named("metadata:\n  triggers: pitch deck,, slides,"),
        &["triggers [\"pitch deck\", \"slides\"]", "warning 5:13 blank triggers are ignored (2)"],
    );
    check(named("metadata:\n  trigger-phrases: a phrase"), &["triggers [] wanted true"]);
    check(
        named("metadata:\n  triggers: ['a', ' ', 'the', '']"),
        &[
            "triggers [] wanted true",
            "warning 5:13 blank triggers are ignored (2): they would match every turn",
            "warning 5:13 triggers that are in nearly every turn are ignored: \"a\", \"the\"",
        ],
    );
    check(
        named("metadata:\n  triggers: [ui, 猫, R, git log, 7]"),
        &[
            "triggers [\"ui\", \"猫\", \"R\", \"git log\"] wanted false",
            "warning 5:13 triggers that are in nearly every turn are ignored: \"7\"",
            "warning 5:13 triggers of 3 characters or fewer fire inside other words: \"ui\"",
        ],
    );
    let long = "x".repeat(257);
    check(
        named(&format!("metadata:\n  triggers: [{long}, good one]")),
        &["triggers [\"good one\"]", "warning 5:13 trigger 1 has 257 bytes, the limit is 256; it is ignored"],
    );
    let many = (0..70).map(|i| format!("phrase {i}")).collect::<Vec<_>>().join(", ");
    check(
        named(&format!("metadata:\n  triggers: {many}")),
        &["warning 5:13 triggers beyond the limit of 64 are ignored (6)"],
    );
}

#[test]
fn a_trigger_field_in_the_wrong_place_is_noticed_wherever_it_is() {
    for frontmatter in [
        "Metadata:\n  maitred-triggers: pitch deck",
        "metadata:\n- maitred-triggers: pitch deck",
        "metadata: |\n  maitred-triggers: pitch deck",
        "metadata:\n  maitred:\n    triggers: pitch deck",
        "vendor:\n  deep:\n  - triggers: pitch deck",
        "metadata:\n  triggers: null",
        "metadata:\n  Triggers: pitch deck",
        "metadata:\n  maitred-trigger: pitch deck",
        "metadata:\n  maitred_triggers: pitch deck",
        "metadata:\n  trigger-phrases: [pitch deck]",
        "metadata:\n  triggers: {words: [pitch deck]}",
        "maitred-triggers: pitch deck",
        "metadata:\n  triggers: [null, ~]",
    ] {
        let shown = outcome(named(frontmatter).as_bytes());
        assert!(
            shown.contains("wanted true") && shown.contains("triggers are intended here"),
            "{frontmatter}\n{shown}"
        );
    }
    check(
        named("Metadata:\n  a: b"),
        &["warning 4:1 `Metadata` is not a field", "hint write `metadata`, in lower case"],
    );
    check_clean(named("metadata: null"), &["triggers [] wanted false"]);
}

#[test]
fn triggers_that_are_not_what_they_look_like_are_named() {
    check(
        named("metadata:\n  maitred-triggers: alpha beta\n  triggers: gamma delta"),
        &["triggers [\"alpha beta\"]", "note 6:3 `metadata.triggers` is ignored: `maitred-triggers` stands"],
    );
    for broken in ["'[\"pitch deck\"'", "'[\"pitch deck'", "\"[pitch deck\""] {
        check(
            named(&format!("metadata:\n  maitred-triggers: {broken}")),
            &["warning 5:21 the triggers begin like a JSON array and are none"],
        );
    }
    for separated in ["pitch deck; slides", "pitch deck | slides"] {
        let warning = format!("warning 5:21 \"{separated}\" is one trigger: commas separate triggers");
        check(named(&format!("metadata:\n  maitred-triggers: {separated}")), &[&warning]);
    }
    check(
        named("metadata: {maitred-triggers: pitch deck, slides}"),
        &["triggers [\"pitch deck\"]", "note 4:42 `metadata.slides` has no value"],
    );
    check(
        named("metadata:\n  triggers:\n  - pitch deck: now"),
        &["triggers [\"pitch deck: now\"]", "warning 6:5 a trigger has an unquoted colon"],
    );
    check_clean(named("metadata:\n  maitred-triggers: 'pitch   deck'"), &["triggers [\"pitch deck\"]"]);
}
