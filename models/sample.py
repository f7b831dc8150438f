#!/usr/bin/env python3
"""Writes some of a set's turns, so that a large set does not outweigh the others, nor take an hour.

    sample.py FOLDER SET COUNT OUTPUT

FOLDER is what corpus.py reads. The turns are the first COUNT in the order of a hash of their ids, which says nothing of their half:
calibrate fits on the same half of them as of all.
"""

import hashlib
import json
import pathlib
import sys


def main(folder, name, count, output):
    lines = (pathlib.Path(folder) / "eval" / name / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    lines.sort(key=lambda line: hashlib.sha256(b"sample" + json.loads(line)["id"].encode()).digest())
    pathlib.Path(output).write_text("".join(line + "\n" for line in lines[: int(count)]), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
