# The whole pipeline on this machine: up, down, status.
# shellcheck shell=bash

DAEMONS=(ingest router fanout feed comments places history-sink moderation)

DEMO=$RUN/demo # what the page's demonstration has

declare -A OPS_PORT=([ingest]=9110 [router]=9120 [fanout]=9130 [history-sink]=9140 [feed]=9150 [comments]=9160 [moderation]=9170 [places]=9180)
declare -A PEER_PORT=([ingest]=9210 [router]=9220 [fanout]=9230 [history-sink]=9240 [feed]=9250 [comments]=9260 [moderation]=9270 [places]=9280)

# The settings that a daemon needs to be a part of this pipeline. instance counts from 0.
daemon_properties() {
    local kind=$1 instance=$2 name=$3 ops peer
    ops=$(free_port $((OPS_PORT[$kind] + instance)))
    peer=$(free_port $((PEER_PORT[$kind] + instance)))
    cat <<PROPERTIES
# Written by ./dev up; changes are lost. Use ./dev up --set $kind:key=value.
kafka.bootstrap.servers=$(kafka_address)
ops.listen=127.0.0.1:$ops
peer.listen=127.0.0.1:$peer
peer.token=$(cat "$PEER_TOKEN_FILE")
auth.hs256.key.file=$KEY_FILE
data.dir=$RUN/data/$name
PROPERTIES
    case $kind in
    ingest)
        echo "ingest.listen=127.0.0.1:$(free_port 8080)"
        echo "ingest.drain.notice.s=0"
        echo "web.dir=$ROOT/web/dist"
        echo "web.ws.url=$(ws_url)"
        echo "web.push.url=$(push_url)/push"
        # Tokens for everybody are for this machine alone: the gateway refuses this with another address.
        [[ " ${SETTINGS[*]-} " == *ingest.listen=* ]] || echo "web.demo.dir=$DEMO"
        echo "web.map.geojson=$RUN/city.geojson"
        echo "web.map.attribution=An invented city"
        ;;
    fanout)
        echo "edge.listen=127.0.0.1:$(fanout_port)"
        echo "edge.drain.s=1"
        ;;
    router) echo "notify.approaches=true" ;;
    feed)
        echo "notify.url=$(push_url)/notify"
        echo "notify.key.file=$NOTIFY_KEY_FILE"
        ;;
    history-sink) echo "history.dir=$RUN/history" ;;
    esac
    settings_of "$kind"
}

# The settings of the command line that are for that kind of daemon.
settings_of() {
    local kind=$1 setting
    for setting in ${SETTINGS[@]+"${SETTINGS[@]}"}; do
        if [[ $setting == "$kind:"* ]]; then
            echo "${setting#*:}"
        elif ! names_daemon "$setting" && knows "$kind" "${setting%%=*}"; then
            echo "$setting"
        fi
    done
}

# The settings of the programs of commands: those of the daemons, as far as they have them.
command_properties() {
    local setting
    cat <<PROPERTIES
kafka.bootstrap.servers=$(kafka_address)
auth.hs256.key.file=$KEY_FILE
peer.token=$(cat "$PEER_TOKEN_FILE")
ws.url=$(ws_url)
PROPERTIES
    for setting in "${SETTINGS[@]}"; do
        case $setting in kafka.* | topics.*) echo "$setting" ;; esac
    done
}

