"""The benches are run by people, not here. Each of those in Python at least begins: it finds what it stands on, and says how it is used.
So does each stage of `bench scale`, which begins only when it is asked for."""
import os
import subprocess
import sys

import pytest

from harness.broker import REPOSITORY
from harness.cluster import build_folder

BENCHES = sorted(file for file in (REPOSITORY / 'bench').iterdir() if file.is_file() and os.access(file, os.X_OK)
                 and any(line.startswith('# needs:') and 'python' in line for line in file.read_text().splitlines()[:3]))


def test_there_are_some():
    assert len(BENCHES) > 10


@pytest.mark.parametrize('bench', BENCHES, ids=lambda file: file.name)
def test_a_bench_says_how_it_is_used(bench):
    environment = {**os.environ, 'STARLING_PYTHON': sys.executable, 'STARLING_BUILD': str(build_folder()),
                   'STARLING_CACHE': str(REPOSITORY / '.cache'), 'PYTHONPATH': str(REPOSITORY / 'tests/e2e'),
                   'PATH': os.path.dirname(sys.executable) + os.pathsep + os.environ['PATH']}  # as ./dev bench
    done = subprocess.run([bench, '--help'], capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith('usage: ')


@pytest.mark.parametrize('stage', sorted(file.stem for file in (REPOSITORY / 'bench').glob('scale_*.py')))
def test_a_stage_of_scale_finds_what_it_stands_on(stage):
    done = subprocess.run([sys.executable, '-c', f'import {stage}; {stage}.run'], cwd=REPOSITORY / 'bench', capture_output=True, text=True,
                          env={**os.environ, 'PYTHONPATH': str(REPOSITORY / 'tests/e2e'), 'PYTHONDONTWRITEBYTECODE': '1'}, timeout=60)
    assert done.returncode == 0, done.stderr
    assert f"'{stage.removeprefix('scale_')}'" in (REPOSITORY / 'bench/scale.py').read_text(), 'and it is among the stages'
