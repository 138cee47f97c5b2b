"""Signing in on the page without a token: with a real OpenID Connect provider, and as somebody of a demonstration. Covers ingest/web_page.c."""
import json

import pytest
import requests

from harness.jwks import oidc_provider
from harness.ports import free_port
from harness.screen import WIDE, Screen
from harness.waiting import eventually


@pytest.fixture(scope='module')
def stage(make_module_cluster, tmp_path_factory):
    """(cluster, issuer, people): gateway and edge that take the provider's tokens; people is the file of a demonstration."""
    folder = tmp_path_factory.mktemp('provider')
    keys, people, own, other = folder / 'jwks.json', folder / 'demo' / 'people.json', free_port(), free_port()
    people.parent.mkdir()
    people.write_text('{"people": []}')
    with oidc_provider(other, f'http://127.0.0.1:{own}/signin.html') as issuer:
        keys.write_bytes(requests.get(f'{issuer}/jwks', timeout=10).content)
        auth = {'auth.jwks.file': keys, 'auth.issuer': issuer, 'auth.audience': 'starling'}
        cluster = make_module_cluster(settings={
            **{f'{kind}:{key}': value for kind in ('ingest', 'fanout') for key, value in auth.items()},
            'ingest:ingest.listen': f'127.0.0.1:{own}', 'ingest:web.oidc.issuer': issuer,
            'ingest:web.demo.dir': people.parent}).start(sinks=0)
        yield cluster, issuer, people


@pytest.fixture
def tab(stage, browser):
    """A tab that may also talk to the provider."""
    cluster, _, _ = stage
    context = browser.new_context(viewport=WIDE, locale='en-IE')
    page = context.new_page()
    page.set_default_timeout(30_000)
    page.goto(cluster.http_url)
    yield page
    context.close()


def test_somebody_signs_in_with_a_provider(stage, tab, users):
    cluster, issuer, _ = stage
    me, = users(1)
    said = []
    tab.on('console', lambda message: said.append(message.text) if cluster.http_url in message.location['url'] else None)
    assert cluster.http(None).ok('GET', '/v1/config')['oidc'] == {'issuer': issuer, 'client_id': 'starling', 'scope': 'openid'}
    assert tab.text_content('#provider') == f'Sign in with {issuer.removeprefix("http://")}'
    assert not tab.is_visible('#token')  # folded away
    tab.click('#provider')
    tab.fill('input[name=login]', str(me))
    tab.fill('input[name=password]', 'any')
    tab.click('button[type=submit]')
    tab.wait_for_selector('input[name=login]', state='detached')
    tab.click('button[type=submit]')  # the consent
    tab.wait_for_selector('#state[data-state=online]')
    assert tab.url == f'{cluster.http_url}/'  # no code is left in the address
    tab.wait_for_function(f'() => document.getElementById("my-name").textContent === "User {me}"')
    tab.reload()
    tab.wait_for_selector('#state[data-state=online]')

    # The provider knows the person still: the way back needs no password.
    tab.click('#me summary')
    tab.click('#sign-out')
    tab.click('#provider')
    tab.wait_for_selector('#state[data-state=online]')
    assert [text for text in said if 'Content Security Policy' in text or 'rror' in text.replace('status of 404', '')] == []


def test_whoever_does_not_sign_in_is_told_so(stage, tab):
    cluster, issuer, _ = stage
    tab.click('#provider')
    tab.wait_for_selector('input[name=login]')
    tab.click('a[href$="/abort"]')
    tab.wait_for_selector('#gate-problem:not([hidden])')
    assert tab.text_content('#gate-problem') == 'You were not signed in.'
    assert tab.url == f'{cluster.http_url}/'

    tab.goto(f'{cluster.http_url}/signin.html?code=stolen&state=forged&iss={issuer}')
    tab.wait_for_selector('#gate-problem:not([hidden])')
    assert 'not valid any more' in tab.text_content('#gate-problem')
    assert tab.evaluate('sessionStorage.getItem("starling.token")') is None


def test_in_a_demonstration_anybody_is_somebody(stage, browser, ada):
    cluster, issuer, people = stage
    token = cluster.token(ada, iss=issuer, aud='starling')
    people.write_text(json.dumps({'people': [{'user': ada, 'name': 'Ada', 'friends': 3, 'token': token}]}))
    assert cluster.http(None).ok('GET', '/v1/config')['demo'] is True
    url = f'{cluster.http_url}/demo/people.json'
    assert requests.get(url, timeout=10).json()['people'][0]['token'] == token
    for headers in {'Host': 'starling.example'}, {'Host': '127.evil.example:80'}, {'X-Forwarded-For': '10.0.0.1'}, {'Via': '1.1 x'}:
        assert requests.get(url, headers=headers, timeout=10).status_code == 404, headers
    with Screen(browser, cluster.http_url, WIDE) as screen:
        screen.allowed = r'^Failed to load resource: the server responded with a status of (404|503)'  # no profile, no feed here
        screen.open()
        screen.page.click(f'#people [data-user="{ada}"]')
        screen.wait_state('online')
        eventually(lambda: screen.text('#my-name') == f'User {ada}', what='who I am')
