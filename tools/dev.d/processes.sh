# Processes that outlive the script: NAME has run/pid/NAME ("PID START-TIME") and run/log/NAME.log. The start time, from
# /proc, tells a process that we started from another that has got its number since.
# shellcheck shell=bash

log_of() { echo "$RUN/log/$1.log"; }

start_time() {
    local stat fields
    stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
    # The second field, the command's name, may hold anything but ends with the last ')'.
    read -ra fields <<<"${stat##*) }"
    [ "${fields[0]}" != Z ] || return 1 # it has ended, and its parent does not know yet
    echo "${fields[19]}"
}

running() {
    local pid started
    read -r pid started 2>/dev/null <"$RUN/pid/$1" || return 1
    [ "$(start_time "$pid")" = "$started" ]
}

any_daemon_runs() {
    local file
    for file in "$RUN"/pid/*-[0-9]*; do
        ! running "$(basename "$file")" || return 0
    done
    return 1
}

# start NAME COMMAND...: in the background, in a session of its own, with its output in the log.
start() {
    local name=$1 pid
    shift
    mkdir -p "$RUN/pid" "$RUN/log"
    # The previous run's log is kept, once.
    [ ! -e "$(log_of "$name")" ] || mv "$(log_of "$name")" "$(log_of "$name").1"
    setsid "$@" </dev/null >"$(log_of "$name")" 2>&1 9>&- &
    pid=$!
    disown
    echo "$pid $(start_time "$pid")" >"$RUN/pid/$name"
}

any_of_runs() {
    local name
    for name; do ! running "$name" || return 0; done
    return 1
}

# signal SIGNAL NAME: returns 1 when it does not run.
signal() {
    local pid
    running "$2" || return 1
    read -r pid _ <"$RUN/pid/$2"
    kill "-$1" "$pid" 2>/dev/null || true
}

forget() {
    local name
    for name; do rm -f "$RUN/pid/$name" "$RUN/$name.properties"; done
}

# stop SECONDS NAME...: asks all of them to end, and waits; what still runs after SECONDS is killed.
stop() {
    local limit=$1 name waited asked=()
    shift
    for name; do ! signal TERM "$name" || asked+=("$name"); done
    for ((waited = 0; waited < limit * 10; waited++)); do
        any_of_runs ${asked[@]+"${asked[@]}"} || break
        sleep 0.1
    done
    for name in ${asked[@]+"${asked[@]}"}; do
        if signal KILL "$name"; then
            note "$name did not end within $limit s and was killed"
        else
            note "$name stopped"
        fi
    done
    forget "$@"
}

# end NAME: at once.
end() {
    if signal KILL "$1"; then
        while running "$1"; do sleep 0.05; done
        note "$1 stopped"
    fi
    forget "$1"
}

fail_of() {
    printf -- '---- the end of %s\n' "$(log_of "$1")" >&2
    tail -n 25 "$(log_of "$1")" >&2
    printf -- '----\n' >&2
    shift
    die "$@"
}

# wait_ready NAME ADDRESS SECONDS: until /readyz says 200.
wait_ready() {
    local name=$1 address=$2 limit=$3 status='' waited
    for ((waited = 0; waited < limit * 5; waited++)); do
        running "$name" || fail_of "$name" "$name ended before it was ready"
        status=$(http_status "$address" /readyz) || true
        [ "$status" != 200 ] || return 0
        [ $((waited % 50)) != 49 ] || note "still waiting for $name (/readyz: ${status:-no answer})"
        sleep 0.2
    done
    fail_of "$name" "$name was not ready within $limit s (/readyz at $address: ${status:-no answer})"
}
