# Building: the C code by CMake and Ninja, the page by npm.
# shellcheck shell=bash

# build_c FOLDER PRESET: as CMakePresets.json has it, in the folder that it says.
build_c() {
    local folder=$ROOT/$1 status=0
    need_packages "${BUILD_PACKAGES[@]}"
    say "Building $(basename "$folder")"
    # A warning stops us with the compiler that we develop with. A person with a newer one wants starling, not its opinions.
    local strict=OFF
    [ "$(gcc -dumpversion)" != 12 ] || strict=ON
    quietly "Configuring $(basename "$folder")" cmake -S "$ROOT" --preset "$2" "-DWARNINGS_AS_ERRORS=$strict"
    # Ninja's own progress line where there is a terminal, else only what goes wrong.
    if [ -t 1 ]; then
        cmake --build "$folder" || status=$?
    else
        cmake --build "$folder" >"$folder/build.log" 2>&1 || { status=$?; grep -v '^\[' "$folder/build.log" | tail -n 60 >&2; }
    fi
    [ "$status" = 0 ] || die "building $(basename "$folder") failed (see above)"
}

build_release() { build_c build release; }

build_sanitized() { build_c build-asan asan; }

# What the page, its tests and its linter stand on: fetched when package.json or the lock has changed.
fetch_page_libraries() {
    local web=$ROOT/web stamp=$ROOT/web/node_modules/.fetched
    need_packages nodejs npm ca-certificates
    if [ ! -e "$stamp" ] || [ -n "$(find "$web/package.json" "$web/package-lock.json" -newer "$stamp")" ]; then
        say "Fetching the page's libraries"
        quietly "npm ci" npm --prefix "$web" ci --no-audit --no-fund
        touch "$stamp"
    fi
}

# The page, web/dist: made when its sources have changed.
build_web() {
    local web=$ROOT/web
    fetch_page_libraries
    if [ ! -e "$web/dist/index.html" ] ||
        [ -n "$(find "$web/node_modules/.fetched" "$web/build.js" "$web/client" "$web/public" -newer "$web/dist/index.html")" ]; then
        quietly "npm run build" npm --prefix "$web" run build
    fi
}

# in_java GOAL [ARGUMENT...]: Maven on the Java client, with what was fetched before.
in_java() { mvn -q -B -o -Dstyle.color=never "-Dmaven.repo.local=$CACHE/maven" -f "$ROOT/clients/java/pom.xml" "$@"; }

# The Java client with its tests, and what it stands on; again only when something has changed. Fetched once for each pom.xml.
build_java() {
    local java=$ROOT/clients/java stamp=$ROOT/clients/java/target/.built fetched
    fetched=$CACHE/maven/.fetched-$(cksum <"$java/pom.xml" | tr ' ' -)
    if [ -e "$fetched" ] && [ -e "$stamp" ] && [ -z "$(find "$java/pom.xml" "$java/src" -newer "$stamp")" ]; then return 0; fi
    need_packages java javac maven ca-certificates
    if [ ! -e "$fetched" ]; then
        say "Fetching what the Java client stands on"
        # One test is run and the jars are made, for Maven to see what it needs for that.
        quietly "Fetching by Maven" mvn -q -B "-Dmaven.repo.local=$CACHE/maven" -f "$java/pom.xml" package -Dtest=PartsTest
        touch "$fetched"
    fi
    say "Building the Java client"
    quietly "Building the Java client" in_java test-compile
    touch "$stamp"
}
