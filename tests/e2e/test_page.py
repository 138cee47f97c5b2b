"""The page as ingest serves it, in headless Chromium, against the real pipeline: what a person does and sees on it."""
import contextlib
import time

import pytest

from harness.geo import HOME, at, distance_m
from harness.screen import PHONE, WIDE, Screen
from harness.waiting import eventually, now_ms

FAR = at(20_000)
CANNOT_CONNECT = r'^WebSocket connection to .* failed: '
REFUSED = r'^Failed to load resource: the server responded with a status of 401'
NO_PROFILE = r'^Failed to load resource: the server responded with a status of 404'
WIRE_M = 0.06  # distances on the wire have one decimal; the page computes its own


@pytest.fixture(scope='module')
def shared_cluster(make_module_cluster):
    """With a feed and a places process, as the page asks for both. Strangers are told of each other soon."""
    return make_module_cluster(settings={'router:discover.delay.s': 1}).start(feeds=1, places=1)


@pytest.fixture
def cluster(make_cluster):
    return make_cluster().start(feeds=1, places=1)


@pytest.fixture(params=[WIDE, PHONE], ids=['wide', 'phone'])
def screen(request, shared_cluster, browser):
    """A tab of each size that has opened nothing yet."""
    with Screen(browser, shared_cluster.http_url, request.param) as screen:
        yield screen


@pytest.fixture
def with_friends(shared_cluster, users):
    """with_friends(3): me, by the name of Mira, and three friends, all of whom share."""
    def make(count):
        me, *friends = users(count + 1)
        name(shared_cluster, me, 'Mira')
        shared_cluster.acquaint(me, *friends)
        return me, friends

    return make


def name(cluster, user, text):
    cluster.http(user).ok('PUT', '/v1/profile', json={'name': text})
    eventually(lambda: cluster.http(user).get(f'/v1/profiles/{user}').ok, what=f'the profile of {user}')


@contextlib.contextmanager
def phones(cluster, positions):
    """A phone of each at its place, {user: (lat, lng)}."""
    with contextlib.ExitStack() as stack:
        yield {user: stack.enter_context(cluster.online(user, *position)) for user, position in positions.items()}


def test_signs_in_by_token_and_says_what_is_wrong_with_one(shared_cluster, screen, with_friends):
    me, (ben,) = with_friends(1)
    screen.allowed = REFUSED
    screen.open()
    screen.page.wait_for_selector('#gate:not([hidden])')
    screen.sign_in('not a token', *HOME)
    assert 'no token' in screen.text('#gate-problem')

    for bad, reason in ((shared_cluster.token(me)[:-4] + 'AAAA', 'token'), (shared_cluster.token(me, ttl=-60), None)):
        screen.sign_in(bad, *HOME)
        screen.wait_state('closed', reason)
        screen.page.wait_for_selector('#gate:not([hidden])')
        eventually(lambda: 'token' in screen.text('#gate-problem'), what='the sheet says why')
        assert screen.rows() == []

    with shared_cluster.online(ben, *at(500)):
        screen.sign_in(shared_cluster.token(me), *HOME)
        screen.wait_state('online')
        screen.page.wait_for_selector('#gate', state='hidden')
        assert screen.place() == HOME
        screen.wait_list({ben: at(500)}, total=1)
        screen.page.reload()  # the tab remembers, and nothing of it is in the address
        screen.wait_state('online')
        assert screen.page.url == shared_cluster.http_url + '/'
        screen.wait_list({ben: at(500)}, total=1)

        with screen.panel():
            screen.page.click('#sign-out')
        screen.page.wait_for_selector('#gate:not([hidden])')
        assert screen.rows() == []
        assert screen.text('#state') == 'Signed out'


