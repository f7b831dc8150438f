# shellcheck shell=bash
# What run.sh and soak.sh share: finding the programs, and a server that ends with the script.
# shellcheck disable=SC2034  # what is set here is read there

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
data=$here/turns.json
ghz_module=github.com/bojand/ghz/cmd/ghz@v0.120.0

fail() {
    printf '%s: %s\n' "$(basename "$0")" "$1" >&2
    exit 1
}

number() { # FLAG VALUE MIN MAX
    if [[ ! $2 =~ ^[1-9][0-9]{0,6}$ ]] || (($2 < $3 || $2 > $4)); then
        fail "$1 $2: a number from $3 to $4 is needed"
    fi
}

value() { # FLAG COUNT_OF_ARGUMENTS_LEFT
    (($2 > 1)) || fail "$1 needs a value"
}

find_ghz() {
    local gopath
    if ghz=$(command -v ghz); then return; fi
    gopath=$(go env GOPATH 2>/dev/null) || gopath=$HOME/go
    ghz=$gopath/bin/ghz
    # not @latest, which can resolve to a version of years ago
    [[ -x $ghz ]] || fail "no ghz on the path: install it with 'go install $ghz_module', which needs Go 1.20 or later"
}

find_maitred() { # PATH_OR_NOTHING
    local built=${CARGO_TARGET_DIR:-$root/target}/release/maitred
    if [[ -n $1 ]]; then
        maitred=$1
        [[ -f $maitred && -x $maitred ]] || fail "--maitred $maitred: no such program"
    elif [[ -x $built ]]; then
        maitred=$built
    else
        maitred=$(command -v maitred) || fail "no maitred: build it with 'cargo build --release', or give --maitred PATH"
    fi
}

# Sets server_pid, listen and http.
start_server() { # LISTEN [FLAG...]
    local log=$work/server.log serving
    : >"$log"
    # A directory of its own: the user's playbooks are not ours to measure or to change.
    "$maitred" serve --listen "$1" --data "$work/data" --http 127.0.0.1:0 --drain-notice-ms 0 --log-format json "${@:2}" 2>"$log" &
    server_pid=$!
    for ((i = 0; i < 300; i++)); do
        if serving=$(grep '"message":"serving"' "$log"); then
            listen=$(sed -n 's/.*"listen":"\([^"]*\)".*/\1/p' <<<"$serving")
            http=$(sed -n 's/.*"http":"\([^"]*\)".*/\1/p' <<<"$serving")
            return
        fi
        kill -0 "$server_pid" 2>/dev/null || break
        sleep 0.1
    done
    cat "$log" >&2
    fail "the server did not start, its log is above"
}

stop_server() {
    kill -TERM "$server_pid"
    wait "$server_pid" || fail "the server did not end cleanly after SIGTERM: code $?"
}

# Everything that takes time runs in the background and is waited for, so that a signal to the script ends it too.
clean_up() {
    local children
    mapfile -t children < <(jobs -p)
    if ((${#children[@]} > 0)); then
        kill -TERM "${children[@]}" 2>/dev/null || true
        wait "${children[@]}" 2>/dev/null || true
    fi
    rm -rf "$work"
}

# The bound is not ghz's own --max-duration: with that, ghz forgets --total.
start_ghz() { # SECONDS_AT_MOST TARGET OUTPUT [FLAG...]
    timeout --signal INT --kill-after 10 "$1" "$ghz" --config "$here/select.json" --data-file "$data" --skipFirst 0 \
        --format json --output "$3" "${@:4}" "$2" >"$work/ghz.log" 2>&1 &
    ghz_pid=$!
}

end_ghz() {
    local code=0
    wait "$ghz_pid" || code=$?
    # 124: its time was up; it has reported nevertheless, and too few calls
    if ((code != 0 && code != 124)); then
        cat "$work/ghz.log" >&2
        fail "ghz failed, what it said is above"
    fi
}

command -v python3 >/dev/null || fail "no python3 on the path: install it, it computes the quantiles"
work=$(mktemp -d)
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
