# Words, privileges, locking, and what can be known about the machine without any tool that a minimal Debian lacks.
# shellcheck shell=bash

RUN=$ROOT/run
CACHE=$ROOT/.cache

say() { printf '==> %s\n' "$*"; }
note() { printf '    %s\n' "$*"; }
die() {
    printf 'dev: %s\n' "$1" >&2
    shift
    for line in "$@"; do printf '     %s\n' "$line" >&2; done
    exit 1
}

# Runs a command as root: directly, or by sudo.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo -- "$@"
    else
        die "this needs root: $*" "Run it as root, or install sudo."
    fi
}

# Runs a command quietly; when it fails, says what was being done and shows the end of what it printed.
quietly() {
    local what=$1 log
    shift
    log=$(mktemp)
    if ! "$@" >"$log" 2>&1; then
        tail -n 40 "$log" >&2
        rm -f "$log"
        die "$what failed: $*"
    fi
    rm -f "$log"
}

# One `up`, `down` or fetch at a time in this checkout. Processes that are to outlive us are started with 9>&-.
lock() {
    mkdir -p "$CACHE"
    exec 9>"$CACHE/lock"
    flock -n 9 || { say "waiting for another ./dev to finish"; flock 9; }
}

unlock() { exec 9>&-; }

# Is something listening on that port of this machine?
port_taken() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# The first port from $1 on that nobody listens on, nor is about to: what has just been started has its port only written
# down. Further arguments are not to be taken either.
free_port() {
    local port=$1 reserved
    shift
    reserved=" $* $(cat "$RUN"/*.properties 2>/dev/null | sed -n 's/.*127\.0\.0\.1:\([0-9]*\).*/\1/p' | tr '\n' ' ') "
    while port_taken "$port" || [[ $reserved == *" $port "* ]]; do port=$((port + 1)); done
    echo "$port"
}

# http_status HOST:PORT PATH: prints the status code, nothing when there is no answer.
http_status() {
    (
        exec 3<>"/dev/tcp/${1%:*}/${1##*:}" || exit 1
        printf 'GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$2" "$1" >&3
        read -r -t 5 _ status _ <&3 && echo "$status"
    ) 2>/dev/null
}

# property FILE KEY: its value in a .properties file that we wrote.
property() { sed -n "s/^$2=//p" "$1" 2>/dev/null | tail -n 1; }
