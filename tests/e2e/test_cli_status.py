"""`starling status --live`: the page in a terminal of its own, a pty. Covers cli/daemon_poll.c and cli/status_live.c."""
import fcntl
import os
import pty
import re
import signal
import struct
import termios

import pytest

from harness.cluster import build_folder
from harness.processes import clean_environment
from harness.waiting import eventually

ESCAPE = re.compile(r'\x1b\[[?0-9;]*[A-Za-z]')
SECOND_SCREEN, FIRST_SCREEN = '\x1b[?1049h', '\x1b[?1049l'


class Terminal:
    """A pty with the command in it."""

    def __init__(self, arguments, rows=24, columns=120, **environment):
        self.text = ''
        command = [str(part) for part in (build_folder() / 'starling', 'status', '--live', '--every', 1, *arguments)]
        self.master, slave = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(slave)
        self.pid = os.fork()
        if not self.pid:
            os.close(self.master)
            _login(slave)
            os.execve(command[0], command, {**clean_environment(), 'TERM': 'xterm', **environment})
        self.slave = slave  # kept open: it is asked for its settings when the command has ended
        os.set_blocking(self.master, False)

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))

    def type(self, keys):
        os.write(self.master, keys)

    def read(self) -> str:
        try:
            while part := os.read(self.master, 65536):
                self.text += part.decode()
        except BlockingIOError:
            pass
        return self.text

    def pages(self) -> list[list[str]]:
        """The lines of each whole picture, without escape sequences."""
        pictures = [picture.partition('\x1b[J') for picture in self.read().split('\x1b[H')[1:]]
        return [ESCAPE.sub('', picture).split('\r\n') for picture, whole, _ in pictures if whole]

    def page(self) -> list[str]:
        """The last one."""
        return (self.pages() or [[]])[-1]

    def row(self, address) -> str:
        return next((line for line in self.page() if address in line), '')

    def wait_row(self, address, *words, timeout=15):
        def shown():
            row = self.row(address)
            assert all(word in row for word in words), '\n'.join(self.page())
            return True

        eventually(shown, timeout)

    def wait(self) -> int:
        """The exit code."""
        def ended():
            self.read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            return (os.waitstatus_to_exitcode(status),) if pid else None

        code, = eventually(ended, what='the command ends')
        self.pid = 0
        self.read()
        return code

    def is_as_before(self):
        assert termios.tcgetattr(self.slave) == self.before
        assert self.text.count(SECOND_SCREEN) == self.text.count(FIRST_SCREEN) == 1
        assert self.text.index(SECOND_SCREEN) < self.text.index(FIRST_SCREEN)
        assert '\x1b[?25h' in self.text[self.text.index(SECOND_SCREEN):]  # the cursor is shown again

    def close(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.master)
        os.close(self.slave)


def _login(slave):
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for number in range(3):
        os.dup2(slave, number)