def test_lists_twenty_and_more_exactly_as_the_server_says(shared_cluster, screen, with_friends):
    me, friends = with_friends(45)
    positions = {friend: (HOME[0] + 0.0011 * (1 + i * 7 % 45), HOME[1] + 0.0007 * (i * 11 % 45))
                 for i, friend in enumerate(friends)}
    name(shared_cluster, friends[3], 'Ines Åberg')
    with phones(shared_cluster, positions) as others:
        screen.open(shared_cluster.token(me), HOME)
        screen.wait_state('online')
        for count, left in ((20, 'Show more (25 left)'), (40, 'Show more (5 left)')):
            eventually(lambda wanted=count: len(screen.rows()) == wanted, what=f'{count} rows')
            screen.wait_list(positions, total=45)
            eventually(lambda words=left: screen.text('#more') == words, what=left)
            screen.more()
        eventually(lambda: len(screen.rows()) == 45, what='45 rows')
        shown = screen.wait_list(positions, total=45)
        screen.page.wait_for_selector('#more', state='hidden')
        assert screen.faces() == set(friends)
        assert {row['user']: row['time'] for row in shown} == {friend: item['time'] for friend, item in screen.told().items()}
        assert screen.row(friends[3])['name'] == 'Ines Åberg'
        assert screen.row(friends[4])['name'] == f'User {friends[4]}'
        if screen.page.viewport_size == PHONE:
            assert screen.page.evaluate('document.documentElement.scrollWidth') == PHONE['width']

        # The same question by another client.
        screen.close()
        with shared_cluster.phone(me) as phone:
            items = phone.hello(*HOME)['items']
            for _ in range(2):
                items += phone.more()['items']
        assert [(item['user'], item['time']) for item in items] == [(row['user'], row['time']) for row in shown]
        for item, row in zip(items, shown):
            assert item['distance_m'] == pytest.approx(row['distance'], abs=WIRE_M)
        assert len(others) == 45


def test_i_move_and_my_friends_see_it(shared_cluster, screen, with_friends):
    me, (ben, cleo) = with_friends(2)
    positions = {ben: at(500), cleo: at(2_000)}
    with phones(shared_cluster, positions) as others:
        screen.open(shared_cluster.token(me), HOME)
        screen.wait_friends({ben, cleo})
        assert [row['user'] for row in screen.wait_list(positions, total=2)] == [ben, cleo]

        def everybody_agrees():
            screen.wait_list(positions, total=len(screen.rows()))
            here = screen.place()
            for friend, phone in others.items():
                phone.wait_item(me, lambda item: abs(item['distance_m'] - distance_m(*here, *positions[friend])) < WIRE_M)
            return here

        screen.page.focus('#map')
        before = screen.place()
        screen.page.keyboard.press('Shift+ArrowUp')
        assert everybody_agrees()[0] > before[0]

        box = screen.page.locator('#map').bounding_box()
        before = screen.place()
        screen.page.mouse.click(box['x'] + box['width'] / 2, box['y'] + box['height'] * 0.65)
        assert everybody_agrees()[0] < before[0]

        screen.go(*at(1_700))
        assert [row['user'] for row in screen.wait_list(positions, total=2)] == [cleo, ben]
        everybody_agrees()

        screen.go(*FAR)
        screen.wait_friends(set())
        for phone in others.values():
            phone.wait_screen(set())
        screen.go(*HOME)
        screen.wait_friends({ben, cleo})
        everybody_agrees()


