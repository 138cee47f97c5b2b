"""HTTP as an app would do it: requests, with one user's token on every request."""
import requests

from .waiting import PATIENCE


def pages_of(ask):
    """All pages of a list, one after the other: ask(**cursor) gives one."""
    cursor = {}
    while True:
        page = ask(**cursor)
        yield page
        if page['next'] is None:
            return
        assert page['next'] != cursor.get('after'), 'a page leads to itself'
        cursor = {'after': page['next']}


def problem(response, status, code, retry=None) -> dict:
    """The response is that problem, as RFC 9457 wants it. retry: whether it says when to come back."""
    what = f'{response.request.method} {response.url}: {response.status_code} {response.text}'
    assert response.headers['Content-Type'] == 'application/problem+json', what
    body = response.json()
    assert (response.status_code, body['code']) == (status, code), what
    assert body['status'] == status and body['type'] == f'urn:starling:{code}' and body['title'] and body['detail'], what
    assert retry is None or ('Retry-After' in response.headers) == retry, what
    return body


class Lists:
    """What reads lists to their end, for whoever has ok(method, url, params=...)."""

    def pages(self, url, **query):
        """All pages of a list, none of which has more than was asked for."""
        for page in pages_of(lambda **cursor: self.ok('GET', url, params={**query, **cursor})):
            assert len(page['items']) <= query.get('limit', len(page['items'])), f'{len(page["items"])} items of {url}, {query}'
            yield page

    def items(self, url, **query) -> list:
        return [item for page in self.pages(url, **query) for item in page['items']]


class Http(Lists, requests.Session):
    """client.get('/v1/friends'), client.put('/v1/sharing', json={...}). The base address and the token go by themselves;
    a request without answer fails after 10 s, and what tests have of patience."""

    def __init__(self, base: str, token: str | None = None):
        super().__init__()
        self.base = base
        self.trust_env = False  # no proxy, no certificates: it is all on this machine
        if token is not None:
            self.headers['Authorization'] = f'Bearer {token}'

    def request(self, method, url, **kwargs):
        kwargs.setdefault('timeout', 10 * PATIENCE)
        return super().request(method, self.base + url if url.startswith('/') else url, **kwargs)

    def ok(self, method, url, **kwargs):
        """The request, which must succeed; its JSON if it has any."""
        response = self.request(method, url, **kwargs)
        assert response.ok, f'{method} {url}: {response.status_code} {response.text}'
        return response.json() if response.content else None

    def refused(self, method, url, status, code, **kwargs) -> requests.Response:
        """The request, which must be refused, with that problem."""
        response = self.request(method, url, **kwargs)
        problem(response, status, code)
        return response
