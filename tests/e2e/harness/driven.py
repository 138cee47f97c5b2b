"""A client library in a process of its own, spoken to as tests/protocol/README.md says."""
import json
import shutil
import subprocess
import sys
import threading
import time

from .broker import REPOSITORY
from .processes import clean_environment, die_with_parent
from .waiting import PATIENCE, eventually

_FOLDER = REPOSITORY / 'tests/protocol'
_JAVA = REPOSITORY / 'clients/java/target'


def java(program: str) -> list:
    """One of the tests of clients/java."""
    return ['java', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-Xmx128m', '-cp', f'{_JAVA}/classes:{_JAVA}/test-classes:{_JAVA}/lib/*',
            f'starling.client.{program}']


def check_built(kind: str):
    assert kind != 'java' or (_JAVA / 'lib').exists(), 'clients/java is not built: mvn -f clients/java/pom.xml test-compile'


DRIVERS = {'java': java('ProtocolDriver'),
           'javascript': [shutil.which('node') or 'node', _FOLDER / 'driver.mjs'],
           'python': [sys.executable, _FOLDER / 'driver.py']}


class Driven:
    """
    with Driven('python', cluster.ws_url, cluster.token(me), *HOME) as client:
        client.wait_friends({ben})

    events: everything it said, in order. A context manager: connects, and at its end closes and must end with 0.
    """

    def __init__(self, kind: str, url: str, token: str | None, lat: float | None, lng: float | None, tokens=None,
                 environment: dict | None = None, **options):
        """lat, lng: None: no position. tokens: called whenever the client's token function is (token is None then). environment: more variables."""
        check_built(kind)
        place = {} if lat is None else {'lat': lat, 'lng': lng}
        arguments = {'url': url, **place, **({} if token is None else {'token': token}), **options}
        self.kind, self.events, self._tokens = kind, [], tokens
        self._changed = threading.Condition()
        self._child = subprocess.Popen([*DRIVERS[kind], json.dumps(arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True, bufsize=1, env={**clean_environment(), **(environment or {})},
                                       preexec_fn=die_with_parent)
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._read, self._read_errors)]
        self._complaints = []
        for thread in self._threads:
            thread.start()

    def __enter__(self):
        self.do('connect')
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            self._child.kill()
            self._child.wait()
            return
        self.do('close')
        try:
            code = self._child.wait(10)
        except subprocess.TimeoutExpired:
            self._child.kill()
            raise AssertionError(f'the {self.kind} driver does not end') from None
        self._threads[1].join(5)
        assert code == 0 and not self._complaints, f'the {self.kind} driver ended with {code}:\n' + ''.join(self._complaints)

    def do(self, what: str, **arguments):
        self._child.stdin.write(json.dumps({'do': what, **arguments}) + '\n')
        self._child.stdin.flush()

    def _read(self):
        for line in self._child.stdout:
            event = json.loads(line)
            if event['event'] == 'token' and self._tokens:
                self.do('token', token=self._tokens())
            with self._changed:
                self.events.append({**event, 'at': time.monotonic()})
                self._changed.notify_all()

    def _read_errors(self):
        self._complaints.extend(self._child.stderr)

    # what it said

    def said(self, kind: str) -> list[dict]:
        return [event for event in list(self.events) if event['event'] == kind]

    def states(self) -> list[str]:
        return [event['state'] for event in self.said('state')]

    @property
    def state(self) -> dict:
        return self.said('state')[-1]

    @property
    def screen(self) -> dict:
        """The last change: list, total and so on."""
        return (self.said('change') or [{'list': [], 'known': 0, 'total': 0, 'has_more': False, 'complete': False}])[-1]

    @property
    def posts(self) -> list[int]:
        """The ids of the timeline as the client has it."""
        return [int(row[0]) for row in (self.said('feed') or [{'list': []}])[-1]['list']]

    def list(self) -> list[int]:
        return [int(row[0]) for row in self.screen['list']]

    def row(self, user: int) -> dict | None:
        """name, distance, time, stale of a friend on the list."""
        return next((dict(zip(('name', 'distance', 'time', 'stale'), row[1:])) for row in self.screen['list']
                     if row[0] == str(user)), None)

    # what must become true

    def wait_posts(self, expected, timeout=30.0 * PATIENCE):
        """Waits until the newest twenty are those of expected(): of them the edge tells every change."""
        def right():
            shown, truth = self.posts[:20], expected()[:20]
            assert shown == truth, f'{self.kind}: {shown}, not {truth}'
            return True

        eventually(right, timeout)

    def mark(self) -> int:
        """How much it has said: for wait_state."""
        return len(self.events)

    def wait_state(self, state: str, reason=None, since=None, timeout=20.0 * PATIENCE) -> dict:
        """Waits until it is in that state, or has told of it since that mark; returns the event, the first one since then."""
        def found():
            states = [event for event in self.events[since or 0:] if event['event'] == 'state']
            there = [event for event in (states[-1:] if since is None else states) if event['state'] == state]
            assert there, f'{self.kind}: {states}{self._complaints}'
            return there[0]

        event = eventually(found, timeout)
        assert event['reason'] == reason, event
        return event

    def wait_list(self, positions: dict, here: tuple, total=None, timeout=20.0 * PATIENCE):
        """Waits until the list is the nearest of {friend: (lat, lng)} as seen from here: in order, to the centimetre."""
        from .geo import distance_m
        truth = sorted((distance_m(*here, *at), user) for user, at in positions.items())

        def right():
            rows = self.screen['list']
            assert len(rows) == min(len(truth), max(len(rows), 20)), f'{self.kind}: {len(rows)} rows, {self._complaints}'
            assert [int(row[0]) for row in rows] == [user for _, user in truth[:len(rows)]], f'{self.kind}: {rows}, not {truth}'
            worst = max((abs(row[2] - metres) for row, (metres, _) in zip(rows, truth)), default=0)
            assert worst < 0.01, f'{self.kind}: a distance is off by {worst} m'
            assert self.screen['total'] == (len(truth) if total is None else total), f'{self.kind}: total {self.screen["total"]}'
            return True

        eventually(right, timeout)
