# Drills: a whole starling that people use is broken on purpose (tests/drills).
# shellcheck shell=bash

command_drill() {
    lock
    build_release
    fetch_kafka
    need_venv
    unlock
    export STARLING_BUILD=$ROOT/build STARLING_KAFKA_LIB=$KAFKA_LIB PYTHONPATH=$ROOT/tests:$ROOT/tests/e2e:$ROOT/clients/python
    exec "$VENV/bin/python" -m drills "$@"
}
