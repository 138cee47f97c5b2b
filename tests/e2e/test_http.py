"""What all paths of the HTTP API have in common: methods, pages of other origins, packing, entity tags, and lists in pages. Covers
ingest/description.c."""
import gzip
import re
import subprocess

import pytest
import requests
import yaml

from harness.broker import REPOSITORY
from harness.cluster import build_folder
from harness.http import Http
from harness.waiting import eventually

APP = 'https://app.example'


@pytest.fixture(scope='module')
def gateway(make_module_cluster):
    return make_module_cluster(settings={'ingest:ingest.cors.origins': f'{APP} http://localhost:3000'}).start(
        routers=1, fanouts=0, sinks=0)


def paths():
    """(path with its parameters filled in, methods) of all that is described."""
    description = yaml.safe_load((REPOSITORY / 'docs/openapi.yaml').read_text())
    known = {'type': 'site', 'id': '5', 'comment': '5', 'user': '5', 'handle': 'ada'}
    for path, item in description['paths'].items():
        methods = [method.upper() for method in item if method in ('get', 'put', 'post', 'delete')]
        yield re.sub(r'{(\w+)}', lambda match: known.get(match[1], '5'), path), methods, item


def test_every_path_says_what_it_allows(gateway):
    http = gateway.http(None)
    for path, methods, _ in paths():
        answer = http.options(path)
        allowed = answer.headers['Allow'].split(', ')
        assert (answer.status_code, answer.content) == (204, b'')
        assert sorted(allowed) == sorted(methods + ['OPTIONS'] + ['HEAD'] * ('GET' in methods)), path
        refused = http.patch(path)
        assert (refused.status_code, refused.json()['code'], refused.headers['Allow']) == (405, 'bad_method', answer.headers['Allow'])
    page = http.options('/')
    assert (page.status_code, page.headers['Allow']) == (204, 'GET, HEAD, OPTIONS')
    assert http.options('/v1/nothing').status_code == 404


def test_pages_of_named_origins_may_use_it(gateway, users):
    http = gateway.http(users(1)[0])
    asked = http.options('/v1/profile', headers={'Origin': APP, 'Access-Control-Request-Method': 'PUT',
                                                 'Access-Control-Request-Headers': 'authorization,content-type,if-none-match'})
    assert asked.status_code == 204
    assert asked.headers['Access-Control-Allow-Origin'] == APP
    assert {'GET', 'PUT'} <= set(asked.headers['Access-Control-Allow-Methods'].split(', '))
    assert {'authorization', 'content-type', 'if-none-match'} <= \
        set(asked.headers['Access-Control-Allow-Headers'].lower().split(', '))
    for path, status in ('/v1/sharing', 200), ('/v1/profile', 404), ('/v1/nothing', 404), ('/', 200):
        got = http.get(path, headers={'Origin': APP})
        assert (got.status_code, got.headers['Access-Control-Allow-Origin']) == (status, APP)
        assert {'ETag', 'Retry-After', 'Location'} <= set(got.headers['Access-Control-Expose-Headers'].split(', '))
        assert 'Origin' in got.headers['Vary']
        other = http.get(path, headers={'Origin': 'https://other.example'})
        assert other.status_code == status and 'Access-Control-Allow-Origin' not in other.headers


def raw_get(url, **headers):
    """The answer with its body as it came."""
    with requests.get(url, headers=headers, stream=True, timeout=10) as answer:
        return answer.headers, answer.raw.read(decode_content=False)


def test_large_answers_are_packed_for_who_accepts_it(gateway):
    url = f'{gateway.http_url}/v1/openapi.yaml'
    whole = (REPOSITORY / 'docs/openapi.yaml').read_bytes()
    headers, body = raw_get(url, **{'Accept-Encoding': 'gzip, br'})
    assert headers['Content-Encoding'] == 'gzip' and gzip.decompress(body) == whole
    assert len(body) < len(whole) / 3
    for accept in 'identity', 'br', 'gzip;q=0':
        headers, body = raw_get(url, **{'Accept-Encoding': accept})
        assert 'Content-Encoding' not in headers and body == whole
        assert 'Accept-Encoding' in headers['Vary']
    headers, body = raw_get(gateway.http_url, **{'Accept-Encoding': 'gzip'})
    assert headers['Content-Encoding'] == 'gzip' and gzip.decompress(body) == (REPOSITORY / 'web/dist/index.html').read_bytes()
    headers, body = raw_get(f'{gateway.http_url}/v1/config', **{'Accept-Encoding': 'gzip'})
    assert 'Content-Encoding' not in headers  # too small to be worth it


