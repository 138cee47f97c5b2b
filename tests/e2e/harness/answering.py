"""An HTTP server of a test's own, which stands in for somebody else's."""
import http.server
import threading


class Answering:
    """A context manager. answer(method, path, headers, body) says what is answered: (status, body)."""

    def __init__(self, answer, port=0, kind='application/json'):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def reply(self):
                asked = self.rfile.read(int(self.headers.get('Content-Length', 0)))
                status, body = answer(self.command, self.path, self.headers, asked)
                self.send_response(status)
                self.send_header('Content-Type', kind)
                self.send_header('Content-Length', str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_PUT = do_POST = do_DELETE = reply

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 1024  # of those beyond it who connect at once, Linux lets some wait for ten seconds and more

        self._server = Server(('127.0.0.1', port), Handler)
        self.url = f'http://127.0.0.1:{self._server.server_port}'
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
