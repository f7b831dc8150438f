#!/usr/bin/env bash
# Soak: a steady load while a SKILL.md is edited every second. Memory and file descriptors must come to rest.
set -euo pipefail
# shellcheck source=common.sh
source "$(dirname "$0")/common.sh"

usage() {
    cat <<'END'
usage: deploy/ghz/soak.sh [--minutes N] [--rps N] [--maitred PATH] [--csv FILE]

  --minutes N     how long (10)
  --rps N         calls a second (500)
  --maitred PATH  the program to start (target/release/maitred, or the one on the path)
  --csv FILE      keeps the samples, one a second
END
}

minutes=10 rps=500 maitred_given='' csv=''
while (($# > 0)); do
    case $1 in
        --minutes | --rps | --maitred | --csv)
            value "$1" $#
            case $1 in
                --minutes) minutes=$2 ;;
                --rps) rps=$2 ;;
                --maitred) maitred_given=$2 ;;
                --csv) csv=$2 ;;
            esac
            shift 2
            ;;
        -h | --help) usage && exit ;;
        *) fail "$1: no such flag, see --help" ;;
    esac
done
number --minutes "$minutes" 1 600
number --rps "$rps" 1 20000
seconds=$((minutes * 60))
# a little longer than the samples, so that the load does not end before them
calls=$(((seconds + 2) * rps))
# ghz keeps the time of a call for the first million only
((calls <= 1000000)) || fail "$calls calls: ghz keeps a million; lower --minutes or --rps"

find_ghz
find_maitred "$maitred_given"
mkdir "$work/skills"
for pack in "$root"/library/*/; do cp -r "$pack" "$work/skills/"; done
start_server 127.0.0.1:0 --skills "$work/skills"

echo "$minutes min: $rps calls of SelectMenu a second over 10 connections, and one edit a second"
python3 "$here/measure.py" scrape "$http" >"$work/before"
start_ghz "$((seconds + 60))" "$listen" "$work/ghz.json" --total "$calls" --rps "$rps" --async --concurrency 10 --connections 10
python3 "$here/measure.py" sample --pid "$server_pid" --http "$http" --skills "$work/skills" --seconds "$seconds" >"$work/samples" &
wait $! || fail "the soak ended early, the reason is above"
if [[ -n $csv ]]; then cp "$work/samples" "$csv"; fi
end_ghz

failed=
python3 "$here/measure.py" run "SelectMenu, $rps a second over 10 connections, open loop" "$work/ghz.json" --planned "$calls" \
    --rate "$rps" --before "$work/before" --http "$http" || failed=1
python3 "$here/measure.py" verdict "$work/samples" || failed=1
[[ -z $failed ]] || fail "the soak failed, the reasons are above"
echo "soak: passed"
