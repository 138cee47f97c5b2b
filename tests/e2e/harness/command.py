"""The `starling` command: as it fails, in the background, and with settings of its own."""
import re
import signal
import subprocess
import threading

from .cluster import build_folder
from .processes import clean_environment
from .waiting import PATIENCE, eventually


def fails(cluster, *arguments, code=1):
    """What it says on standard error when it fails with that exit code."""
    done = cluster.starling(*arguments, check=False)
    assert done.returncode == code, done
    assert 'Sanitizer' not in done.stderr and 'runtime error' not in done.stderr, done.stderr
    return done.stderr


class Running:
    """The command in the background; its lines as they come."""

    def __init__(self, cluster, *arguments):
        self._child = subprocess.Popen(
            [build_folder() / 'starling', *map(str, arguments), '--config', cluster.folder / 'starling.properties'],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1, env=clean_environment())
        self.lines = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._child.stdout:
            self.lines.append(line.rstrip('\n'))

    def wait_line(self, pattern, timeout=20.0 * PATIENCE):
        return eventually(lambda: next((line for line in self.lines if re.search(pattern, line)), None), timeout,
                          what=f'a line {pattern} in {self.lines}')

    def interrupt(self, number=signal.SIGINT):
        self._child.send_signal(number)
        return self.wait()

    def wait(self, timeout=20.0 * PATIENCE):
        code = self._child.wait(timeout)
        self._reader.join(5)
        return code, self._child.stderr.read()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._child.kill()
        self._child.wait()
