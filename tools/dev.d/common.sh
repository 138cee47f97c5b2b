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

# Ports are shared out among all checkouts of a user: PORTS has a file for each port that one of them took, "PID START-TIME RUN".
PORTS=${STARLING_DEV_PORTS:-/tmp/starling-dev-$(id -u)}

make_ports_folder() {
    (umask 077 && mkdir -p "$PORTS")
    [ -O "$PORTS" ] || die "$PORTS belongs to somebody else" "Set STARLING_DEV_PORTS to a folder of your own, the same in all checkouts."
}

# Does another checkout count on that port? It does while the ./dev that took the port runs, and while any process of the checkout
# does: a daemon whose Kafka has died goes on asking at its port, and must not find another checkout's Kafka there.
port_of_another() {
    local pid started run file
    read -r pid started run 2>/dev/null <"$PORTS/$1" || return 1
    [ "$run" != "$RUN" ] || return 1
    [ "$(start_time "$pid")" != "$started" ] || return 0
    for file in "$run"/pid/*; do
        ! (RUN=$run && running "$(basename "$file")") || return 0
    done
    return 1
}

# take_port PORT: false if somebody listens there, or another checkout counts on it. Call it with PORTS locked.
take_port() {
    ! port_taken "$1" && ! port_of_another "$1" && echo "$$ $(start_time $$) $RUN" >"$PORTS/$1"
}

# The first port from $1 on that nobody listens on, nor is about to: what has just been started has its port only written
# down. Further arguments are not to be taken either.
free_port() {
    local port=$1 reserved
    shift
    reserved=" $* $({ cat "$RUN"/*.properties 2>/dev/null || true; } | sed -n 's/.*127\.0\.0\.1:\([0-9]*\).*/\1/p' | tr '\n' ' ') "
    make_ports_folder
    (
        flock 8
        while [[ $reserved == *" $port "* ]] || ! take_port "$port"; do port=$((port + 1)); done
        echo "$port"
    ) 8>"$PORTS/lock"
}

# same_port PORT: takes it again, if it is still to be had.
same_port() {
    make_ports_folder
    (flock 8 && take_port "$1") 8>"$PORTS/lock"
}

# Nothing of this checkout runs any more.
release_ports() {
    local file
    for file in "$PORTS"/[0-9]*; do
        [[ $(cat "$file" 2>/dev/null) != *" $RUN" ]] || rm -f "$file"
    done
}

# http_status HOST:PORT PATH: prints the status code, nothing when there is no answer.
http_status() {
    (
        exec 3<>"/dev/tcp/${1%:*}/${1##*:}" || exit 1
        printf 'GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$2" "$1" >&3
        read -r -t 5 _ status _ <&3 && echo "$status"
    ) 2>/dev/null
}

# property FILE KEY: its value in a .properties file that we wrote; empty without the file.
property() { [ ! -r "$1" ] || sed -n "s/^$2=//p" "$1" | tail -n 1; }
