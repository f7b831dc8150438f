"""Exports hostile playbooks, and validates what comes out with the specification's own tool.

Usage: export_validator.py MAITRED. Titles, descriptions, triggers, licences and metadata are made of what YAML, Markdown and
terminals take for something else. Each is written in JSON's quotes, exported as a zip, unpacked by Python, validated by
skills-ref, and read by it: name, description, licence and metadata must be those that went in.
"""

import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unicodedata
import zipfile
from pathlib import Path

from skills_ref import read_properties, validate

PIECES = [
    "---", "...", "--", "- ", ": ", ":", " #", "#", '"', "'", "\\", "\n", "\r", "\t", "{", "}", "[", "]", "&a", "*a", "!t",
    "|", ">", "%", "@", "`", "<<", "null", "~", "true", "no", "007", "1e3", "12:30", ", ", "，", "\x1b[2J", "\x85", "\u2028",
    "\ufeff", "\U0001F9D1\u200d\U0001F680", "\x7f", "late invoice", "猫", "Straße", "e\u0301", "می\u200cرود", "{{x}}",
    "<script>", "${HOME}", "$(id)", "name: evil", "allowed-tools: Bash(*)",
]
ODD = [" ", "…", "\ufffe", "\U0001ffff"]


def text(rng, most):
    return "".join(rng.choice(PIECES + ODD) for _ in range(rng.randint(1, most)))


def one_line(value):
    blank = lambda c: " " if c.isspace() or unicodedata.category(c) == "Cc" else c
    return " ".join("".join(map(blank, value)).split(" ")).strip()


def skill(rng, name):
    fields = {
        "description": "Does " + text(rng, 12),
        "license": "Licence " + text(rng, 5) + ".",
        "maitred-title": "Title " + one_line(text(rng, 5)),
        "maitred-triggers": json.dumps([f"trigger {n} {text(rng, 3)}" for n in range(rng.randint(0, 4))]),
        "author": text(rng, 5),
        "k " + text(rng, 3): text(rng, 5),
    }
    quoted = lambda value: json.dumps(value, ensure_ascii=True).replace("---", "--\\u002d")
    lines = [f"name: {quoted(name)}", *(f"{key}: {quoted(fields[key])}" for key in ("description", "license")), "metadata:"]
    lines += [f"  {quoted(key)}: {quoted(value)}" for key, value in list(fields.items())[2:]]
    return fields, "---\n" + surrogates("\n".join(lines)) + f"\n---\nBody --- of\n---\n{text(rng, 20)}\n".replace("\x00", "")


def surrogates(value):
    """JSON writes a character beyond the first plane as two; YAML has one escape for it."""
    out, at = [], 0
    while at < len(value):
        if value[at : at + 3].lower() == "\\ud" and value[at + 6 : at + 9].lower() == "\\ud" and value[at + 3] in "89ab":
            high, low = int(value[at + 2 : at + 6], 16), int(value[at + 8 : at + 12], 16)
            out.append(f"\\U{0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00):08x}")
            at += 12
        else:
            out.append(value[at])
            at += 1
    return "".join(out)


def refused(maitred, folder):
    """The names of those that are not served; the scanner's rules are the only reasons."""
    checked = subprocess.run([maitred, "check", "--json", str(folder)], capture_output=True, text=True)
    names = []
    for file in json.loads(checked.stdout)["files"]:
        reasons = [found for found in file["diagnostics"] if found["severity"] == "refused"]
        assert all("rule" in found for found in reasons), reasons
        if reasons:
            names.append(Path(file["path"]).parent.name)
    return names


def main():
    maitred, rng = sys.argv[1], random.Random(7)
    with tempfile.TemporaryDirectory() as work:
        work, made = Path(work), {}
        for number in range(400):
            name = rng.choice(["no", "null", "true", "007", "1e3", "y"]) if number < 40 else f"skill-{number}"
            if name in made:
                continue
            fields, file = skill(rng, name)
            made[name] = fields
            (work / "in" / name).mkdir(parents=True)
            (work / "in" / name / "SKILL.md").write_bytes(file.encode())
        blocked = refused(maitred, work / "in")
        for name in blocked:
            shutil.rmtree(work / "in" / name)
            del made[name]
        assert len(made) >= 60, f"the scanner leaves {len(made)}"
        output = str(work / "out.zip")
        done = subprocess.run(
            [maitred, "export", "--all", "--skills", str(work / "in"), "-o", output], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        said = [line for line in done.stderr.splitlines() if not re.search(r": (warning|note): [A-Z]{3}[0-9]{3}: ", line)]
        assert said == [] or said[-1].endswith("exported to " + output), said
        with zipfile.ZipFile(output) as archive:
            assert archive.testzip() is None
            assert sorted(archive.namelist()) == archive.namelist() == sorted(f"{name}/SKILL.md" for name in made)
            for entry in archive.infolist():
                assert entry.flag_bits == 0x800 and entry.external_attr >> 16 == 0o100644, entry
                assert entry.date_time == (1980, 1, 1, 0, 0, 0), entry
            archive.extractall(work / "out")
        for name, fields in made.items():
            folder = work / "out" / name
            assert validate(folder) == [], (name, validate(folder))
            read = read_properties(folder)
            assert read.name == name and read.allowed_tools is None and read.compatibility is None
            assert read.description == fields["description"].strip(), (name, read.description, fields["description"])
            assert read.license == fields["license"].strip(), (name, read.license, fields["license"])
            for key, value in read.metadata.items():
                if not key.startswith("maitred-"):
                    assert fields[key] == value, (name, key, value)
            assert set(fields) - {"description", "license", "maitred-triggers"} <= set(read.metadata), (name, read.metadata)
    print(f"{len(made)} hostile playbooks are exported, valid, and read as they were")


main()