# Where the gateway and the daemons that run are reached: known once they are started.
running_addresses() {
    local file addresses=()
    for file in "$RUN"/*-[0-9]*.properties; do
        [ ! -e "$file" ] || addresses+=("$(property "$file" ops.listen)")
    done
    echo "api.url=$(page_url)"
    local IFS=,
    echo "ops.addresses=${addresses[*]}"
}

# names_daemon SETTING: is it for one kind of daemon, such as feed:batch.records=10?
names_daemon() {
    local kind
    for kind in "${DAEMONS[@]}"; do [[ $1 != "$kind:"* ]] || return 0; done
    return 1
}

# knows KIND KEY: is that a setting of that daemon? Everything of librdkafka's is.
knows() {
    [[ $2 == kafka.* ]] || "$ROOT/build/starling-$1" --help | grep -qE "^  ${2//./\\.}( |\$)"
}

check_settings() {
    local setting kind key
    for setting in "${SETTINGS[@]}"; do
        key=${setting%%=*} kind=
        ! names_daemon "$setting" || continue
        for kind in "${DAEMONS[@]}"; do
            ! knows "$kind" "$key" || continue 2
        done
        die "no daemon has a setting $key" "docs/CONFIGURATION.md lists them."
    done
}

# All edges share one port. It is chosen once for a pipeline.
fanout_port() {
    local file=$RUN/fanout.port
    if [ ! -s "$file" ] || { ! any_running fanout && ! same_port "$(cat "$file")"; }; then free_port 8081 >"$file"; fi
    cat "$file"
}

any_running() {
    local file
    for file in "$RUN/pid/$1"-[0-9]*; do
        [ -e "$file" ] && running "$(basename "$file")" && return 0
    done
    return 1
}

# outdated NAME: a remark that a running daemon is of an older build.
outdated() {
    local pid
    read -r pid _ <"$RUN/pid/$1"
    [[ $(readlink "/proc/$pid/exe") != *' (deleted)' ]] || echo ", of an older build: ./dev down to renew it"
}

# renewed_properties NAME SETTINGS: what a running daemon was started with, with these settings in place of those of the same keys.
renewed_properties() {
    local text setting
    text=$(<"$RUN/$1.properties")
    while read -r setting; do
        # See daemon_properties.
        [[ $setting != ingest.listen=* ]] || text=$(grep -v '^web\.demo\.dir=' <<<"$text")
        [ -z "$setting" ] || text=$(grep -v "^${setting%%=*}=" <<<"$text")$'\n'$setting
    done <<<"$2"
    printf '%s\n' "$text"
}

# start_daemon KIND INSTANCE
start_daemon() {
    local kind=$1 instance=$2 name=$1-$2
    local properties
    if running "$name"; then
        properties=$(renewed_properties "$name" "$(settings_of "$kind")")
        if [ "$properties" = "$(<"$RUN/$name.properties")" ]; then
            note "$name runs$(outdated "$name")"
            return 0
        fi
        stop 20 "$name"
    else
        properties=$(daemon_properties "$kind" "$instance" "$name")
    fi
    mkdir -p "$RUN/data/$name" "$RUN/history" "$DEMO"
    (umask 077 && printf '%s\n' "$properties" >"$RUN/$name.properties")
    note "starting $name"
    start "$name" "$ROOT/build/starling-$kind" --config "$RUN/$name.properties"
    STARTED+=("$name")
}

starling() { program_of_commands starling "$@"; }

# program_of_commands PROGRAM ARGUMENT...: it runs, against the processes that `up` started.
program_of_commands() {
    local program=$1 settings=()
    shift
    # The settings stand behind a subcommand: without one, nothing but the usage or the version is printed.
    case ${1:-} in
    '' | -* | help) ;;
    *) [ ! -s "$RUN/starling.properties" ] || settings=(--config "$RUN/starling.properties") ;;
    esac
    "$ROOT/build/$program" "$@" "${settings[@]}"
}

start_city() {
    if running city; then
        note "city runs"
        return 0
    fi
    say "Starting a simulated city of $1 people"
    # Every 5 s rather than a phone's 30 s, so that there is something to look at.
    start city "$ROOT/build/starling-load" simulate --config "$RUN/starling.properties" --city "$1" --every 5 \
        --posts 0.4 --follows 0.05 --comments 1 --fire 240
    local waited
    for ((waited = 0; waited < 300; waited++)); do
        running city || fail_of city "the simulated city ended right after its start"
        ! grep -qE ' phones, [1-9][0-9]* online' "$(log_of city)" || return 0
        sleep 0.2
    done
    fail_of city "no phone of the simulated city is online after a minute"
}

page_url() { echo "http://$(property "$RUN/ingest-0.properties" ingest.listen)"; }

ws_url() { echo "ws://127.0.0.1:$(fanout_port)/"; }

# Those who have the most friends, a line each: how many, and the user.
sociable_users() {
    local counts
    counts=$(starling graph export | tr ' ' '\n' | sort -n | uniq -c | sort -rn) || return
    awk -v most="$1" 'NR <= most { print $1, $2 }' <<<"$counts"
}

# write_people: the people whom the page offers to be, from lines of sociable_users. Their tokens last a day, as those that are printed.
write_people() {
    local friends user name separator='' profiles
    profiles=$(starling replay profiles) || return
    {
        printf '{"people":['
        while read -r friends user; do
            name=$(grep -F "\"key\":$user," <<<"$profiles" | tail -n 1 | sed -nE 's/.*"name": ?"(([^"\\]|\\.)*)".*/\1/p')
            printf '%s\n{"user":%s,"name":"%s","friends":%s,"token":"%s"}' "$separator" "$user" "${name:-$user}" "$friends" \
                "$(make_token "$user" '' 86400)"
            separator=,
        done
        printf '\n]}\n'
    } >"$DEMO/people.json.new"
    mv "$DEMO/people.json.new" "$DEMO/people.json"
}

check_count() { [[ $2 =~ ^[1-9][0-9]*$ ]] || die "$1 needs a number of at least 1"; }

