#!/usr/bin/env bash
# Fills fuzz/corpus with small seeds: the library's files, the fixtures of `check`, and zips of the library.
# Usage: tests/fuzz_seeds.sh MAITRED
set -euo pipefail
maitred=$(realpath "$1")
cd "$(dirname "$0")/.."
mkdir -p fuzz/corpus/{frontmatter,scan,zip}
for file in library/*/*/SKILL.md tests/fixtures/check/*/SKILL.md; do
    name=$(basename "$(dirname "$file")")
    head -c 900 "$file" | tee "fuzz/corpus/frontmatter/$name" >"fuzz/corpus/scan/$name"
    if "$maitred" check "$file" >/dev/null && [[ ! -e fuzz/corpus/zip/$name ]]; then
        "$maitred" export --skills "$file" --all -o "fuzz/corpus/zip/$name"
    fi
done
