//! The one repair, and what it must not touch.

use super::*;

/// CASES 1.01.
#[test]
fn unquoted_colons_are_repaired_with_a_warning_that_names_the_line() {
    check(
        "---\nname: invoice-chaser\ndescription: Chase late invoices: write the reminder, log the call. Use when a client is overdue.\n---\n# Steps\n1. Find the invoice.\n",
        &[
            "accepted invoice-chaser",
            "description \"Chase late invoices: write the reminder, log the call. Use when a client is overdue.\"",
            "warning 3:14 the value has an unquoted colon; read as \"Chase late invoices: write",
            "body \"# Steps\\n1. Find the invoice.\\n\"",
        ],
    );
    // Over several lines, with quotes and a comment sign that the author meant as text.
    check(
        file("name: a\ndescription: Fix it: \"now\" # urgent\n  or later: tomorrow\nlicense: MIT"),
        &[
            "description \"Fix it: \\\"now\\\" # urgent or later: tomorrow\"",
            "license Some(\"MIT\")",
            "warning 3:14",
        ],
    );
    check(
        file("name: a\ndescription: Two steps\n  Note: both needed"),
        &["description \"Two steps Note: both needed\"", "warning 3:14"],
    );
    check(
        file("name: a\ndescription: Ends with a colon:"),
        &["description \"Ends with a colon:\"", "warning 3:14"],
    );
    // Two of them, one nested.
    check(
        file("name: a\ndescription: One: two\nmetadata:\n  note: three: four"),
        &[
            "description \"One: two\"",
            "metadata [(\"note\", \"three: four\")]",
            "warning 3:14",
            "warning 5:9",
        ],
    );
    // Beginning on the next line, which is not an entry of its own.
    check(
        file("name: a\ndescription:\n  Create things (a, b).\n  Trigger: make it.\nlicense: MIT"),
        &["description \"Create things (a, b). Trigger: make it.\"", "license Some(\"MIT\")", "warning 3:13"],
    );
    // Whatever the lines end with, and whatever the value holds.
    for (value, read) in [
        ("It's late: call", "It's late: call"),
        ("See https://a.zz: now", "See https://a.zz: now"),
        ("Use {x}: call", "Use {x}: call"),
        ("猫：: 犬", "猫：: 犬"),
        ("a: b: c", "a: b: c"),
    ] {
        for ending in ["\n", "\r\n", "\r"] {
            let text = file(&format!("name: a\ndescription: {value}")).replace('\n', ending);
            check(
                text,
                &[&format!("description {read:?}"), "warning 3:14 the value has an unquoted colon; read as"],
            );
        }
    }
    // What is not a colon is not repaired.
    check(
        file("name: a\ndescription: [broken"),
        &["refused", "refused 3:14 the frontmatter is not valid YAML"],
    );
}

#[test]
fn a_description_below_its_key_is_repaired_and_a_misplaced_field_is_not_glued_to_it() {
    check(
        file("name: a\ndescription:\n  Chase late invoices: write the reminder."),
        &[
            "description \"Chase late invoices: write the reminder.\"",
            "warning 3:13 the value has an unquoted colon",
        ],
    );
    check(
        file("name: a\ndescription:\n  First: line.\n  Second: line."),
        &["description \"First: line. Second: line.\""],
    );
    check(
        file("name: a\ndescription: First: x\n\n  Second.\nlicense: MIT"),
        &["description \"First: x\\nSecond.\"", "license Some(\"MIT\")"],
    );
    check(
        file("name: a\ndescription: Foo\n  license: MIT"),
        &[
            "refused 4:10 `license` is indented as if it belonged to the value above it",
            "hint remove the indentation",
        ],
    );
    check(file("name: a\n description: b"), &["refused 3:13 `description` is indented as if it belonged"]);
    check(
        named("metadata:\n  version: 1\n    maitred-triggers: pitch deck"),
        &["refused 6:21 `maitred-triggers` is indented as if it belonged"],
    );
    for (frontmatter, hint) in [
        ("name: a\ndescription:x", "hint put a space behind the colon"),
        ("name:a\ndescription:x", "hint put a space behind the colon"),
        ("name: a\ndescription：x", "hint write an ASCII colon and a space"),
        ("name: a\ndescription: [Beta] does X", "hint a value that begins with `[`"),
        ("name: a\ndescription: @mention X", "hint a value that begins with `@`"),
        ("name: a\ndescription: - does X", "hint a value that begins with `-`"),
        ("name: a\ndescription: \"Quoted\" then", "hint a value that begins with `\"`"),
        ("name: a\ndescription: 'It's broken'", "hint in single quotes an apostrophe is written twice"),
        ("name: a\ndescription: \"C:\\path\"", "hint in double quotes a backslash is written twice"),
    ] {
        check(file(frontmatter), &["refused", hint]);
    }
    check(
        file("name: a\ndescription: Say \"hi\": now"),
        &["description \"Say \\\"hi\\\": now\"", "warning 3:14"],
    );
}
