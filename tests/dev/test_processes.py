"""How ./dev starts and ends processes (tools/dev.d/processes.sh). ctest's `dev_processes`."""
import ctypes
import os
import pathlib
import subprocess
import tempfile
import time
import unittest

DEV = pathlib.Path(__file__).resolve().parents[2] / 'tools/dev.d'
PR_SET_CHILD_SUBREAPER = 36


class Processes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.environment = {**os.environ, 'ROOT': folder.name, 'RUN': f'{folder.name}/run'}

    def do(self, script: str) -> str:
        sources = ''.join(f'. {DEV}/{part}.sh; ' for part in ('common', 'processes'))
        return subprocess.run(['bash', '-euc', f'set -o pipefail; {sources}RUN=$ROOT/run; {script}'], env=self.environment, capture_output=True,
                              text=True, timeout=60, check=True).stdout

    def test_what_has_ended_has_stopped_though_its_parent_does_not_wait(self):
        # What a shell leaves behind becomes ours, and we wait for none of it until the end.
        self.assertEqual(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0)
        self.addCleanup(lambda: [os.wait() for _ in range(2)])
        self.do('start one sleep 1000; start other sleep 1000')
        self.assertIn('both', self.do('running one && running other && echo both'))
        began = time.monotonic()
        said = self.do('stop 20 one; end other; running one || running other || echo neither')
        self.assertLess(time.monotonic() - began, 10)
        for words in ('one stopped', 'other stopped', 'neither'):
            self.assertIn(words, said)

    def test_who_does_not_end_when_asked_is_killed(self):
        self.do("start deaf bash -c 'trap : TERM; while :; do sleep 0.1; done'")
        self.assertIn('deaf did not end within 1 s and was killed', self.do('sleep 0.5; stop 1 deaf'))


if __name__ == '__main__':
    unittest.main()
