# compose/: two of every daemon in containers, by docker compose or podman-compose, whichever is there.
# shellcheck shell=bash

COMPOSE_BASE_RELEASE=trixie COMPOSE_BASE=localhost/starling-debian:13
COMPOSE_SECRETS=$ROOT/compose/secrets

# The program that reads compose.yaml, and the engine below it.
find_compose() {
    if docker compose version >/dev/null 2>&1 && docker info >/dev/null 2>&1; then
        ENGINE=docker COMPOSE=(docker compose)
    elif command -v podman >/dev/null && command -v podman-compose >/dev/null; then
        ENGINE=podman COMPOSE=(podman-compose)
        # systemd runs podman's health checks; podman starts nothing that has one where there is no systemd.
        [ -d /run/systemd/system ] || export DISABLE_HC_SYSTEMD=true
    else
        die "there is neither a docker compose with its engine nor podman-compose" "On Debian: apt install podman podman-compose"
    fi
}

# compose ARGUMENT...: the profile makes no service start, as the commands below name those that they mean.
compose() { (cd "$ROOT/compose" && COMPOSE_PROFILES=city "${COMPOSE[@]}" -p "$PROJECT" "${COMPOSE_FILES[@]}" "$@" 9>&-); }

# The older podman-compose tells all that it does, and has no exit code.
compose_quietly() { quietly "${COMPOSE[*]} $1" compose "$@"; }

# containers SERVICE: the ids of its containers.
containers() {
    "$ENGINE" ps -aq --filter "label=com.docker.compose.project=$PROJECT" --filter "label=com.docker.compose.service=$1"
}

# The services are what compose.yaml lists two spaces deep; the city only runs when it is asked for.
compose_services() {
    sed -n '/^services:/,/^secrets:/s/^  \([a-z0-9-]*\):$/\1/p' "$ROOT/compose/compose.yaml" | grep -vx "city${PACKAGES:+\|grafana}"
}

# Only the containers can read the files in the folder: they are mounted one by one, for a user who is not ours.
make_secrets() {
    local file
    (umask 077 && mkdir -p "$COMPOSE_SECRETS")
    for file in hs256.key peer.token grafana.password; do
        [ -s "$COMPOSE_SECRETS/$file" ] || random_hex 32 >"$COMPOSE_SECRETS/$file"
        chmod 644 "$COMPOSE_SECRETS/$file"
    done
}

# The base of all images where none can be pulled, with the certificates that this network may have of its own.
make_base_image() {
    ! "$ENGINE" image inspect "$COMPOSE_BASE" >/dev/null 2>&1 || return 0
    local root
    root=$(mktemp -d)
    fresh_debian "$root" "$COMPOSE_BASE_RELEASE"
    as_root find /usr/local/share/ca-certificates -name '*.crt' -exec install -D -m 644 -t "$root/usr/local/share/ca-certificates" {} +
    say "Making the base image $COMPOSE_BASE"
    as_root tar -C "$root" --exclude='./dev/*' --exclude='./proc/*' --exclude='./sys/*' -c . |
        quietly "$ENGINE import" "$ENGINE" import - "$COMPOSE_BASE"
    as_root rm -rf "$root"
}

# build_image NAME DOCKERFILE FOLDER: not by the older podman-compose, which does not tell when it fails.
build_image() {
    say "Building the image $1"
    quietly "Building the image $1" "$ENGINE" build -t "localhost/$1" -f "$ROOT/compose/$2" \
        ${STARLING_DEBIAN:+--build-arg "DEBIAN=$STARLING_DEBIAN"} "$3"
}

build_images() {
    if [ -n "$PACKAGES" ]; then
        fetch_kafka
        make_base_image
        build_image starling-kafka packages/kafka.Dockerfile "$ROOT/compose/packages"
        build_image starling-prometheus packages/prometheus.Dockerfile "$ROOT/compose/packages"
    fi
    build_image starling Dockerfile "$ROOT"
}