command_up() {
    local user city=300 routers=1 fanouts=1 feeds=1 comments=1 sinks=1 kind instance name
    SETTINGS=() STARTED=()
    while [ $# -gt 0 ]; do
        case $1 in
        --no-city) city=0; shift ;;
        --city | --routers | --fanouts | --feeds | --comments | --sinks)
            check_count "$1" "${2:-}"
            case $1 in
            --city) city=$2 ;;
            --routers) routers=$2 ;;
            --fanouts) fanouts=$2 ;;
            --feeds) feeds=$2 ;;
            --comments) comments=$2 ;;
            --sinks) sinks=$2 ;;
            esac
            shift 2
            ;;
        --set)
            [[ ${2:-} == *=* ]] || die "--set needs key=value"
            SETTINGS+=("$2")
            shift 2
            ;;
        *) die "unknown option of up: $1" "./dev help shows them." ;;
        esac
    done

    lock
    need_packages "${BUILD_PACKAGES[@]}" java maven nodejs npm ca-certificates openssl curl
    build_release
    check_settings
    build_web
    need_push
    make_keys
    start_kafka
    (umask 077 && command_properties >"$RUN/starling.properties")
    "$ROOT/build/starling-load" simulate --map "$RUN/city.geojson"
    gzip --best --keep --force "$RUN/city.geojson"

    say "Creating the topics"
    quietly "starling topics create" starling topics create

    say "Starting the daemons"
    declare -A wanted=([ingest]=1 [router]=$routers [fanout]=$fanouts [feed]=$feeds [comments]=$comments
        [places]=1 [history-sink]=$sinks [moderation]=1)
    for kind in "${DAEMONS[@]}"; do
        for ((instance = 0; instance < wanted[$kind]; instance++)); do start_daemon "$kind" "$instance"; done
    done
    for name in ${STARTED[@]+"${STARTED[@]}"}; do
        wait_ready "$name" "$(property "$RUN/$name.properties" ops.listen)" 60
        note "$name is ready"
    done
    running_addresses >>"$RUN/starling.properties"
    start_push
    [ "$city" = 0 ] || start_city "$city"

    say "starling is up: $(page_url)/"
    if [ "$city" != 0 ]; then
        local users
        users=$(sociable_users 12) || die "the friendships cannot be read"
        (umask 077 && write_people <<<"$users") || die "the city's people cannot be read"
        user=$(awk 'NR == 1 { print $2 }' <<<"$users")
        note "The city's people are users 1 to $city. The page lets you be one of them. $user has the most friends (the token lasts a day):"
        note "$(page_url)/#token=$(make_token "$user" '' 86400)&at=52.52,13.405"
    fi
    note "Sign in as anybody: ./dev token USER    Logs: run/log/    Stop: ./dev down"
}

command_down() {
    local wipe=
    case "${1:-}" in
    '') ;;
    --wipe) wipe=1 ;;
    *) die "usage: ./dev down [--wipe]" ;;
    esac
    lock
    say "Stopping"
    local file name edges=() others=()
    for file in "$RUN"/pid/*; do
        name=$(basename "$file")
        case $name in
        '*' | city | kafka) ;;
        fanout-*) edges+=("$name") ;;
        *) others+=("$name") ;;
        esac
    done
    end city
    # Edges first, so that phones' last reports still find everything behind them; Kafka last.
    stop 20 ${edges[@]+"${edges[@]}"}
    stop 20 ${others[@]+"${others[@]}"}
    # Kafka's orderly end writes each of its files to the disk, which takes ten seconds and more. What it has acknowledged stays without that,
    # and it looks through its log when it starts again.
    end kafka
    release_ports
    if [ -n "$wipe" ]; then
        rm -rf "$RUN"
        note "run/ is removed"
    fi
}

# What README's commands need, for `eval "$(./dev env)"`.
command_env() {
    [ -s "$RUN/starling.properties" ] || die "nothing was started yet: ./dev up"
    local page
    page=$(property "$RUN/starling.properties" api.url)
    printf '%s=%s\n' page "$page" api "$page/v1" ws "$(property "$RUN/starling.properties" ws.url)" kafka "$(kafka_address)"
}

command_status() {
    local file name
    for file in "$RUN"/pid/*; do
        [ -e "$file" ] || { say "nothing runs"; return 0; }
        name=$(basename "$file")
        case $name in
        kafka) printf '%-16s %-8s %s\n' kafka "$(running kafka && echo up || echo down)" "$(kafka_address)" ;;
        push) printf '%-16s %-8s %s\n' push "$(running push && echo up || echo down)" "$(push_url)" ;;
        city) printf '%-16s %-8s\n' city "$(running city && echo up || echo down)" ;;
        *)
            printf '%-16s %-8s ops http://%s  readyz %s\n' "$name" "$(running "$name" && echo up || echo down)" \
                "$(property "$RUN/$name.properties" ops.listen)" \
                "$(http_status "$(property "$RUN/$name.properties" ops.listen)" /readyz || true)"
            ;;
        esac
    done
    [ ! -s "$RUN/starling.properties" ] || command_env
}