@pytest.fixture
def terminal():
    made = []

    def make(*arguments, **options) -> Terminal:
        made.append(Terminal(arguments, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_a_page_of_all_daemons_that_goes_on(make_cluster, terminal):
    cluster = make_cluster()
    cluster.start(ingests=1, routers=1, fanouts=0, sinks=0)
    gateway, router = cluster.ingest, cluster.routers[0]
    page = terminal(f'{gateway.ops},{router.ops}')
    page.wait_row(gateway.ops, 'ingest', 'ready', '%')  # a share of the CPU: there were two readings
    page.wait_row(router.ops, 'router', 'ready', ' 4 ', '%')
    eventually(lambda: page.page()[0].startswith('2 daemons: 2 ready '), 60, what='both are ready')
    titles, first, second = page.page()[1:4]
    assert titles.startswith('DAEMON') and first.startswith('ingest') and second.startswith('router')
    build = next(series for series in router.metrics() if series.startswith('starling_build_info'))
    assert router.ops in second and re.search(r'version="(.+?)"', build)[1] in second

    # One that is stopped is away after the next reading: the picture before it, that with its answers, and one that may have been
    # on its way. One that hangs is away when it has not answered for 2 s.
    gateway.stop()
    seen = len(page.pages())
    page.wait_row(gateway.ops, 'ingest', 'away', 'no connection')
    first = next(i for i, lines in enumerate(page.pages()) if any(gateway.ops in line and ' away ' in line for line in lines))
    assert first - seen < 3
    router.pause()
    page.wait_row(router.ops, 'router', 'away', 'no answer')
    router.resume()
    gateway.start()
    page.wait_row(gateway.ops, 'ready', ' 1  ')  # restarts that were seen
    eventually(lambda: page.page()[0].startswith('2 daemons: 2 ready '), 60, what='both are ready again')

    # A smaller window has fewer columns, and no line is longer than it is wide.
    page.resize(24, 50)
    eventually(lambda: 'VERSION' not in page.page()[1], what='a page of 50 columns')
    assert all(len(line) < 50 for line in page.page())
    assert router.ops in page.page()[3]
    page.resize(4, 50)
    eventually(lambda: len(page.page()) == 4, what='a page of 4 rows')

    page.type(b'q')
    assert page.wait() == 0
    page.is_as_before()


@pytest.mark.parametrize('end', ['Ctrl-C', signal.SIGTERM, signal.SIGHUP])
def test_the_terminal_is_given_back(terminal, end):
    page = terminal('127.0.0.1:1')
    page.wait_row('127.0.0.1:1', '?', 'away')
    assert '\x1b[31maway' in page.text
    assert '\x1b[K\r\n' in page.text and '\r\r' not in page.text  # the terminal itself adds the carriage return
    assert not termios.tcgetattr(page.slave)[3] & termios.ECHO
    if end == 'Ctrl-C':
        page.type(b'\x03')
    else:
        os.kill(page.pid, end)
    assert page.wait() == 0
    page.is_as_before()


def test_stopped_and_continued_it_goes_on(terminal):
    page = terminal('127.0.0.1:1')
    page.wait_row('127.0.0.1:1', 'away')
    os.kill(page.pid, signal.SIGTSTP)
    eventually(lambda: page.read().count(FIRST_SCREEN) == 1, what='the terminal is given back')
    eventually(lambda: termios.tcgetattr(page.slave) == page.before)
    assert os.waitpid(page.pid, os.WUNTRACED)[1] & 0xff == 0x7f  # it is stopped
    os.kill(page.pid, signal.SIGCONT)
    eventually(lambda: page.read().count(SECOND_SCREEN) == 2, what='it goes on')
    page.type(b'q')
    assert page.wait() == 0
    assert termios.tcgetattr(page.slave) == page.before


def test_no_colours_if_they_are_not_wanted(terminal):
    page = terminal('127.0.0.1:1', NO_COLOR='1')
    page.wait_row('127.0.0.1:1', 'away')
    assert not re.search(r'\x1b\[[0-9;]*m', page.text)
    page.type(b'q')
    assert page.wait() == 0


def test_in_a_pipe_the_page_is_printed_once(make_cluster):
    cluster = make_cluster()
    cluster.start(ingests=1, routers=0, fanouts=0, sinks=0)
    cluster.command_settings['ops.addresses'] = f'{cluster.ingest.ops}, 127.0.0.1:1'
    text = cluster.starling('status', '--live', '--every', 1).stdout
    assert '\x1b' not in text
    heading, titles, gateway, nobody = text.splitlines()
    assert heading.startswith('2 daemons: 1 ready, 1 away ') and titles.split()[-1] == 'NOTE'
    assert re.match(rf'ingest +{re.escape(cluster.ingest.ops)} +ready .* \d+% ', gateway)
    assert re.match(r'\? +127\.0\.0\.1:1 +away .* no connection$', nobody)


@pytest.mark.parametrize('arguments', [('127.0.0.1:1',), ('--every', '2'), ('--live', 'nowhere'), ('--live', '--every', '0'),
                                       ('--live', '--json'), ('--live', '--set', 'ops.addresses=')])
def test_wrong_usage_is_refused(make_cluster, arguments):
    done = make_cluster().starling('status', *arguments, check=False)
    assert done.returncode == 3 and 'usage: starling status' in done.stderr
