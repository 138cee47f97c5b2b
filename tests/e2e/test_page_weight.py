"""What the page costs before it shows the first friend: bytes on the wire, and what is asked for at all."""
import gzip
import json

import pytest

from harness.geo import HOME, at
from harness.loading import load, session

MOST = 250_000  # bytes
LATER = '/assets/map-', '/map.geojson', '/sw.js'


@pytest.fixture(scope='module')
def stage(make_module_cluster, tmp_path_factory):
    ground = tmp_path_factory.mktemp('ground') / 'city.geojson'
    ground.write_text(json.dumps({'type': 'FeatureCollection', 'features': [
        {'type': 'Feature', 'properties': {'name': str(number)}, 'geometry': {'type': 'Point', 'coordinates': [116.3, 39.9]}}
        for number in range(4000)]}))
    ground.with_name('city.geojson.gz').write_bytes(gzip.compress(ground.read_bytes()))
    return make_module_cluster(settings={'ingest:web.map.geojson': ground}).start(feeds=1, comments=1, places=1)


def test_the_first_friend_stands_before_250_kilobytes_and_before_the_map(stage, browser, users):
    me, *friends = users(31)
    stage.acquaint(me, *friends)
    for number, friend in enumerate(friends):
        stage.online(friend, *at(50 * number))
    first = load(browser, stage.http_url, session(stage.token(me), HOME))
    assert first.bytes <= MOST, first.asked
    assert [path for path in first.paths if path.startswith(LATER)] == []
    for _, path, _, headers in first.asked:
        kept = 'public, max-age=31536000, immutable' if path.startswith('/assets/') else headers.get('Cache-Control')
        assert headers.get('Cache-Control') == kept, path
        if (path.startswith('/assets/') or path == '/') and int(headers['Content-Length']) >= 1024:
            assert headers.get('Content-Encoding') in ('br', 'gzip'), path
    assert any(path.startswith('/assets/app-') for path in first.paths)
    again = load(browser, stage.http_url, session(stage.token(me), HOME), again=True)
    assert sum(size for _, path, size, _ in again.asked if path.startswith('/assets/')) == 0, again.asked


def test_the_map_that_was_packed_beside_it_is_sent(stage):
    http = stage.http(None)
    packed = http.get('/map.geojson', headers={'Accept-Encoding': 'gzip'})
    assert packed.headers['Content-Encoding'] == 'gzip' and len(packed.json()['features']) == 4000


def test_a_wrong_address_says_so_to_people_and_to_programs(stage, browser):
    http = stage.http(None)
    assert http.get('/nowhere', headers={'Accept': 'application/json'}).json()['code'] == 'no_such_path'
    context = browser.new_context(locale='en-IE')
    page = context.new_page()
    answer = page.goto(f'{stage.http_url}/nowhere/at/all')
    assert answer.status == 404
    page.wait_for_function('() => document.title === "There is no such page"')
    page.click('a')
    page.wait_for_selector('#gate:not([hidden])')
    context.close()
