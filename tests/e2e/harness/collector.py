"""A collector of OpenTelemetry traces: OTLP over HTTP, in JSON."""
import collections
import dataclasses
import json

from .posted import Posted
from .waiting import PATIENCE, eventually


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


class Collector(Posted):
    """
    with Collector() as collector:
        make_cluster(settings={'otlp.url': collector.url})
        collector.wait(trace, {'POST /v1/posts', 'feed frame'})   # a whole tree of spans with these names among them
    """

    def __init__(self):
        super().__init__('/v1/traces')
        self._spans = collections.defaultdict(list)

    def take(self, body, headers):
        with self._lock:
            for span in _spans(json.loads(body)):
                self._spans[span.trace].append(span)
        return super().take(body, headers)

    @property
    def headers(self) -> list[dict]:
        return [headers for _, headers in self.posts]

    def traces(self) -> dict[str, list[Span]]:
        with self._lock:
            return {trace: list(spans) for trace, spans in self._spans.items()}

    def wait(self, trace, names, root='', timeout=30 * PATIENCE) -> list[Span]:
        """Waits until all names are there, and each span but the first has its parent there, too. root: the first one's parent."""
        def whole():
            spans = self.traces().get(trace, [])
            assert names <= {span.name for span in spans}, sorted({span.name for span in spans})
            known = {span.span for span in spans}
            assert [span.name for span in spans if span.parent not in known and span.parent != root] == []
            return spans

        return eventually(whole, timeout)
