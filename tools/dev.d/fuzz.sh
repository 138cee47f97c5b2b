# Fuzzing: libFuzzer over tests/fuzz, under the sanitizers. The fuzzer keeps what it learns in .cache/fuzz, and what fails, too.
# shellcheck shell=bash

build_fuzzers() { build_c build-fuzz fuzz; }

# fuzz_one SECONDS NAME: one line of what was done, and the input where it failed.
fuzz_one() {
    local seconds=$1 name=$2 home=$CACHE/fuzz/$2 seeds=$ROOT/tests/fuzz/corpus/$2 status=0
    mkdir -p "$home"
    # use_unaligned: avro-c keeps pointers in places that are not aligned, where LeakSanitizer does not look otherwise.
    ASAN_OPTIONS=detect_stack_use_after_return=1 LSAN_OPTIONS=use_unaligned=1 UBSAN_OPTIONS=print_stacktrace=1 \
        "$ROOT/build-fuzz/fuzz-$name" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$CACHE/fuzz/$name-" -use_value_profile=1 "$home" "$seeds" >"$CACHE/fuzz/$name.log" 2>&1 || status=$?
    if [ "$status" != 0 ]; then
        tail -n 60 "$CACHE/fuzz/$name.log"
        echo "fuzz $name: FAILED; the input is in .cache/fuzz, and belongs into tests/fuzz/corpus/$name with the repair"
        return 1
    fi
    printf 'fuzz %s: nothing found; %s executions, %s\n' "$name" \
        "$(sed -n 's/^stat::number_of_executed_units: *//p' "$CACHE/fuzz/$name.log")" \
        "$(grep -o 'cov: [0-9]* ft: [0-9]* corp: [^ ]*' "$CACHE/fuzz/$name.log" | tail -n 1)"
}

command_fuzz() {
    local seconds=60 names=("$@") name status=0
    if [[ ${1:-} =~ ^[1-9][0-9]*$ ]]; then
        seconds=$1
        names=("${@:2}")
    fi
    if [ "${#names[@]}" -eq 0 ]; then
        for name in "$ROOT"/tests/fuzz/*.c; do names+=("$(basename "$name" .c)"); done
    fi
    for name in "${names[@]}"; do
        [ -f "$ROOT/tests/fuzz/$name.c" ] || die "there is no fuzz target $name" "usage: ./dev fuzz [SECONDS] [NAME ...]"
    done
    lock
    need_packages "${BUILD_PACKAGES[@]}" "${FUZZ_PACKAGES[@]}"
    build_fuzzers
    say "Fuzzing for $seconds s each: ${names[*]}"
    export ROOT CACHE
    export -f fuzz_one
    # shellcheck disable=SC2016 # the inner shell expands them
    printf '%s\n' "${names[@]}" | xargs -P "$(nproc)" -I{} bash -c 'fuzz_one "$0" "$1"' "$seconds" {} || status=1
    [ "$status" = 0 ] || die "fuzzing found something"
    say "Fuzzing found nothing"
}
