"""Holds the vectors of the built-in model to those of the package model2vec on the same files.

Usage: model2vec_reference.py MAITRED MODEL_DIRECTORY
"""

import json
import subprocess
import sys

import numpy
from model2vec import StaticModel

TEXTS = [
    "the customer wants their money back",
    "Write a database migration that adds an index, and roll it back if the check fails.",
    "naïve café — “quotes” … 🙂 ﬁle",
    "C++ & don't, a/b-test: 12:30! [SEP] x@y.z",
    "请 deploy 的 服务",
    "supercalifragilisticexpialidocious kubernetesoperator",
    "word " * 300,
    "Ünïcödé  tabs\tand NUL-free text",
    "🙂",
]


def main(maitred, directory):
    printed = subprocess.run(
        [maitred, "embed", "--model", directory], input="\n".join(TEXTS), capture_output=True, text=True, check=True
    ).stdout.splitlines()
    theirs = StaticModel.from_pretrained(directory).encode(TEXTS).astype(numpy.float64)
    worst = 0.0
    for text, line, vector in zip(TEXTS, printed, theirs, strict=True):
        ours, norm = json.loads(line), numpy.linalg.norm(vector)
        if ours is None:
            assert norm < 1e-6, f"{text!r}: we have no vector, and they have one"
            continue
        worst = max(worst, float(numpy.abs(numpy.array(ours) - vector / norm).max()))
    assert worst < 1e-5, f"the vectors differ by {worst}"
    print(f"{len(TEXTS)} vectors differ by {worst:.1e} at most")


if __name__ == "__main__":
    main(*sys.argv[1:])
