# Building: the C code by CMake and Ninja, the page by npm.
# shellcheck shell=bash

# build_c FOLDER [CMAKE-ARGUMENT...]
build_c() {
    local folder=$ROOT/$1 status=0
    shift
    need_packages "${BUILD_PACKAGES[@]}"
    say "Building $(basename "$folder")"
    quietly "Configuring $(basename "$folder")" cmake -S "$ROOT" -B "$folder" -G Ninja "$@"
    # Ninja's own progress line where there is a terminal, else only what goes wrong.
    if [ -t 1 ]; then
        cmake --build "$folder" || status=$?
    else
        cmake --build "$folder" >"$folder/build.log" 2>&1 || { status=$?; grep -v '^\[' "$folder/build.log" | tail -n 60 >&2; }
    fi
    [ "$status" = 0 ] || die "building $(basename "$folder") failed (see above)"
}

build_release() { build_c build -DCMAKE_BUILD_TYPE=Release -DSTARLING_TESTS=OFF; }

build_sanitized() { build_c build-asan -DCMAKE_BUILD_TYPE=Debug -DSANITIZE=address,undefined -DSTARLING_TESTS=ON; }

# The page: web/public with the libraries it uses copied beside it. Again only when its inputs are newer.
build_web() {
    [ -f "$ROOT/web/package.json" ] || return 0
    local stamp=$ROOT/web/node_modules/.built
    if [ -e "$stamp" ] && [ -d "$ROOT/web/public/vendor" ] &&
        [ -z "$(find "$ROOT/web/package.json" "$ROOT/web/package-lock.json" -newer "$stamp" 2>/dev/null)" ]; then
        return 0
    fi
    need_packages nodejs npm ca-certificates
    say "Fetching the page's libraries"
    (cd "$ROOT/web" && quietly "npm ci" npm ci --no-audit --no-fund && quietly "npm run build" npm run build)
    touch "$stamp"
}
