# Development keys, made at first use and never committed, and the tokens signed with them.
# shellcheck shell=bash

KEY_FILE=$RUN/keys/hs256.key
PEER_TOKEN_FILE=$RUN/keys/peer.token
NOTIFY_KEY_FILE=$RUN/keys/notify.key

random_hex() { od -An -v -tx1 -N "$1" /dev/urandom | tr -d ' \n'; }

make_keys() {
    local file
    for file in "$KEY_FILE" "$PEER_TOKEN_FILE" "$NOTIFY_KEY_FILE"; do
        [ ! -s "$file" ] || continue
        (umask 077 && mkdir -p "$RUN/keys" && random_hex 32 >"$file")
    done
}

base64url() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }

# make_token SUBJECT SCOPE SECONDS
make_token() {
    command -v openssl >/dev/null || need_packages openssl >&2
    make_keys
    local now scope='' signed key
    now=$(date +%s)
    [ -z "$2" ] || scope=",\"scope\":\"$2\""
    signed=$(printf '{"alg":"HS256","typ":"JWT"}' | base64url)
    signed=$signed.$(printf '{"sub":"%s","iat":%d,"exp":%d%s}' "$1" "$now" $((now + $3)) "$scope" | base64url)
    key=$(od -An -v -tx1 "$KEY_FILE" | tr -d ' \n')
    printf '%s.%s\n' "$signed" "$(printf %s "$signed" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | base64url)"
}

command_token() {
    local user='' scope='' ttl=86400
    while [ $# -gt 0 ]; do
        case $1 in
        --scope) scope=${2:?--scope needs a word}; shift 2 ;;
        --ttl) ttl=${2:?--ttl needs seconds}; shift 2 ;;
        -*) die "unknown option of token: $1" ;;
        *) [ -z "$user" ] || die "token takes one user"; user=$1; shift ;;
        esac
    done
    [[ $user =~ ^[0-9]+$ || ( -n $user && $scope == *gateway* && $user =~ ^[A-Za-z0-9._-]+$ ) ]] ||
        die "usage: ./dev token USER [--scope gateway|moderator] [--ttl SECONDS]" "USER is a number from 0 to 9223372036854775807."
    [[ $scope =~ ^[a-z\ ]*$ ]] || die "a scope is of small letters"
    [[ $ttl =~ ^-?[0-9]+$ ]] || die "--ttl needs a number of seconds"
    make_token "$user" "$scope" "$ttl"
}
