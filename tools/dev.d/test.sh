# Tests: ctest under the sanitizers, then pytest end to end against a broker of its own.
# shellcheck shell=bash

VENV=$CACHE/venv

# Most of a test's time is waiting: four files of tests at a time, each beside a broker of its own, in the order of tests/e2e/conftest.py.
BESIDE=(--numprocesses 4 --dist loadfile --no-loadscope-reorder)

# How often each test runs (--repeat): a test that fails now and then has a bug, or shows one.
ROUNDS=1

# A virtual environment with exactly what tests/e2e/requirements.txt says; made again when that changes.
need_venv() {
    need_packages python3-venv ca-certificates
    local requirements=$ROOT/tests/e2e/requirements.txt
    if [ -e "$VENV/.done" ] && cmp -s "$requirements" "$VENV/.done"; then return 0; fi
    say "Installing Python packages for the tests"
    rm -rf "$VENV"
    quietly "Making a Python environment" /usr/bin/python3 -m venv "$VENV"
    quietly "Installing Python packages" "$VENV/bin/pip" install --disable-pip-version-check -q -r "$requirements"
    cp "$requirements" "$VENV/.done"
}

# Where the unit tests' files go: they are synced thousands of times, so into memory if it has room and lets programs run.
place_of_unit_files() {
    local type blocks size
    read -r type blocks size < <(stat -f -c '%T %a %S' /dev/shm 2>/dev/null)
    if [ "$type" = tmpfs ] && [ $((blocks * size >> 30)) -ge 4 ] && ! grep -q ' /dev/shm [^ ]* [^ ]*noexec' /proc/mounts; then
        echo /dev/shm
    else
        echo "${TMPDIR:-/tmp}"
    fi
}

# test_unit [CTEST-ARGUMENT...]
test_unit() (
    say "Unit tests (ctest, address and undefined behaviour sanitizers)"
    again=()
    [ "$ROUNDS" = 1 ] || again=(--repeat "until-fail:$ROUNDS")
    TMPDIR=$(mktemp -d "$(place_of_unit_files)/starling-units-XXXXXX") || exit
    export TMPDIR
    note "their files are in $TMPDIR"
    trap 'rm -rf "$TMPDIR"' EXIT
    ctest --test-dir "$ROOT/build-asan" --output-on-failure -j "$(nproc)" --no-tests=error "${again[@]}" "$@"
)

# in_rounds COMMAND: all rounds, or up to the first that fails.
in_rounds() {
    local round
    for ((round = 1; round <= ROUNDS; round++)); do "$@" || return; done
}

test_web() {
    say "The page's and its client's tests (node)"
    in_rounds npm --prefix "$ROOT/web" --silent test
}

test_java() {
    say "The Java client's tests (JUnit), and its jars"
    # By this file the plugin would take documentation for current that lacks classes which have come since.
    rm -f "$ROOT/clients/java/target/maven-javadoc-plugin-stale-data.txt"
    in_java verify
    note "$(cat "$ROOT"/clients/java/target/surefire-reports/*.txt | awk '/^Tests run/ { n += $3 } END { print n }') tests passed"
}

test_page() {
    say "The page in Chromium against a stand-in server"
    in_rounds npm --prefix "$ROOT/web" --silent run test:page
}

# test_e2e BUILD-FOLDER [PYTEST-ARGUMENT...]
test_e2e() {
    local folder=$1
    shift
    say "End-to-end tests (pytest, against $folder)"
    if [ "$ROUNDS" -gt 1 ]; then
        repeat_e2e "$folder" "$@"
        return
    fi
    pytest_in "$folder" "$@"
}

# repeat_e2e BUILD-FOLDER [PYTEST-ARGUMENT...]: all rounds, whatever fails; at the end, in how many of them each test failed.
repeat_e2e() {
    local folder=$1 round status=0 code log
    shift
    log=$(mktemp)
    for ((round = 1; round <= ROUNDS; round++)); do
        note "round $round of $ROUNDS"
        code=0
        pytest_in "$folder" -rfE "$@" | tee -a "$log" || code=$?
        [ "$code" = 0 ] || status=$code
        [ "$code" != 5 ] || break # there are none
    done
    if [ "$status" = 1 ]; then
        say "Tests that failed, and in how many of $ROUNDS rounds"
        sed -nE 's/^(FAILED|ERROR) ([^ ]+).*/\2/p' "$log" | sort | uniq -c | sort -rn
    fi
    rm -f "$log"
    return "$status"
}

