"""The C programs of tests/integration, which want a real broker. They are run as they were built with the sanitizers."""
import os
import pathlib
import subprocess

import pytest

from harness.broker import REPOSITORY
from harness.processes import clean_environment

BUILD = pathlib.Path(os.environ.get('STARLING_TEST_BUILD', REPOSITORY / 'build-asan'))
PROGRAMS = sorted(source.stem for source in (REPOSITORY / 'tests/integration').glob('test_*.c'))


@pytest.mark.parametrize('program', PROGRAMS)
def test_integration(broker, program):
    environment = {**clean_environment(), 'STARLING_TEST_BROKER': broker.bootstrap,
                   'UBSAN_OPTIONS': 'print_stacktrace=1'}
    done = subprocess.run([BUILD / program], cwd=REPOSITORY, env=environment, timeout=170, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(done.stdout)
    assert done.returncode == 0, f'{program}: {done.returncode}'
    assert '[  PASSED  ]' in done.stdout and 'SKIPPED' not in done.stdout, 'nothing was tested'
