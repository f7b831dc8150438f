#!/usr/bin/env python3
"""Writes the turns that are about no playbook of a set: those of other domains, and some that were asked of other sets.

    background.py FOLDER SET OUTPUT

FOLDER is what corpus.py reads. The turns of `eval/background_turns.jsonl` are short: 99 of 100 have at most 14 terms, while half
of the turns about skills have 13 and more. Where they alone are out of scope, any long turn seems to be about something: numbers
that were fitted so offered a marketing menu to seven in ten turns of .NET developers. One turn in twenty is therefore one that
was asked of a set of another field; those are as long as turns about skills are. They keep their ids, and with them their half:
what is only reported of one set is not fitted on as being out of scope of another.

The background turns order taxis and ask for the weather: of a set of tools they may be in scope. There the turns asked of the sets of
skills are those about nothing, besides what the set itself holds.
"""

import hashlib
import json
import pathlib
import sys

# Of which set how many turns. The playbooks of wild_trigger_dev are of many fields, marketing and .NET among them.
ELSEWHERE = {
    "marketing_skills": {"dotnet_skills": 100, "sealtools": 60, "sgd_test": 40},
    "dotnet_skills": {"marketing_skills": 100, "sealtools": 60, "sgd_test": 40},
    "wild_trigger_dev": {"sealtools": 140, "sgd_test": 60},
}
TOOLS = {"metatool", "apibank", "sgd_test", "sealtools"}


def turns(path):
    return map(json.loads, path.read_text(encoding="utf-8").splitlines())


def asked_of(folder, name, count):
    """The turns of a set that want a playbook of it, in the order of a hash of their ids."""
    wanted = [turn for turn in turns(folder / "eval" / name / "queries.jsonl") if turn["relevant"]]
    if name == "sgd_test":
        wanted = [turn for turn in wanted if turn["kind"] == "new_intent" and turn["context"]]
    wanted = [turn for turn in wanted if not turn.get("maybe_deferred")]
    wanted.sort(key=lambda turn: hashlib.sha256(b"elsewhere" + turn["id"].encode()).digest())
    for turn in wanted[:count]:
        kept = {"id": turn["id"], "text": turn["text"], "kind": f"of {name}"}
        yield kept | ({"context": turn["context"]} if turn.get("context") else {})


def main(folder, name, output):
    folder = pathlib.Path(folder)
    stray = [] if name in TOOLS else list(turns(folder / "eval/background_turns.jsonl"))
    elsewhere = dict.fromkeys(ELSEWHERE) if name in TOOLS else ELSEWHERE[name]
    for other, count in elsewhere.items():
        stray.extend(asked_of(folder, other, count))
    ids = [turn["id"] for turn in stray]
    assert len(ids) == len(set(ids)), "two turns have one id"
    pathlib.Path(output).write_text("".join(json.dumps(turn) + "\n" for turn in stray), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
