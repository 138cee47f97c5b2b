# Debian packages: built here, built twice and compared, and tried in a fresh Debian.
# shellcheck shell=bash

PACKAGE_PROGRAMS=(starling starling-ingest starling-router starling-fanout starling-feed starling-comments starling-places
    starling-history-sink starling-moderation starling-load)

# The last commit's time stands for the time of a build, so that the same commit gives the same bytes.
package_epoch() { git -C "$ROOT" log -1 --format=%ct 2>/dev/null || stat -c %Y "$ROOT/CMakeLists.txt"; }

# repack_symbols FILE: cpack writes whole paths of the building machine into its checksums.
repack_symbols() {
    local tree
    tree=$(mktemp -d)
    dpkg-deb -R "$1" "$tree"
    sed -i 's:  .*/usr/:  usr/:' "$tree/DEBIAN/md5sums"
    dpkg-deb --root-owner-group -Zxz -b "$tree" "$1" >/dev/null
    rm -r "$tree"
}

# package_in FOLDER: builds that checkout, and leaves packages and their bill of materials in FOLDER/build-package/debs.
package_in() {
    local folder=$1 build=$1/build-package debs version symbols
    SOURCE_DATE_EPOCH=$(package_epoch)
    export SOURCE_DATE_EPOCH CCACHE_DISABLE=1 # a cache of the compiler may put other names of files into the debug symbols
    quietly "Configuring $build" cmake -S "$folder" --preset package -DWARNINGS_AS_ERRORS=OFF
    quietly "Building $build" cmake --build "$build" --target "${PACKAGE_PROGRAMS[@]}" pages
    debs=$build/packaging/debs
    rm -f "$debs"/*.deb "$debs"/*.ddeb
    quietly "Packing $build" env -C "$build" cpack
    for symbols in "$debs"/*.ddeb; do repack_symbols "$symbols"; done
    rm -rf "$build/debs"
    mkdir "$build/debs"
    mv "$debs"/*.deb "$debs"/*.ddeb "$build/debs"
    version=$(dpkg-deb -f "$build"/debs/starling_*.deb Version)
    (cd "$build" && "$folder/packaging/sbom.py" "$version" "$folder/web/package-lock.json" "${PACKAGE_PROGRAMS[@]}" \
        >"debs/starling_$version.cdx.json")
}

# The same checkout elsewhere gives the same bytes.
package_twice() {
    local copy file
    copy=$(mktemp -d)
    say "Building the packages again, in another folder"
    (cd "$ROOT" && git ls-files -coz --exclude-standard | tar --null -T - -cf -) | tar -xf - -C "$copy"
    cp -rp "$ROOT/web/dist" "$copy/web/"
    package_in "$copy"
    for file in "$ROOT"/build-package/debs/*; do
        cmp "$file" "$copy/build-package/debs/$(basename "$file")" || die "not the same bytes: $(basename "$file")" "The other one is in $copy."
        note "same bytes: $(basename "$file")"
    done
    rm -r "$copy"
}

# fresh_debian FOLDER [CODENAME]: a Debian of that release, or of this one, with nothing installed; fetched once, and copied.
fresh_debian() {
    local codename base mirror
    need_packages debootstrap
    codename=${2:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
    base=$CACHE/fresh-$codename
    mirror=$(apt-get indextargets --format '$(REPO_URI)' | grep -v security | head -n 1)
    if [ ! -d "$base" ]; then
        say "Fetching a fresh Debian $codename"
        quietly "debootstrap" as_root debootstrap --variant=minbase "$codename" "$base.part" "$mirror"
        as_root mv "$base.part" "$base"
    fi
    as_root cp -a "$base/." "$1"
    as_root cp -L /etc/resolv.conf /etc/hosts "$1/etc/"
}

# in_debian FOLDER COMMAND: as root of that Debian; the mount ends with the command.
in_debian() {
    # shellcheck disable=SC2016 # the inner shell expands them
    as_root unshare --mount sh -c 'mount -t proc proc "$1/proc" && exec chroot "$1" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin \
        LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive sh -c "$2"' sh "$1" "$2"
}

# Installs the packages in a fresh Debian and starts each unit's daemon there, against a real Kafka.
package_check() {
    local root
    fetch_kafka
    need_venv
    root=$(mktemp -d)
    fresh_debian "$root"
    as_root mkdir "$root/debs"
    as_root cp "$ROOT"/build-package/debs/*.deb "$root/debs/"
    say "Installing the packages in $root"
    quietly "Installing the packages" in_debian "$root" \
        'apt-get update -q && apt-get install -y -q --no-install-recommends /debs/*.deb'
    say "Starting each unit's daemon"
    as_root unshare --net --mount --pid --fork --kill-child "$VENV/bin/python" "$ROOT/tests/package/installed.py" "$root" "$KAFKA_LIB"
    quietly "Removing the packages" in_debian "$root" 'dpkg --purge starling starling-cli'
    as_root rm -rf "$root"
}

command_package() {
    local twice='' check=''
    while [ $# -gt 0 ]; do
        case $1 in
        --twice) twice=1 ;;
        --check) check=1 ;;
        *) die "unknown option of package: $1" "./dev help shows them." ;;
        esac
        shift
    done
    lock
    need_packages "${BUILD_PACKAGES[@]}" nodejs npm ca-certificates dpkg-dev file
    build_web
    say "Building the packages"
    package_in "$ROOT"
    [ -z "$twice" ] || package_twice
    [ -z "$check" ] || package_check
    say "The packages are in build-package/debs"
    ls -1 "$ROOT/build-package/debs"
}