def test_a_profile_that_has_not_changed_is_not_sent_again(gateway, user):
    http = gateway.http(user)
    http.ok('PUT', '/v1/profile', json={'name': 'Ada'})
    eventually(lambda: http.get('/v1/profile').ok)
    for path in '/v1/profile', f'/v1/profiles/{user}', f'/v1/users/{user}':
        http.ok('PUT', '/v1/profile', json={'name': 'Ada'})
        eventually(lambda: http.get(path).json()['name'] == 'Ada')
        tag = http.get(path).headers['ETag']
        same = http.get(path, headers={'If-None-Match': f'"other", {tag}'})
        assert (same.status_code, same.content, same.headers['ETag']) == (304, b'', tag)
        http.ok('PUT', '/v1/profile', json={'name': 'Zoë'})
        changed = eventually(lambda: (got := http.get(path, headers={'If-None-Match': tag})).status_code == 200 and got)
        assert changed.json()['name'] == 'Zoë' and changed.headers['ETag'] != tag


def test_every_list_comes_in_pages():
    for path, _, item in paths():
        answer = item.get('get', {}).get('responses', {}).get('200', {})
        schema = answer.get('content', {}).get('application/json', {}).get('schema', {})
        if 'items' in schema.get('properties', {}):
            assert {'items', 'next'} <= set(schema['required']), path
            names = {parameter.get('name') or parameter['$ref'].rpartition('/')[2] for parameter in item['get']['parameters']}
            assert any(name.lower().startswith('after') for name in names) and 'limit' in {name.lower() for name in names}, (path, names)
        assert schema.get('type') != 'array', path


# how fast clients may ask


@pytest.fixture(scope='module')
def limited(gateway):
    """The address of a gateway beside the other one that lets a user ask 20 times at once, and an address 10 times, and then once a second."""
    daemon = gateway.add('ingest', settings={
        'ingest.user.rate': 1, 'ingest.user.burst': 20, 'ingest.user.changes.rate': 1, 'ingest.user.changes.burst': 8,
        'ingest.address.rate': 1, 'ingest.address.burst': 10, 'ingest.trusted.proxies': '127.0.0.0/8'})
    return 'http://' + daemon.settings['ingest.listen']


def asked(session, count, method='GET', path='/v1/sharing', **options):
    """The statuses of so many requests, and the last refusal."""
    answers = [session.request(method, path, **options) for _ in range(count)]
    refused = [answer for answer in answers if answer.status_code == 429]
    for answer in refused:
        assert answer.headers['Content-Type'] == 'application/problem+json'
        assert answer.json()['code'] == 'too_many_requests' and 1 <= int(answer.headers['Retry-After']) <= 2
    return [answer.status_code for answer in answers], refused[-1] if refused else None


def test_a_user_who_asks_too_often_waits(gateway, limited, users):
    user, other = users(2)
    statuses, _ = asked(Http(limited, gateway.token(user)), 30)
    assert statuses[:20] == [200] * 20 and 429 in statuses[20:]
    again = Http(limited, gateway.token(user, ttl=1800))  # another token of the same user
    assert 429 in asked(again, 4)[0]
    assert asked(Http(limited, gateway.token(other)), 1, path='/v1/nothing')[0] == [404]
    eventually(lambda: asked(again, 1)[0] == [200], 5)
    service = Http(limited, gateway.token('gateway', scope='gateway'))
    assert set(asked(service, 60, path='/v1/nothing')[0]) == {404}
    metrics = gateway.of('ingest')[1].metrics()
    assert metrics.total('starling_ingest_limited_total', by='user') >= 2


def test_a_user_who_changes_too_much_waits(gateway, limited, users):
    user, other = (Http(limited, gateway.token(one)) for one in users(2))
    changes = [lambda http=user: http.put('/v1/sharing', json={'mode': 'friends'}), lambda http=user: http.put('/v1/profile', json={'name': 'Ada'})]
    answers = [changes[number % 2]() for number in range(12)]
    assert [answer.status_code for answer in answers[:8]] == [200] * 8
    refused = [answer for answer in answers if answer.status_code == 429]
    assert refused and refused[0].json()['code'] == 'too_many_writes' and 1 <= int(refused[0].headers['Retry-After']) <= 2
    assert user.get('/v1/sharing').status_code == 200 and other.put('/v1/sharing', json={'mode': 'off'}).status_code == 200
    assert user.post('/v1/locations', json={'lat': 0, 'lng': 0, 'time': 1}).status_code != 429
    eventually(lambda: changes[0]().status_code == 200, 5)