pytest_in() {
    local folder=$1
    shift
    (cd "$ROOT/tests/e2e" &&
        STARLING_BUILD=$ROOT/$folder STARLING_KAFKA_LIB=$KAFKA_LIB STARLING_KAFKA_TOOLS_LIB=$KAFKA_TOOLS_LIB \
            STARLING_CONNECT_LIB=$KAFKA_CONNECT_LIB STARLING_PROMETHEUS=$PROMETHEUS "$VENV/bin/python" -m pytest "$@")
}

# The attacks (test_abuse_*.py) have the machine to themselves: they hold how quickly others are served meanwhile.
test_beside() { test_e2e "$1" "${BESIDE[@]}" --ignore-glob='test_abuse_*'; }
test_abuse() { test_e2e "$1" -k test_abuse; }

# The unit tests of the libraries that every product stands on (docs/SPINE.md), and the counters that stand on them alone.
SPINE_UNITS='^test_(tasks|state|owner|decider|deliver|adjacency|watch|question|topics|fakes)'

# test_named BUILD-FOLDER PATTERN: the tests of either kind that match; it fails if there are none of either.
test_named() {
    local folder=$1 pattern=$2 units status=0 code=0
    units=$(ctest --test-dir "$ROOT/build-asan" -N -R "$pattern" | sed -n 's/^Total Tests: //p')
    [ "${units:-0}" = 0 ] || test_unit -R "$pattern" || status=$?
    test_e2e "$folder" -k "$pattern" || code=$?
    if [ "$code" = 5 ]; then # pytest found none
        [ "${units:-0}" != 0 ] || die "no test has a name that matches $pattern"
    elif [ "$code" != 0 ]; then
        status=$code
    fi
    return "$status"
}

prepare_unit() {
    build_sanitized
    build_web
    build_java
}

prepare_e2e() {
    build_sanitized # its tests against a real broker are run here, whatever the daemons are built with
    [ "$1" != build ] || build_release
    build_web
    build_java
    fetch_kafka
    fetch_kafka_tools
    fetch_kafka_connect
    fetch_prometheus
    need_venv
}

command_test() {
    local what='' folder=build status=0
    while [ $# -gt 0 ]; do
        case $1 in
        --sanitize) folder=build-asan; shift ;;
        --repeat)
            [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || die "--repeat takes a number: how often each test is to run"
            ROUNDS=$2
            shift 2
            ;;
        -*) die "unknown option of test: $1" ;;
        *) [ -z "$what" ] || die "test takes one word"; what=$1; shift ;;
        esac
    done
    lock
    need_packages "${BUILD_PACKAGES[@]}" "${TEST_PACKAGES[@]}" java javac maven nodejs npm ca-certificates
    [ "$what" = e2e ] || prepare_unit
    [ "$what" = unit ] || prepare_e2e "$folder"
    unlock
    case $what in
    unit)
        test_unit || status=$?
        test_web || status=$?
        test_java || status=$?
        ;;
    e2e)
        test_page || status=$?
        test_beside "$folder" || status=$?
        test_abuse "$folder" || status=$?
        ;;
    '') # Both, even if the first fails: one run then tells everything.
        test_unit || status=$?
        test_web || status=$?
        test_java || status=$?
        test_page || status=$?
        test_beside "$folder" || status=$?
        test_abuse "$folder" || status=$?
        ;;
    abuse) test_abuse "$folder" || status=$? ;;
    spine)
        test_unit -R "$SPINE_UNITS" || status=$?
        test_e2e "$folder" -k test_spine || status=$?
        ;;
    *) test_named "$folder" "$what" || status=$? ;;
    esac
    [ "$status" = 0 ] || die "tests failed"
    say "All tests passed"
}
