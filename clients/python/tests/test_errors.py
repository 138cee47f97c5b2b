"""Errors have the type of what was wrong."""
import pytest
from test_api import Server
from test_client import to_its_end, until

import starling_client as sc
from starling_client import StarlingApi
from starling_client.errors import connection_ended


def raised_by(api):
    async def ask():
        await api.request('GET', '/v1/friends')

    with pytest.raises(sc.ApiError) as raised:
        to_its_end(ask())
    return raised.value


@pytest.mark.parametrize('status, code, kind', [
    (400, 'bad_query', sc.BadRequest), (413, 'body_too_large', sc.BadRequest), (401, 'bad_token', sc.TokenRefused),
    (401, 'token_expired', sc.TokenExpired), (403, 'gateways_only', sc.Forbidden), (404, 'no_profile', sc.NotFound),
    (409, 'handle_taken', sc.Conflict), (429, 'too_many_writes', sc.TooManyRequests), (500, 'refused', sc.ServerUnavailable),
    (503, 'owner_unavailable', sc.ServerUnavailable)])
def test_an_answer_has_its_kind_and_all_members_of_the_problem(status, code, kind):
    problem = {'type': f'urn:starling:{code}', 'title': 'No', 'status': status, 'detail': 'because', 'code': code}
    with Server() as server:
        server.answers = [(status, problem, {'Retry-After': '7'})]
        error = raised_by(StarlingApi(server.url, 't'))
    assert type(error) is kind and error.problem == problem
    assert (error.status, error.code, error.message, error.retry_after) == (status, code, 'because', 7)
    assert error.passing == (status in (429, 503))


def test_what_something_between_us_answers_has_its_kind_too():
    with Server() as server:
        server.answers = [(502, b'<html>bad gateway</html>')]
        error = raised_by(StarlingApi(server.url, 't'))
    assert type(error) is sc.ServerUnavailable and error.code == 'unknown' and error.problem == {} and error.retry_after is None


def test_a_refused_connection_and_no_answer_are_unreachable():
    with Server() as server:
        server.answers = [None]
        api = StarlingApi(server.url, 't')
        assert type(raised_by(api)) is sc.Unreachable
    error = raised_by(api)  # nobody listens any more
    assert type(error) is sc.Unreachable and error.status == 0 and error.passing


@pytest.mark.parametrize('code, reason, kind', [
    (1006, '', sc.ConnectionLost), (1008, 'bad_token', sc.ConnectionTokenRefused), (1008, '', sc.ConnectionTokenRefused),
    (1008, 'token_expired', sc.ConnectionTokenExpired), (1008, 'no_hello', sc.ProtocolBroken), (1009, '', sc.ProtocolBroken),
    (1012, 'draining', sc.ServerRestarting), (1013, '', sc.ServerOverloaded), (4001, 'connected elsewhere', sc.ConnectedElsewhere),
    (4002, '', sc.TooSlow), (4003, '', sc.ConnectionTokenExpired), (4999, 'x', sc.ConnectionEnded)])
def test_an_end_of_a_connection_has_its_kind(code, reason, kind):
    error = connection_ended(code, reason)
    assert type(error) is kind and (error.code, error.reason) == (code, reason) and str(error) == error.message != ''


def test_the_client_tells_what_ended_the_connection():
    told = []

    async def run():
        client = sc.StarlingClient('ws://127.0.0.1:9/', 't', 1, 2)  # nobody listens there
        client.on_event(told.append)
        client.connect()
        await until(lambda: client.state is sc.State.WAITING)
        await client.close()

    to_its_end(run())
    error = next(event.error for event in told if isinstance(event, sc.StateChange) and event.state is sc.State.WAITING)
    assert type(error) is sc.ConnectionLost and error.code == 1006