def test_what_comes_without_a_good_token_counts_for_its_address(gateway, limited, user):
    bad = gateway.token(user, ttl=-5)
    kinds = [{'method': 'GET', 'path': '/v1/nothing'}, {'method': 'PATCH', 'path': '/v1/profile'}, {'method': 'OPTIONS', 'path': '/v1/profile'},
             {'method': 'GET', 'path': '/v1/config'}, {'method': 'GET', 'path': '/v1/sharing', 'headers': {'Authorization': f'Bearer {bad}'}}]
    for number, kind in enumerate(kinds):
        where = {'X-Forwarded-For': f'6.6.6.6, 198.51.100.{number}'}
        kind['headers'] = {**kind.get('headers', {}), **where}
        statuses, _ = asked(Http(limited), 20, **kind)
        assert 429 not in statuses[:10] and 429 in statuses[10:], kind
        assert 429 in asked(Http(limited), 4, path='/v1/nothing', headers=where)[0]  # whatever it asks for
        assert asked(Http(limited, gateway.token(user)), 1, headers=where)[0] == [200]  # but who has a good token may
    seen = [status for part in range(20)  # a client may have any address of its IPv6 network
            for status in asked(Http(limited), 1, path='/v1/nothing', headers={'X-Forwarded-For': f'2001:db8:1:2::{part}'})[0]]
    assert seen[:10] == [404] * 10 and 429 in seen[10:]


def test_the_page_has_its_map_and_may_ask_one_server_for_tiles_and_one_for_push_only(gateway, tmp_path):
    town = tmp_path / 'town.geojson'
    subprocess.run([build_folder() / 'starling-load', 'simulate', '--map', town], check=True, timeout=30)
    tiles, whose = 'https://tiles.example:8443/{z}/{x}/{y}.png', '[Tiles & Co](https://tiles.example/)'
    daemon = gateway.add('ingest', settings={'web.map.geojson': town, 'web.map.tiles': tiles, 'web.map.attribution': whose,
                                              'web.push.url': 'https://push.example/push'})
    http = Http('http://' + daemon.settings['ingest.listen'])
    config = http.ok('GET', '/v1/config')
    assert (config['tile_url'], config['map_url'], config['map_attribution']) == (tiles, '/map.geojson', whose)
    assert config['push_url'] == 'https://push.example/push'
    drawn = http.get(config['map_url'])
    assert drawn.headers['Content-Type'] == 'application/geo+json' and drawn.content == town.read_bytes()
    assert http.get(config['map_url'], headers={'If-None-Match': drawn.headers['ETag']}).status_code == 304
    page = http.get('/')
    assert page.headers['Content-Security-Policy'] == (
        "img-src 'self' data: https://tiles.example:8443; frame-ancestors 'none'; connect-src 'self' ws: wss: https://push.example")
    assert 'connect-src' not in http.get('/signin.html').headers['Content-Security-Policy']  # it talks to the provider
    for path, kind in (('/manifest.webmanifest', 'application/manifest+json'), ('/sw.js', 'text/javascript; charset=utf-8'),
                       ('/icons/icon-192.png', 'image/png')):
        assert http.get(path).headers['Content-Type'] == kind  # without which it could not be installed
    assert gateway.http(None).get('/map.geojson').status_code == 404  # a gateway without one
    assert 'tiles.example' not in gateway.http(None).get('/').headers['Content-Security-Policy']


def test_settings_that_cannot_be_meant_are_refused(gateway):
    daemon = gateway.add('ingest', start=False)
    for name, value in (('ingest.cors.origins', 'app.example'), ('ingest.trusted.proxies', '10.0.0.0/33'),
                        ('web.map.geojson', REPOSITORY / 'nothing.geojson'), ('web.map.tiles', 'https://tiles.example/{z}/{x}.png'),
                        ('web.map.tiles', 'https://{s}.tiles.example/{z}/{x}/{y}.png'), ('web.map.tiles', '//tiles/{z}/{x}/{y}.png'),
                        ('web.push.url', 'push.example/push')):
        daemon.start(wait=False, **{name: value})
        eventually(lambda: not daemon.alive())
        assert daemon.exit_code() and name in daemon.tail()
        del daemon.settings[name]
    gateway.daemons.remove(daemon)