def test_friends_move_come_and_go(shared_cluster, screen, with_friends):
    me, (ben, cleo, dora) = with_friends(3)
    positions = {ben: at(500), cleo: at(2_000)}
    with phones(shared_cluster, {**positions, dora: FAR}) as others:
        screen.open(shared_cluster.token(me), HOME)
        screen.wait_friends({ben, cleo})
        before = screen.face(ben)
        positions[ben] = at(5_000)  # on a phone, 1,000 m from Cleo would be one marker
        others[ben].report(*positions[ben])
        eventually(lambda: [row['user'] for row in screen.rows()] == [cleo, ben], what='Ben is the farther one now')
        screen.wait_list(positions, total=2)
        eventually(lambda: screen.face(ben)[1] < before[1] - 5, what="Ben's marker is further north")
        assert screen.face(ben)[0] == pytest.approx(before[0], abs=2)

        positions[dora] = at(100)
        others[dora].report(*positions[dora])
        screen.wait_friends({ben, cleo, dora})
        assert screen.wait_list(positions, total=3)[0]['user'] == dora
        others[dora].report(*FAR)
        screen.wait_friends({ben, cleo})
        del positions[dora]

        # A friend who goes far away while I am away myself is not where they were when I come back.
        screen.go(*FAR)
        screen.wait_friends({dora})
        others[ben].report(*at(-20_000))
        others[cleo].report(*at(1_000))
        others[cleo].wait_screen(set())
        screen.go(*HOME)
        screen.wait_friends({cleo})
        screen.wait_list({cleo: at(1_000)}, total=1)


def test_who_is_silent_turns_grey_and_disappears(shared_cluster, screen, with_friends):
    me, (ben, cleo) = with_friends(2)
    with shared_cluster.phone(ben) as phone, shared_cluster.phone(cleo) as other:
        phone.hello(*at(500), time=now_ms() - 180_000)
        other.hello(*at(900), time=now_ms() - 582_000)
        screen.open(shared_cluster.token(me), HOME)
        screen.wait_friends({ben, cleo}, timeout=17)
        assert screen.row(ben)['stale']
        assert '3 min ago' in screen.text(f'#list > li[data-user="{ben}"] .ago')
        screen.wait_friends({ben}, timeout=25)
        assert screen.text('#total') == '1'
        phone.report(*at(500))
        eventually(lambda: not screen.row(ben)['stale'], what='Ben is fresh again')


def test_friends_made_parted_and_opted_out(shared_cluster, screen, with_friends, users):
    me, (ben, cleo) = with_friends(2)
    dora, = users(1)
    shared_cluster.share(dora)
    with phones(shared_cluster, {ben: at(500), cleo: at(700), dora: at(900)}) as others:
        screen.open(shared_cluster.token(me), HOME)
        screen.wait_friends({ben, cleo})

        shared_cluster.http(me).ok('PUT', f'/v1/friends/{dora}')
        shared_cluster.http(dora).ok('PUT', f'/v1/friends/{me}')
        screen.wait_friends({ben, cleo, dora})

        shared_cluster.http(cleo).ok('DELETE', f'/v1/friends/{me}')
        screen.wait_friends({ben, dora})
        others[cleo].wait_screen(set())

        shared_cluster.share(ben, mode='off')
        screen.wait_friends({dora})
        shared_cluster.share(ben)
        screen.wait_friends({ben, dora})
        screen.wait_list({ben: at(500), dora: at(900)}, total=2)

        shared_cluster.http(me).ok('PUT', f'/v1/blocks/{dora}')
        screen.wait_friends({ben})
        others[dora].wait_screen(set())


def test_my_name_and_who_sees_me(shared_cluster, screen, with_friends):
    me, (ben,) = with_friends(1)
    name(shared_cluster, ben, 'Ben <b>Ott</b>')
    with shared_cluster.online(ben, *at(500)) as phone:
        screen.open(shared_cluster.token(me), HOME)
        screen.wait_friends({ben})
        eventually(lambda: screen.row(ben)['name'] == 'Ben <b>Ott</b>', what="Ben's name, as text")
        eventually(lambda: screen.text('#my-name') == 'Mira', what='my name')
        phone.wait_item(me, lambda item: item['name'] == 'Mira')
        screen.rename('Mira Lund')
        eventually(lambda: screen.text('#my-name') == 'Mira Lund', what='my new name')
        eventually(lambda: shared_cluster.http(ben).ok('GET', f'/v1/profiles/{me}')['name'] == 'Mira Lund')

        def heard():  # a name travels with the next item about its owner
            screen.page.focus('#map')
            screen.page.keyboard.press('ArrowUp')
            return phone.wait_item(me, lambda item: item['name'] == 'Mira Lund', timeout=1.5)

        eventually(heard, what='Ben reads my new name')

        screen.page.wait_for_selector('#sharing[data-mode=friends]', state='attached')
        screen.share('off')
        phone.wait_screen(set())
        screen.wait_friends(set())
        assert 'Nobody sees you' in screen.text('#empty')
        assert shared_cluster.http(me).ok('GET', '/v1/sharing')['mode'] == 'off'
        screen.share('friends')
        phone.wait_screen({me})
        screen.wait_friends({ben})
        screen.wait_list({ben: at(500)}, total=1)


