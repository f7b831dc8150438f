//! Where a frontmatter begins and ends, and what its lines may begin with.

use super::*;

/// CASES 1.07 to 1.10.
#[test]
fn only_an_exact_fence_closes() {
    check(
        "---\nname: fence-demo\ndescription: Ruler lines.\n----\nallowed-tools: Read\n---\nBody\n",
        &["refused", "refused 4:1 `----` is not a closing fence"],
    );
    for lookalike in ["---- ", "-----", "---draft", "--- # end", "...", "... ", "---\u{a0}"] {
        check(
            file(&format!("name: a\ndescription: b\n{lookalike}\nlicense: MIT")),
            &["refused", "refused 4:1 `"],
        );
    }
    check_clean(
        "---\nname: rule-lines\ndescription: Body has rules.\n---\nPart one\n\n---\n\n```yaml\n---\nname: not-me\n---\n```\nPart two\n",
        &[
            "accepted rule-lines",
            "body \"Part one\\n\\n---\\n\\n```yaml\\n---\\nname: not-me\\n---\\n```\\nPart two\\n\"",
        ],
    );
    check(
        "---\nname: open-ended\ndescription: No end fence.\n# Steps\n1. Do it.\n",
        &["refused", "refused 1:1 the frontmatter opened at line 1 is never closed"],
    );
    check(
        "\n\n---  \nname: loose-fence\ndescription: Spaces after the fence.\n---\t\nBody",
        &[
            "accepted loose-fence",
            "warning 1:1 2 blank lines before the frontmatter, ignored",
            "body \"Body\"",
        ],
    );
    for none in ["", "\u{FEFF}", "\n\n", "# Title\n", "name: a\n---\n"] {
        check(none, &["refused", "refused 1:1 there is no frontmatter"]);
    }
    // Neither in quotes nor in a block does one of them belong to the value: other readers end there.
    check(
        file("name: a\ndescription: |\n  x\n---draft\n  y"),
        &["refused 5:1 `---draft` is not a closing fence"],
    );
    check_clean(file("name: a\ndescription: |\n  x\n  ---\n  y"), &["line \"x --- y\""]);
    for unclosed in [
        "---\r\nname: a\r\ndescription: b\r\n# Steps\r\n",
        "---\nname: a\ndescription: b\n ---\nBody",
        "---\nname: a",
        "---",
    ] {
        check(unclosed, &["refused", "refused 1:1 the frontmatter opened at line 1 is never closed"]);
    }
    check("\n\n---\nname: a\n", &["refused 3:1 the frontmatter opened at line 3 is never closed"]);
    check(
        "\u{FEFF} \t\n---\nname: a\ndescription: b\n---\nB",
        &["accepted a", "warning 1:1 1 blank lines before the frontmatter"],
    );
    check("<!-- x -->\n---\nname: a\ndescription: b\n---\nB", &["refused 1:1 there is no frontmatter"]);
    check("----\nname: a\n---\n", &["refused 1:1 `----` does not open a frontmatter"]);
    check("  ---\nname: a\n---\n", &["refused 1:1 `  ---` does not open a frontmatter"]);
    check("---\n---\nBody", &["refused 1:1 the frontmatter is empty"]);
    check("---\n- a\n- b\n---\nBody", &["refused 2:1 the frontmatter is a list"]);
    check("---\njust words\n---\nBody", &["refused 2:1 the frontmatter is text"]);
}

/// CASES 1.26.
#[test]
fn tabs_are_named() {
    check(named("metadata:\n\ttriggers: soup"), &["refused 5:1 a tab is used for indentation"]);
    check(
        file("name: a\ndescription: Soup:\tquick guide"),
        &["description \"Soup:\\tquick guide\"", "warning 3:14 the value has a colon and a tab"],
    );
    for (frontmatter, line) in [
        ("name: a\n\tdescription: b", 3),
        ("\tname: a\ndescription: b", 2),
        ("name: a\ndescription: |\n\tsoup", 4),
        ("name: a\ndescription: soup: hot\n\tsalad", 4),
        ("name: a\ndescription: b\nmetadata:\n  triggers:\n\t- soup", 6),
        ("name: a\ndescription: b\nmetadata:\n  \tx: y", 5),
    ] {
        check(file(frontmatter), &["refused", &format!("refused {line}:1 a tab is used for indentation")]);
    }
    check(
        named("metadata:\n  note: x:\ty"),
        &["warning 5:9 the value has a colon and a tab", "metadata [(\"note\", \"x:\\ty\")]"],
    );
    check_clean(file("name:\ta\ndescription:\tb\t"), &["accepted a", "description \"b\""]);
}
