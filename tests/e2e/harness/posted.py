"""A receiver of posts: what daemons send to a URL of somebody else."""
import http.server
import threading


class Posted:
    """
    with Posted('/near') as receiver:      # an HTTP server on a free port
        make_cluster(settings={'router:notify.url': receiver.url})
        receiver.posts                     # [(body, headers)] so far
        receiver.answers = [503, 503]      # what the next posts are answered; 200 after that
    """

    def __init__(self, path):
        self._lock, self._posts, self.answers = threading.Lock(), [], []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def do_POST(self):
                body = self.rfile.read(int(self.headers['Content-Length']))
                self.send_response(receiver.take(body, dict(self.headers)))
                self.send_header('Content-Length', '2')
                self.end_headers()
                self.wfile.write(b'{}')

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self._server.daemon_threads = True
        self.url = f'http://127.0.0.1:{self._server.server_address[1]}{path}'
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    def take(self, body: bytes, headers: dict) -> int:
        """Notes a post; the status of its answer."""
        with self._lock:
            self._posts.append((body, headers))
            return self.answers.pop(0) if self.answers else 200

    @property
    def posts(self) -> list[tuple[bytes, dict]]:
        with self._lock:
            return list(self._posts)