# wait_healthy SERVICE SECONDS: for daemons.
wait_healthy() {
    local id waited
    id=$(containers "$1")
    [ -n "$id" ] || die "$1 has no container"
    for ((waited = 0; waited < $2; waited++)); do
        ! "$ENGINE" exec "$id" healthy >/dev/null 2>&1 || return 0
        sleep 1
    done
    "$ENGINE" logs --tail 25 "$id" >&2
    die "$1 was not ready within $2 s"
}

start_services() {
    local service
    say "Starting $PROJECT by ${COMPOSE[*]}"
    # shellcheck disable=SC2046 # words are wanted
    compose_quietly up -d --no-build $(compose_services)
    for service in $(compose_services | grep -E "^($(IFS='|'; echo "${DAEMONS[*]}"))-"); do
        wait_healthy "$service" 300
        note "$service is ready"
    done
}

compose_up() {
    local city=
    while [ $# -gt 0 ]; do
        case $1 in
        --city) check_count --city "${2:-}"; city=$2; shift 2 ;;
        *) die "unknown option of compose up: $1" "./dev help shows them." ;;
        esac
    done
    build_images
    start_services
    if [ -n "$city" ]; then
        STARLING_CITY=$city compose_quietly up -d --no-build city
        note "a city of $city people lives"
    fi
    say "starling is up: http://$STARLING_PUBLISH:8080/"
    note "Be user 1: paste this token there: $(make_token 1 '' 86400)"
    note "The second gateway: port 8082. Edges: ws://$STARLING_PUBLISH:8081/ and :8083/. Prometheus: port 9090."
    [ -n "$PACKAGES" ] || note "Grafana: http://$STARLING_PUBLISH:3000/ (admin; the password is in compose/secrets/grafana.password)"
    note "Sign in as anybody: ./dev compose token USER    Stop: ./dev compose down"
}

# remove_volumes: by their names, as the older podman-compose does not know all of them again.
remove_volumes() {
    local volumes
    mapfile -t volumes < <("$ENGINE" volume ls -q | grep "^${PROJECT}_")
    [ "${#volumes[@]}" = 0 ] || quietly "Removing the volumes" "$ENGINE" volume rm "${volumes[@]}"
}

compose_down() {
    [[ ${1:-} =~ ^(--wipe)?$ ]] || die "usage: ./dev compose down [--wipe]"
    say "Stopping $PROJECT"
    compose_quietly down -t 60
    [ -z "${1:-}" ] || remove_volumes
}

# Kills and counts in a deployment of its own, which is removed unless something is wrong.
compose_check() {
    [ $# -eq 0 ] || die "usage: ./dev compose check"
    PROJECT=starling-check STARLING_PUBLISH=127.0.0.2
    local people=$PROJECT-people
    need_venv
    build_images
    "$ENGINE" rm -f "$people" >/dev/null 2>&1 || true
    compose_quietly down -t 1
    remove_volumes
    start_services
    say "Killing one of each while a city lives"
    compose_quietly run -d -T --no-deps --name "$people" city sleep infinity
    "$VENV/bin/python" "$ROOT/tests/compose/check.py" "$ENGINE" "$PROJECT" "$people" "http://$STARLING_PUBLISH:9090" ||
        die "the check failed" "The containers are still there: see $ENGINE ps and $ENGINE logs."
    "$ENGINE" rm -f "$people" >/dev/null 2>&1
    compose_down --wipe
    say "Lists, pages and threads were exact"
}

command_compose() {
    PACKAGES='' PROJECT=starling KEY_FILE=$COMPOSE_SECRETS/hs256.key
    if [ "${1:-}" = --packages ]; then
        PACKAGES=1
        shift
    fi
    local command=${1:-up}
    [ $# -eq 0 ] || shift
    find_compose
    COMPOSE_FILES=(-f compose.yaml)
    export STARLING_PUBLISH=${STARLING_PUBLISH:-127.0.0.1} STARLING_KAFKA_LIB=$KAFKA_LIB
    if [ -n "$PACKAGES" ]; then
        COMPOSE_FILES+=(-f compose.packages.yaml)
        export STARLING_DEBIAN=$COMPOSE_BASE
    fi
    make_secrets
    case $command in
    build) lock; build_images ;;
    up | down | check) lock; "compose_$command" "$@" ;;
    token) command_token "$@" ;;
    *) compose "$command" "$@" ;;
    esac
}
