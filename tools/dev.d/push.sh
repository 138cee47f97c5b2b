# The receiver of notify.url that tells people by Web Push (clients/python-push), in a Python environment of its own.
# shellcheck shell=bash

PUSH_VENV=$CACHE/push
PUSH_PACKAGES='cryptography|http-ece|py-vapid|pywebpush|requests|waitress'

# Of the versions that the tests have.
need_push() {
    local wanted
    wanted=$(grep -E "^($PUSH_PACKAGES)==" "$ROOT/tests/e2e/requirements.txt")
    [ "$wanted" != "$(cat "$PUSH_VENV/.done" 2>/dev/null)" ] || return 0
    need_packages python3-venv ca-certificates
    say "Installing Python packages for the push receiver"
    rm -rf "$PUSH_VENV"
    quietly "Making a Python environment" /usr/bin/python3 -m venv "$PUSH_VENV"
    # shellcheck disable=SC2086 # words are wanted
    quietly "Installing Python packages" "$PUSH_VENV/bin/pip" install --disable-pip-version-check -q $wanted
    printf '%s\n' "$wanted" >"$PUSH_VENV/.done"
}

# Daemons and the page are told of it before it runs. It is chosen once for a pipeline.
push_port() {
    local file=$RUN/push.port
    if [ ! -s "$file" ] || { ! running push && ! same_port "$(cat "$file")"; }; then free_port 8090 >"$file"; fi
    cat "$file"
}

push_url() { echo "http://127.0.0.1:$(push_port)"; }

# For the page at this machine's name as well as at its number.
start_push() {
    local page
    page=$(page_url)
    (umask 077 && make_token push gateway $((30 * 86400)) >"$RUN/keys/push.token") # read anew by one that runs
    if running push; then
        note "push runs"
        return 0
    fi
    note "starting push"
    start push env "PYTHONPATH=$ROOT/clients/python-push" "$PUSH_VENV/bin/python" -m starling_push --listen "127.0.0.1:$(push_port)" \
        --data "$RUN/data/push" --key-file "$NOTIFY_KEY_FILE" --token-file "$RUN/keys/push.token" --api "$page" \
        --contact mailto:nobody@localhost --origin "$page" --origin "${page/127.0.0.1/localhost}"
    wait_ready push "127.0.0.1:$(push_port)" 60
    note "push is ready"
}
