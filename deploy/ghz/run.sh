#!/usr/bin/env bash
# Load test: what clients wait for SelectMenu and LoadPlaybook, and beside it what the server measured itself.
# The two differ because ghz needs processor time as well; on one machine most of what it measures is ghz.
set -euo pipefail
# shellcheck source=common.sh
source "$(dirname "$0")/common.sh"

usage() {
    cat <<'END'
usage: deploy/ghz/run.sh [--maitred PATH] [--calls N] [--rps N] [--quick] [--json] [--server HOST:PORT [--http HOST:PORT]]

  --maitred PATH      the program to start (target/release/maitred, or the one on the path)
  --calls N           calls of each run (20000)
  --rps N             calls a second of the run at a fixed rate (1000)
  --quick             some 400 calls in all, and no error allowed: for CI; its times mean nothing
  --json              one JSON document instead of text
  --server HOST:PORT  load a running server instead of starting one; --http is where its metrics are
END
}

maitred_given='' calls=20000 rps=1000 quick='' json='' server='' http=''
while (($# > 0)); do
    case $1 in
        --maitred | --calls | --rps | --server | --http)
            value "$1" $#
            case $1 in
                --maitred) maitred_given=$2 ;;
                --calls) calls=$2 ;;
                --rps) rps=$2 ;;
                --server) server=$2 ;;
                --http) http=$2 ;;
            esac
            shift 2
            ;;
        --quick) quick=1 && shift ;;
        --json) json=1 && shift ;;
        -h | --help) usage && exit ;;
        *) fail "$1: no such flag, see --help" ;;
    esac
done
number --calls "$calls" 200 200000
number --rps "$rps" 10 20000
[[ -z $http || -n $server ]] || fail "--http $http: it goes with --server; a server that is started here gets a port of its own"
if [[ -n $quick ]]; then calls=50 rps=100; fi
# a long run bears a few errors, more than 1% of them make it worthless
allowed=0.01
if [[ -n $quick ]]; then allowed=0; fi

find_ghz
if [[ -z $server ]]; then
    find_maitred "$maitred_given"
    start_server 127.0.0.1:0
else
    # only for the menu tokens that LoadPlaybook needs
    maitred=
    if [[ -n $maitred_given ]] || command -v maitred >/dev/null; then find_maitred "$maitred_given"; fi
    listen=$server
fi

runs=()
measure() { # NAME METHOD TARGET IN_FLIGHT CONNECTIONS RATE [FLAG...]
    local name=$1 method=$2 target=$3 in_flight=$4 connections=$5 rate=$6
    local cold=$((2 * in_flight)) limit=$((60 + calls / 200 + (rate ? calls / rate : 0))) out=$work/run${#runs[@]}.json sides=()
    if ((cold > calls / 2)); then cold=$((calls / 2)); fi
    if [[ -n $http ]]; then
        python3 "$here/measure.py" scrape "$http" >"$work/before"
        sides=(--before "$work/before" --http "$http")
    fi
    start_ghz "$limit" "$target" "$work/ghz.json" --call "maitred.v1.MenuService/$method" --total "$calls" \
        --concurrency "$in_flight" --connections "$connections" "${@:7}"
    end_ghz
    python3 "$here/measure.py" run "$name" "$work/ghz.json" --method "$method" --planned "$calls" --cold "$cold" \
        --rate "$rate" --errors-allowed "$allowed" "${sides[@]}" ${json:+--json} >"$out" || {
        cat "$out" >&2
        fail "the load test failed in the run that is named above"
    }
    if [[ -z $json ]]; then cat "$out"; fi
    runs+=("$out")
}

warm_up() { # TARGET
    local total=2000
    if [[ -n $quick ]]; then total=25; fi
    start_ghz 60 "$1" "$work/warm-up.json" --total "$total" --concurrency 10 --connections 10
    end_ghz
}

say() {
    if [[ -z $json ]]; then printf '%s\n' "$1"; fi
}

say "$calls calls a run, the first ones (two for each that is in flight) not timed; server and ghz share $(nproc) processors"
warm_up "$listen"
measure "SelectMenu, 1 in flight" SelectMenu "$listen" 1 1 0
measure "SelectMenu, 8 in flight over 8 connections" SelectMenu "$listen" 8 8 0
measure "SelectMenu, 50 in flight over 1 connection" SelectMenu "$listen" 50 1 0
measure "SelectMenu, 50 in flight over 10 connections" SelectMenu "$listen" 50 10 0
# async: a call begins when it is due, whether the ones before it have ended or not
measure "SelectMenu, $rps a second over 10 connections, open loop" SelectMenu "$listen" 10 10 "$rps" --rps "$rps" --async

if [[ -n $maitred ]]; then
    for turn in "a customer wants their money back" "a code review of my branch" "a runbook for the pump" "compare vendors"; do
        "$maitred" client --server "$listen" select --json "$turn"
    done | python3 "$here/measure.py" loads >"$work/loads.json"
fi
if [[ ! -s $work/loads.json ]]; then
    say "LoadPlaybook was not called: it needs menu tokens; give --maitred PATH"
elif [[ $(<"$work/loads.json") == "[]" ]]; then
    say "LoadPlaybook was not called: the menus of four turns on the starter packs are empty on this server"
else
    data=$work/loads.json measure "LoadPlaybook, 8 in flight over 8 connections" LoadPlaybook "$listen" 8 8 0
fi

if [[ -z $server ]]; then
    stop_server
    start_server "unix:$work/socket"
    warm_up "$listen"
    measure "SelectMenu, 50 in flight over 10 connections of a Unix socket" SelectMenu "$listen" 50 10 0
fi

if [[ -n $json ]]; then
    python3 "$here/measure.py" document "maitred=$([[ -n $maitred ]] && "$maitred" --version)" "${runs[@]}"
elif [[ -n $quick ]]; then
    echo "ghz: $((${#runs[@]} * calls)) calls in ${#runs[@]} runs, none failed"
fi
