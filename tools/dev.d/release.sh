# Releases: one version, tried, tagged and packed.
# shellcheck shell=bash

# check_release VERSION: dies unless it can be the next one, of a tree that git has all of.
check_release() {
    local changed
    changed=$(git -C "$ROOT" status --porcelain)
    [ -z "$changed" ] || die "there are changes that are not committed" "$changed" "Commit them, or put them away: git stash -u"
    ! git -C "$ROOT" rev-parse -q --verify "refs/tags/v$1" >/dev/null || die "v$1 is tagged already" "Take the next version."
}

# The commit that an upgrade to the new version begins at: the last release, or the one that is given.
upgrade_from() {
    if [ -n "$1" ]; then
        git -C "$ROOT" rev-parse -q --verify "$1^{commit}" || die "there is no commit $1"
    else
        git -C "$ROOT" describe --tags --abbrev=0 --match 'v*' HEAD 2>/dev/null ||
            die "no release is tagged here" "Fetch the tags: git fetch --tags --unshallow" \
                "For the first release, say which commit people run so far: --from COMMIT"
    fi
}

# take_back COMMIT: to where the tree was before a release that failed. Nothing is tagged yet.
take_back() {
    if git -C "$ROOT" reset -q --keep "$1"; then
        say "Nothing is released, and the tree is as before. Mend what failed, and try again."
    else
        say "Nothing is released, but the commit of the version is still there: git reset --keep $1"
    fi
}

# set_version VERSION: everywhere, in a commit.
set_version() {
    "$ROOT/tools/check/version" --release "$1" "$(date -u +%F)" || die "the version cannot be set" "Mend what stands above."
    git -C "$ROOT" commit -qam "Version $1" || {
        git -C "$ROOT" reset -q --hard # there was no change but that of the version
        die "the version cannot be committed" "See what git says above; a hook may have refused it."
    }
}

# test_upgrade COMMIT: from its daemons to these, one after the other, under load.
test_upgrade() {
    say "Upgrading from $1 under load"
    prepare_e2e build
    STARLING_UPGRADE=1 STARLING_UPGRADE_FROM=$1 pytest_in build test_upgrade.py ||
        die "the upgrade from $1 failed" "Run it alone: STARLING_UPGRADE=1 STARLING_UPGRADE_FROM=$1 ./dev test test_upgrade"
}

# source_package VERSION: what git has of that commit, with the same bytes each time, beside the packages; and the sums of all.
source_package() {
    local folder=$ROOT/build-package/debs
    mkdir -p "$folder"
    rm -f "$folder"/starling-*.tar.gz "$folder/SHA256SUMS"
    git -C "$ROOT" archive --prefix="starling-$1/" HEAD | gzip -9n >"$folder/starling-$1.tar.gz"
    (cd "$folder" && sha256sum -- * >SHA256SUMS.part && mv SHA256SUMS.part SHA256SUMS)
}

command_release() {
    local version='' from='' untried='' before
    while [ $# -gt 0 ]; do
        case $1 in
        --from) from=${2:?--from COMMIT}; shift ;;
        --untried) untried=1 ;;
        -*) die "unknown option of release: $1" "./dev help shows them." ;;
        *) version=$1 ;;
        esac
        shift
    done
    [ -n "$version" ] || die "usage: ./dev release VERSION [--from COMMIT] [--untried]"
    check_release "$version"
    [ -n "$untried" ] || from=$(upgrade_from "$from")
    before=$(git -C "$ROOT" rev-parse HEAD)
    # shellcheck disable=SC2064 # that commit, not what the variable says then
    trap "take_back $before" EXIT
    set_version "$version"
    if [ -z "$untried" ]; then
        command_package --twice
        test_upgrade "$from"
    fi
    source_package "$version"
    git -C "$ROOT" tag -a "v$version" -m "starling $version${untried:+, with neither packages built nor the upgrade tried}"
    trap - EXIT
    say "v$version is tagged, and lies in build-package/debs"
    note "Publish it: git push origin HEAD v$version"
}
