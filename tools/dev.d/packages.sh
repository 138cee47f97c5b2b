# Debian packages: what is missing is installed, and nothing is done when nothing is.
# shellcheck shell=bash

BUILD_PACKAGES=(gcc libc6-dev cmake ninja-build pkgconf python3
    librdkafka-dev libmicrohttpd-dev libwebsockets-dev libwebsockets-evlib-uv libuv1-dev libjansson-dev libjwt-dev libssl-dev
    libcurl4-openssl-dev libavro-dev libsnappy-dev librocksdb-dev libsqlite3-dev libutf8proc-dev zlib1g-dev)
TEST_PACKAGES=(libcmocka-dev python3-venv chromium man-db systemd iproute2 openssl curl jq)
CHECK_PACKAGES=(clang clang-format clang-tidy cppcheck shellcheck git)
FUZZ_PACKAGES=(clang llvm libclang-rt-dev)
CERTIFICATES=/etc/ssl/certs/ca-certificates.crt

# java_package jre|jdk: the newest Java that Kafka runs on, of those this Debian has. One that is installed already will do.
java_package() {
    local package
    for package in "openjdk-17-$1-headless" "openjdk-21-$1-headless"; do
        if installed "$package"; then
            echo "$package"
            return
        fi
    done
    for package in "openjdk-17-$1-headless" "openjdk-21-$1-headless"; do
        if [ -n "$(apt-cache madison "$package" 2>/dev/null)" ]; then
            echo "$package"
            return
        fi
    done
    die "this Debian has neither openjdk-17-$1-headless nor openjdk-21-$1-headless"
}

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

missing_of() {
    local package
    for package in "$@"; do installed "$package" || echo "$package"; done
}

refresh_package_lists() {
    [ -z "${PACKAGE_LISTS_FRESH:-}" ] || return 0
    quietly "Reading the package lists" as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q
    PACKAGE_LISTS_FRESH=1
}

# need_packages PACKAGE...: the words `java` and `javac` stand for whichever this Debian has.
need_packages() {
    command -v dpkg-query >/dev/null || die "this is not a Debian: install the packages of tools/dev.d/packages.sh by hand"
    local wanted=() missing package
    for package in "$@"; do
        # A machine that has Node.js or Java from elsewhere keeps it: Debian's npm even conflicts with the nodejs of others.
        case $package in
        java | javac | npm) command -v "$package" ;;
        nodejs) command -v node ;;
        maven) command -v mvn ;;
        *) false ;;
        esac >/dev/null && continue
        case $package in
        java) refresh_package_lists; package=$(java_package jre) ;;
        javac) refresh_package_lists; package=$(java_package jdk) ;;
        esac
        wanted+=("$package")
    done
    mapfile -t missing < <(missing_of "${wanted[@]}")
    [ "${#missing[@]}" -gt 0 ] || { trust_certificates; return 0; }
    say "Installing ${#missing[@]} packages: ${missing[*]}"
    refresh_package_lists
    quietly "Installing packages" as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -q --no-install-recommends "${missing[@]}"
    trust_certificates
}

# Prometheus for the tests, unpacked beside Kafka: Debian would start it as a service if it were installed.
PROMETHEUS=$CACHE/prometheus

fetch_prometheus() {
    [ -d "$PROMETHEUS" ] && return 0
    refresh_package_lists
    say "Fetching Prometheus"
    mkdir -p "$PROMETHEUS.part"
    (
        cd "$PROMETHEUS.part" || exit
        for package in prometheus promtool; do # Debian 12 has both in one
            [ -n "$(apt-cache madison "$package" 2>/dev/null)" ] || continue
            quietly "Fetching $package" apt-get download "$package"
            quietly "Unpacking $package" dpkg -x "${package}"_*.deb .
        done
    )
    mv "$PROMETHEUS.part" "$PROMETHEUS"
}

# A network may have certificates of its own, put where Debian wants them. Debian's Java reads what update-ca-certificates
# makes; node and pip have lists of their own unless told otherwise.
trust_certificates() {
    local certificate
    if command -v update-ca-certificates >/dev/null; then
        for certificate in /usr/local/share/ca-certificates/*.crt; do
            if [ -e "$certificate" ] && ! [ "$CERTIFICATES" -nt "$certificate" ]; then
                quietly "Installing this network's certificates" as_root update-ca-certificates
                break
            fi
        done
    fi
    if [ -r "$CERTIFICATES" ]; then
        export NODE_EXTRA_CA_CERTS=${NODE_EXTRA_CA_CERTS:-$CERTIFICATES}
        export PIP_CERT=${PIP_CERT:-$CERTIFICATES} REQUESTS_CA_BUNDLE=${REQUESTS_CA_BUNDLE:-$CERTIFICATES}
    fi
}
