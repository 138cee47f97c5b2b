"""A child process with a log file: started, stopped, killed, paused; never left behind."""
import ctypes
import os
import pathlib
import re
import signal
import subprocess
import time

from .waiting import PATIENCE, eventually

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)

# Each of these in a log is a bug found, wherever it came from.
REPORT = re.compile(r'ERROR: (?:Address|Leak|Thread|Memory)Sanitizer|WARNING: ThreadSanitizer|: runtime error: '
                    r'|Assertion .* failed|\*\*\* (?:buffer overflow|stack smashing) detected')


def die_with_parent():
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def clean_environment() -> dict:
    """Ours without STARLING_...: to a daemon that is configuration, and STARLING_BUILD is not meant as that."""
    return {name: value for name, value in os.environ.items() if not name.startswith('STARLING_')}


def stopped(task: pathlib.Path) -> bool:
    try:
        return (task / 'stat').read_text().rpartition(') ')[2].startswith('T')
    except (FileNotFoundError, ProcessLookupError):  # it has just ended
        return True


class Place:
    """Where processes run; this one is the machine itself, without more. `address` is theirs."""

    address = '127.0.0.1'

    def inside(self, command: list) -> list:
        """The command that runs that command there."""
        return command


HERE = Place()


class Process:
    """One command that may be started again and again; its output is appended to one log file."""

    def __init__(self, name: str, command: list, log: pathlib.Path, environment: dict | None = None):
        self.name, self.command, self.log_path = name, [str(part) for part in command], log
        self.environment = environment or {}
        self._child: subprocess.Popen | None = None
        self._told_to_end = True
        self._terminated = False

    @property
    def pid(self) -> int:
        assert self._child is not None, f'{self.name} was never started'
        return self._child.pid

    def launch(self):
        assert not self.alive(), f'{self.name} runs already'
        with open(self.log_path, 'ab') as log:
            self._child = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                           env={**clean_environment(), **self.environment}, preexec_fn=die_with_parent)
        self._told_to_end = self._terminated = False

    def alive(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def exit_code(self) -> int | None:
        """Of the last run; negative: the signal that ended it; None: it still runs."""
        return self._child.poll() if self._child else None

    def expect_end(self):
        """It will end by itself, and that is no problem."""
        self._told_to_end = True

    def wait(self, timeout=20.0 * PATIENCE) -> int:
        """Waits until it has ended by itself, and returns its exit code. For ends that a test expects."""
        self.expect_end()
        return self._child.wait(timeout)

    def terminate(self):
        """SIGTERM, without waiting. Once: a second one ends a daemon at once, with exit code 1."""
        self._told_to_end = True
        if not self._terminated:
            self._terminated = True
            self.signal(signal.SIGTERM)

    def stop(self, timeout=30.0) -> int:
        """SIGTERM, and the exit code. One that does not end in time is killed, which is an error."""
        if not self.alive():
            return self.exit_code()
        self.resume()
        self.terminate()
        try:
            return self._child.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f'{self.name} did not end within {timeout} s of SIGTERM') from None

    def kill(self):
        """kill -9, and waits for it."""
        self._told_to_end = True
        if self.alive():
            self._child.kill()
            self._child.wait()

    def pause(self):
        """Returns when no thread of it runs any more: the signal stops all of them only once one of them is given a processor."""
        self.signal(signal.SIGSTOP)
        if self.alive():
            tasks = pathlib.Path(f'/proc/{self.pid}/task')
            eventually(lambda: all(stopped(task) for task in tasks.iterdir()), what=f'{self.name} stands still')

    def resume(self):
        self.signal(signal.SIGCONT)

    def signal(self, number):
        if self.alive():
            self._child.send_signal(number)

    def log(self) -> str:
        return self.log_path.read_text(errors='replace') if self.log_path.exists() else ''

    def tail(self, lines=40) -> str:
        return '\n'.join(self.log().splitlines()[-lines:])

    def problem(self) -> str | None:
        """What is wrong with it, whatever the test is about: it died by itself, or a sanitizer reported."""
        report = REPORT.search(self.log())
        if report:
            text = self.log()
            return f'{self.name}: {text[max(0, report.start() - 200):report.start() + 4000]}'
        if self._child and not self._told_to_end and self._child.poll() is not None:
            return f'{self.name} ended by itself with {self._child.returncode}:\n{self.tail()}'
        return None

    def wait_for_log(self, text: str, timeout=10.0 * PATIENCE):
        deadline = time.monotonic() + timeout
        while text not in self.log():
            assert self.alive(), f'{self.name} ended by itself:\n{self.tail()}'
            assert time.monotonic() < deadline, f'{self.name} did not log {text!r} within {timeout} s:\n{self.tail()}'
            time.sleep(0.05)
