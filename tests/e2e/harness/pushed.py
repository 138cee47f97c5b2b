"""A receiver of notify.url that checks each post, and can be told to fail."""
import collections
import hashlib
import hmac
import http.server
import json
import secrets
import threading
import time

from .waiting import now_ms


class Pushed:
    """
    with Pushed(folder) as receiver:
        make_cluster(settings=receiver.settings)
        receiver.become('refuses')   # or 'hangs' (no answer), 'away' (nobody listens), and 'well' again
        receiver.items               # [item] of the posts that were answered 200, in their order
        receiver.of(user)            # {id: item} of them; repeats are dropped
    """

    def __init__(self, folder, timeout=20):
        self.key, self.mode, self.tries, self.timeout = secrets.token_hex(20), 'well', 0, timeout
        key = folder / 'notify.key'
        key.write_text(self.key)
        self._lock, self._items, self._by_user, self.faults = threading.Lock(), [], collections.defaultdict(dict), []
        self._server, self._port = None, 0
        self._listen()
        self.url = f'http://127.0.0.1:{self._port}/notices'
        self.settings = {'feed:notify.url': self.url, 'feed:notify.key.file': str(key)}

    def _listen(self):
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def do_POST(self):
                status = receiver._take(self.rfile.read(int(self.headers['Content-Length'])), self.headers)
                if status is None:
                    self.close_connection = True
                    return
                self.send_response(status)
                self.send_header('Content-Length', '0')
                self.end_headers()

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # the daemon has hung up

        self._server = Server(('127.0.0.1', self._port), Handler)
        self._port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def _close(self):
        if self._server:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def become(self, mode):
        self.mode = mode
        if mode == 'away':
            self._close()
        elif not self._server:
            self._listen()

    def _take(self, body, headers):
        """The status of the answer; None: there is none."""
        mode, arrived = self.mode, now_ms()
        self.tries += 1
        deadline = time.monotonic() + self.timeout
        while mode == 'hangs' and self.mode == 'hangs' and time.monotonic() < deadline:
            time.sleep(0.02)
        if mode in ('hangs', 'away'):
            return None
        signature = 'sha256=' + hmac.new(self.key.encode(), body, hashlib.sha256).hexdigest()
        post = json.loads(body)
        self._check(headers.get('Starling-Signature') == signature, 'the signature')
        self._check(headers.get('Content-Type') == 'application/json', 'the type')
        self._check(set(post) == {'sent', 'items'} and arrived - 60_000 < post['sent'] < arrived + 1000, f'sent {post.get("sent")}')
        self._check(0 < len(post['items']) <= 200, f'{len(post["items"])} items')
        if mode == 'refuses':
            return 500
        with self._lock:
            for item in post['items']:
                expected = {'id', 'user', 'what', 'from', 'subject', 'comment', 'time'}
                expected |= {'friend', 'distance_m'} if item['what'] == 'approach' else {'place'} if item['what'] in ('arrived', 'left') else set()
                if set(item) != expected:
                    self.faults.append(f'{item}')
                self._items.append(item)
                before = self._by_user[item['user']].setdefault(item['id'], item)
                if before != item:
                    self.faults.append(f'{item} came as {before} before')
        return 200

    def _check(self, good, what):
        if not good:
            self.faults.append(what)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.mode = 'away'
        self._close()
        assert not self.faults, self.faults

    @property
    def items(self):
        with self._lock:
            return list(self._items)

    def of(self, user) -> dict:
        with self._lock:
            return dict(self._by_user[user])

    def acts(self, user) -> set:
        """The events that the user is told of: {(what, from, subject, comment)}."""
        return {(item['what'], item['from'], item.get('subject'), item.get('comment')) for item in self.of(user).values()}