def test_who_has_no_name_is_a_number(shared_cluster, screen, users):
    me, = users(1)
    screen.allowed = NO_PROFILE
    screen.open(shared_cluster.token(me), HOME)
    screen.wait_state('online')
    assert screen.text('#my-name') == f'User {me}'
    screen.page.wait_for_selector('#sharing[data-mode=off]', state='attached')
    assert screen.page.is_hidden('#problem')
    eventually(lambda: 'Nobody sees you' in screen.text('#empty'), what='why the list is empty')
    screen.rename('Neo')
    eventually(lambda: screen.text('#my-name') == 'Neo', what='my name')


def test_a_second_device_is_as_live_and_either_signs_the_other_out(shared_cluster, screen, with_friends):
    me, (ben,) = with_friends(1)
    http = shared_cluster.http(me)
    with shared_cluster.online(ben, *at(500)) as friend:
        screen.open(shared_cluster.token(me), HOME)
        screen.wait_friends({ben})
        with shared_cluster.phone(me) as phone:
            phone.lat, phone.lng = HOME
            phone.send({'type': 'hello', 'token': phone.token, 'device': 'Pixel 9', 'lat': phone.lat, 'lng': phone.lng, 'time': now_ms()})
            phone.wait_screen({ben})
            sent = now_ms()
            friend.report(*at(600), time=sent)
            phone.wait_item(ben, lambda item: item['time'] == sent)
            screen.wait_list({ben: at(600)}, total=1)
            eventually(lambda: len(http.ok('GET', '/v1/devices')['items']) == 2, what='both are listed')
            screen.page.click('#me summary')
            screen.page.click('#devices-summary')
            screen.page.wait_for_selector('#device-list li + li')
            names = screen.page.locator('#device-list li > span > span:first-child').all_text_contents()
            assert names[0] == 'Pixel 9' and names[1].startswith('Chrome')
            screen.page.click('#device-list button')
            assert phone.wait_closed() == 4001
            screen.page.wait_for_selector('#device-list li + li', state='detached')
        screen.page.keyboard.press('Escape')
        assert screen.page.is_hidden('#banner')
        sockets = len(screen.sockets)
        session = next(frame['session'] for frame in screen.frames if frame['type'] == 'welcome')
        assert http.delete(f'/v1/devices/{session}').status_code == 204
        screen.wait_state('closed', 'elsewhere')
        assert 'signed out from another one' in screen.text('#banner')
        time.sleep(2)  # it does not come back by itself
        assert len(screen.sockets) == sockets
        screen.page.click('#retry')
        screen.wait_state('online')
        screen.wait_list({ben: at(600)}, total=1)
        screen.page.wait_for_selector('#banner', state='hidden')


