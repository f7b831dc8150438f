#!/usr/bin/env python3
"""Writes the texts that the embedded model is trained on: one a line, an empty line between documents.

    corpus.py FOLDER OUTPUT TURNS

FOLDER holds `skills/skills.tar.gz` (SKILL.md files under MIT or Apache-2.0), and `eval/<set>/corpus.jsonl` with
`eval/<set>/queries.jsonl` (playbooks and turns to measure selection with).

Taken are descriptions, sentences and paragraphs of the skills, and the turns of the split `dev` of sealtools. Left out is every
text that shares 50 characters in a row with any playbook of any set of `eval`, so that no figure is measured on a text that
the model has seen. Both sides are compared in lower case with white space made single.

TURNS gets the tools of the permissive sets of tools, each with the turns that want it alone: of the half that may be tuned on, which
is told by the first bit of the SHA-256 of a turn's id. Nothing of the sets of skills is among them.
"""

import hashlib
import json
import pathlib
import re
import sys
import tarfile

SHARED_CHARACTERS = 50
TEXT_CHARACTERS = range(SHARED_CHARACTERS, 800)
SETS_OF_TOOLS = ("metatool", "sealtools", "apibank")


def squeezed(text):
    return " ".join(text.split())


def pieces(text):
    text = squeezed(text).lower()
    return (hash(text[at : at + SHARED_CHARACTERS]) for at in range(len(text) - SHARED_CHARACTERS + 1))


def reported_pieces(folder):
    seen = set()
    for path in sorted(folder.glob("eval/*/corpus.jsonl")):
        for playbook in json_lines(path):
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


def json_lines(path):
    return map(json.loads, path.read_text(encoding="utf-8").splitlines())


def may_be_tuned_on(turn):
    return hashlib.sha256(turn["id"].encode()).digest()[0] & 1 == 0


def tools_with_turns(folder):
    for name in SETS_OF_TOOLS:
        texts = {}
        for tool in json_lines(folder / "eval" / name / "corpus.jsonl"):
            title = re.sub(r"[-_]", " ", tool.get("name") or "")
            texts[tool["id"]] = [squeezed(f"{title}. {tool['description']}")]
        for turn in json_lines(folder / "eval" / name / "queries.jsonl"):
            alone = len(turn["relevant"]) == 1 and not turn.get("context")
            if alone and may_be_tuned_on(turn) and turn["relevant"][0] in texts:
                texts[turn["relevant"][0]].append(squeezed(turn["text"]))
        yield from (document for document in texts.values() if len(document) > 1)


def main(folder, output, turns_output):
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
    for turn in json_lines(folder / "eval/sealtools/queries.jsonl"):
        if turn["split"] == "dev":
            turns.append(squeezed(turn["text"]))
    documents.extend([turn] for turn in turns)
    write(output, documents)
    tools = list(tools_with_turns(folder))
    write(turns_output, tools)
    print(f"{skills} texts of skills ({shared} left out: shared with a reported playbook), {len(turns)} turns")
    print(f"{len(tools)} tools with {sum(map(len, tools)) - len(tools)} turns")


def write(output, documents):
    text = "\n\n".join("\n".join(document) for document in documents if document)
    pathlib.Path(output).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
