"""The package is typed, and its types hold."""
import pathlib
import subprocess
import sys

PACKAGE = pathlib.Path(__file__).parent.parent / 'starling_client'


def test_the_types_hold(tmp_path):
    done = subprocess.run([sys.executable, '-m', 'mypy', '--strict', '--cache-dir', tmp_path, PACKAGE],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
