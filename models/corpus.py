#!/usr/bin/env python3
"""Writes the texts that the embedded model is trained on: one a line, an empty line between documents.

    corpus.py FOLDER OUTPUT

FOLDER holds `skills/skills.tar.gz` (SKILL.md files under MIT or Apache-2.0), and `eval/<set>/corpus.jsonl` with
`eval/sealtools/queries.jsonl` (playbooks and turns to measure selection with).

Taken are descriptions, sentences and paragraphs of the skills, and the turns of the split `dev` of sealtools. Left out is every
text that shares 50 characters in a row with any playbook of any set of `eval`, so that no figure is measured on a text that
the model has seen. Both sides are compared in lower case with white space made single.
"""

import json
import pathlib
import re
import sys
import tarfile

SHARED_CHARACTERS = 50
TEXT_CHARACTERS = range(SHARED_CHARACTERS, 800)


def squeezed(text):
    return " ".join(text.split())


def pieces(text):
    text = squeezed(text).lower()
    return (hash(text[at : at + SHARED_CHARACTERS]) for at in range(len(text) - SHARED_CHARACTERS + 1))


def reported_pieces(folder):
    seen = set()
    for path in sorted(folder.glob("eval/*/corpus.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            playbook = json.loads(line)
            for field in ("name", "description", "body"):
                seen.update(pieces(playbook.get(field) or ""))
    return seen


def description(frontmatter):
    found = re.search(r"^description:[ \t]*(.*(?:\n[ \t]+.*)*)", frontmatter, re.MULTILINE)
    return squeezed(re.sub(r"^[>|][+-]?\s", "", found.group(1)).strip("\"'")) if found else ""


def prose(body):
    """Paragraphs and list items without their marks; no code, tables or links."""
    body = re.sub(r"^(```|~~~).*?^\1", "", body, flags=re.DOTALL | re.MULTILINE)
    body = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", body)
    body = re.sub(r"^\s*(?:[-*+]|\d+\.)\s+", "\n\n", body, flags=re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n", body):
        if not paragraph.lstrip().startswith(("|", "<", "    ")):
            yield squeezed(re.sub(r"[*_`#>|]+", " ", paragraph))


def skill_texts(text):
    match = re.match(r"---\r?\n(.*?)\r?\n---\r?\n(.*)", text, re.DOTALL)
    if not match:
        return
    name = re.search(r"^name:\s*(\S+)", match.group(1), re.MULTILINE)
    about = description(match.group(1))
    if name and about:
        yield name.group(1).strip("\"'").replace("-", " ") + ". " + about
    yield about
    for paragraph in [about, *prose(match.group(2))]:
        sentences = re.split(r"(?<=[.!?])\s+", paragraph)
        yield from sentences if len(sentences) > 1 else ()
        if paragraph is not about:
            yield paragraph


def main(folder, output):
    folder = pathlib.Path(folder)
    reported = reported_pieces(folder)
    seen, documents, shared = set(), [], 0
    with tarfile.open(folder / "skills/skills.tar.gz") as archive:
        for member in archive:
            if not member.isfile():
                continue
            content = archive.extractfile(member).read().decode("utf-8", "replace")
            kept = []
            for text in skill_texts(content):
                text = text[: TEXT_CHARACTERS.stop - 1]
                key = text.lower()
                if len(text) not in TEXT_CHARACTERS or key in seen:
                    continue
                seen.add(key)
                if any(piece in reported for piece in pieces(text)):
                    shared += 1
                else:
                    kept.append(text)
            documents.append(kept)
    skills = sum(map(len, documents))
    turns = []
    for line in (folder / "eval/sealtools/queries.jsonl").read_text(encoding="utf-8").splitlines():
        turn = json.loads(line)
        if turn["split"] == "dev":
            turns.append(squeezed(turn["text"]))
    documents.extend([turn] for turn in turns)
    text = "\n\n".join("\n".join(document) for document in documents if document)
    pathlib.Path(output).write_text(text + "\n", encoding="utf-8")
    print(f"{skills} texts of skills ({shared} left out: shared with a reported playbook), {len(turns)} turns")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
