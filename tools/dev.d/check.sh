# Static checks. Each prints what it found and counts; all run before the verdict.
# shellcheck shell=bash

command_check() {
    [ $# -eq 0 ] || die "check takes no arguments"
    lock
    need_packages "${BUILD_PACKAGES[@]}" "${CHECK_PACKAGES[@]}" libcmocka-dev
    need_venv
    build_sanitized # makes compile_commands.json and the generated headers
    fetch_page_libraries # among them the linter
    local failed=() name
    for name in include-law format docs commands version length names circles tests shell python javascript analysis; do
        say "Check: $name"
        "$ROOT/tools/check/$name" || failed+=("$name")
    done
    [ "${#failed[@]}" -eq 0 ] || die "checks failed: ${failed[*]}"
    say "All checks passed"
}