@pytest.mark.parametrize('viewport', [WIDE, PHONE], ids=['wide', 'phone'])
def test_says_that_the_edge_is_away_and_comes_back_with_the_list(cluster, browser, users, viewport):
    me, ben, cleo = users(3)
    name(cluster, me, 'Mira')
    cluster.acquaint(me, ben, cleo)
    positions = {ben: at(500), cleo: at(2_000)}
    for friend, position in positions.items():
        assert cluster.report_http(friend, *position).ok
    edge = cluster.fanouts[0]

    def of_the_connection():
        return [text for text in screen.spoken() if text in ('Connected', 'Not connected')]

    # A tenth of each window, six seconds at most: how long luck makes a page wait after an edge was away twice is not tried here.
    with Screen(browser, cluster.http_url, viewport, luck=0.1) as screen:
        screen.allowed = CANNOT_CONNECT
        screen.open(cluster.token(me), HOME)
        screen.wait_friends({ben, cleo})

        edge.kill()
        screen.wait_state('waiting')
        assert screen.page.is_visible('#banner') and 'connection is lost' in screen.text('#banner')
        assert screen.friends() == {ben, cleo}  # as it was
        screen.page.wait_for_selector('main.old')
        eventually(lambda: of_the_connection() == ['Connected', 'Not connected'], what='it is said')
        screen.go(*at(100))
        positions[ben] = at(1_000)
        assert cluster.report_http(ben, *positions[ben]).ok
        edge.start()
        screen.wait_state('online', timeout=40)  # by itself
        screen.wait_list(positions, total=2)
        screen.page.wait_for_selector('main:not(.old)')
        assert of_the_connection() == ['Connected', 'Not connected', 'Connected']

        assert edge.stop() == 0  # a planned end: told to reconnect, then 1012
        screen.wait_state('waiting')
        edge.start()
        screen.wait_state('online', timeout=40)
        screen.wait_list(positions, total=2)
        screen.page.wait_for_selector('#banner', state='hidden')


def test_people_around_are_shown_by_their_cells_while_both_are_public(shared_cluster, screen, users):
    me, ada, ben = users(3)
    place = at(50_000 + 20_000 * (me % 100))  # nobody else is there
    name(shared_cluster, me, 'Mira')
    name(shared_cluster, ada, 'Ada')
    shared_cluster.share(ada, mode='public')
    shared_cluster.share(me, ben)
    for user in ada, ben:
        shared_cluster.http(user).ok('POST', '/v1/locations', json={'lat': place[0], 'lng': place[1], 'time': now_ms()})
    screen.open(shared_cluster.token(me), place)
    screen.wait_state('online')
    screen.page.click('#show-around')
    screen.page.wait_for_function('() => /everybody/.test(document.getElementById("around-note").textContent)')
    with screen.panel():
        screen.page.click('#sharing label:has([value="public"])')
        screen.page.wait_for_selector('#sharing[data-mode="public"]')
    row = f'#around-list > li[data-user="{ada}"]'
    screen.page.wait_for_selector(row)
    assert screen.page.locator('#around-list > li').count() == 1
    assert (screen.text(f'{row} .name'), screen.text('.cell-count')) == ('Ada', '1')
    assert screen.text(f'{row} .where').startswith('about ')
    assert screen.page.locator('path.cell').count() == 1

    shared_cluster.share(ada, mode='friends')
    # Sooner than the page's next question, which comes after half a minute.
    screen.page.wait_for_function('() => /Nobody around/.test(document.getElementById("around-note").textContent)', timeout=15_000)
    assert screen.page.locator('#around-list > li, path.cell').count() == 0


def test_where_i_was_is_a_line_on_the_map(shared_cluster, browser, with_friends):
    me, _ = with_friends(1)
    with Screen(browser, shared_cluster.http_url, WIDE) as screen:
        screen.open(shared_cluster.token(me), HOME)
        screen.wait_state('online')
        screen.go(*at(700))
        eventually(lambda: len(shared_cluster.http(me).ok('GET', '/v1/history')['items']) >= 2, what='both places are stored')
        screen.page.click('#trail')
        eventually(lambda: '0.4 mi' in screen.text('#trail-note'), what='the way that I went')
        assert screen.page.locator('path.trail').count() == 1
