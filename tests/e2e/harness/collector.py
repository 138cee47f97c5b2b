"""A collector of OpenTelemetry traces: OTLP over HTTP, in JSON."""
import collections
import dataclasses
import http.server
import json
import threading

from .waiting import eventually


@dataclasses.dataclass(frozen=True)
class Span:
    service: str
    name: str
    kind: int
    trace: str
    span: str
    parent: str  # '': none
    start: int  # ns since the epoch
    end: int
    failed: bool
    attributes: dict


def _values(attributes) -> dict:
    return {a['key']: a['value'].get('stringValue', a['value'].get('intValue')) for a in attributes}


def _spans(body):
    for resource in body['resourceSpans']:
        service = _values(resource['resource']['attributes'])['service.name']
        for scope in resource['scopeSpans']:
            for span in scope['spans']:
                yield Span(service, span['name'], span['kind'], span['traceId'], span['spanId'], span.get('parentSpanId', ''),
                           int(span['startTimeUnixNano']), int(span['endTimeUnixNano']), span.get('status', {}).get('code') == 2,
                           _values(span['attributes']))


class Collector:
    """
    with Collector() as collector:
        make_cluster(settings={'otlp.url': collector.url})
        collector.wait(trace, {'POST /v1/posts', 'feed frame'})   # a whole tree of spans with these names among them
    """

    def __init__(self):
        self._lock, self._traces, self.headers = threading.Lock(), collections.defaultdict(list), []
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def do_POST(self):
                body = self.rfile.read(int(self.headers['Content-Length']))
                collector._take(json.loads(body), dict(self.headers))
                self.send_response(200)
                self.send_header('Content-Length', '2')
                self.end_headers()
                self.wfile.write(b'{}')

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self._server.daemon_threads = True
        self.url = f'http://127.0.0.1:{self._server.server_address[1]}/v1/traces'
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    def _take(self, body, headers):
        with self._lock:
            self.headers.append(headers)
            for span in _spans(body):
                self._traces[span.trace].append(span)

    def traces(self) -> dict[str, list[Span]]:
        with self._lock:
            return {trace: list(spans) for trace, spans in self._traces.items()}

    def wait(self, trace, names, root='', timeout=30) -> list[Span]:
        """Waits until all names are there, and each span but the first has its parent there, too. root: the first one's parent."""
        def whole():
            spans = self.traces().get(trace, [])
            assert names <= {span.name for span in spans}, sorted({span.name for span in spans})
            known = {span.span for span in spans}
            assert [span.name for span in spans if span.parent not in known and span.parent != root] == []
            return spans

        return eventually(whole, timeout)
