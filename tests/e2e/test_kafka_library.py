"""tests/integration/*.c, the tests of lib/kafka and lib/copies in C, against the run's broker."""
import os
import pathlib
import subprocess

import pytest

from harness.broker import REPOSITORY
from harness.cluster import build_folder

SOURCES = sorted((REPOSITORY / 'tests/integration').glob('test_*.c'))
TIMEOUT = 180


def program(name: str) -> pathlib.Path:
    """The release build has no tests, so that they may come from the sanitized one."""
    for folder in (build_folder(), REPOSITORY / 'build-asan'):
        if (folder / name).exists():
            return folder / name
    pytest.skip(f'{name} is not built: `./dev test unit` builds it')


def environment(broker) -> dict:
    return {**os.environ, 'STARLING_TEST_BROKER': broker.bootstrap}


SLOW = {'test_kafka_consumer': pytest.mark.slow}


@pytest.mark.parametrize('name', [pytest.param(source.stem, marks=SLOW.get(source.stem, ())) for source in SOURCES
                                  if source.stem != 'test_kafka_away'])
def test_program(broker, name):
    done = subprocess.run([program(name)], env=environment(broker), timeout=TIMEOUT, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0 and 'PASSED' in done.stdout, done.stdout
    assert 'SKIPPED' not in done.stdout, done.stdout


def test_broker_away(broker):
    """The program says when it wants the broker to go and to come back."""
    process = subprocess.Popen([program('test_kafka_away')], env=environment(broker), text=True, bufsize=1,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = []
    try:
        for line in process.stdout:
            said.append(line)
            if line.startswith('stop broker'):
                broker.stop()
            elif line.startswith('start broker'):
                broker.start()
            else:
                continue
            process.stdin.write('done\n')
        assert process.wait(TIMEOUT) == 0, ''.join(said)
    finally:
        process.kill()
        if not broker.alive():
            broker.start()
    assert 'start broker\n' in said
