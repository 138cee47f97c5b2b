"""StarlingApi of a client library, in a process of its own, called as tests/protocol/README.md says."""
import json
import shutil
import subprocess
import sys

from .broker import REPOSITORY
from .driven import check_built, java
from .processes import clean_environment, die_with_parent

_FOLDER = REPOSITORY / 'tests/protocol'
DOORS = {'java': java('ProtocolDoor'), 'javascript': [shutil.which('node') or 'node', _FOLDER / 'door.mjs'],
         'python': [sys.executable, _FOLDER / 'door.py']}


class Refused(Exception):
    """What the client threw. kind: the name of its class."""

    def __init__(self, answer):
        super().__init__(answer)
        self.kind, self.status, self.code, self.why, self.message = (answer[name] for name in (
            'error', 'status', 'code', 'why', 'message'))


class Door:
    """
    with Door('python', cluster.http_url, cluster.token(me)) as api:
        api('getFriends', state='all')['items']

    One API of one user: api(call, *arguments, **options); api.all(...) reads the list to its end.
    """

    def __init__(self, kind: str, url: str, token: str, **options):
        check_built(kind)
        self._child = subprocess.Popen([*DOORS[kind], json.dumps({'url': url, 'token': token, **options})], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True, bufsize=1, env=clean_environment(), preexec_fn=die_with_parent)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._child.stdin.close()
        try:
            assert self._child.wait(10) == 0
        except subprocess.TimeoutExpired:
            self._child.kill()
            raise AssertionError('the door does not end') from None
        finally:
            self._child.stdout.close()

    def __call__(self, call: str, *arguments, **options):
        return self._ask({'call': call, 'arguments': arguments, **({'options': options} if options else {})})

    def all(self, call: str, *arguments, **options):
        return self._ask({'call': call, 'arguments': arguments, 'all': True, **({'options': options} if options else {})})

    def _ask(self, question):
        self._child.stdin.write(json.dumps(question) + '\n')
        self._child.stdin.flush()
        answer = json.loads(self._child.stdout.readline())
        if 'error' in answer:
            raise Refused(answer)
        return answer['result']
