"""What people see of each other with everything running: friends made and parted, sharing, devices, reports by HTTP, and
all of it again after the broker was away."""
import re
import subprocess
import sys

import pytest

from harness.broker import REPOSITORY
from harness.geo import HOME, at
from harness.waiting import eventually, now_ms


@pytest.fixture
def two(shared_cluster, users):
    """Two people near each other, online and sharing, who are no friends yet: (cluster, phone, phone)."""
    ada, ben = users(2)
    shared_cluster.share(ada, ben)
    with shared_cluster.online(ada, *HOME) as a, shared_cluster.online(ben, *at(500)) as b:
        yield shared_cluster, a, b


def test_friends_show_at_once_and_hide_at_once(two):
    cluster, a, b = two
    cluster.befriend((a.user, b.user))
    a.wait_screen({b.user})
    b.wait_screen({a.user})
    assert cluster.http(a.user).ok('DELETE', f'/v1/friends/{b.user}')['state'] == 'none'
    a.wait_screen(set())
    b.wait_screen(set())
    cluster.befriend((b.user, a.user))
    a.wait_screen({b.user})
    b.wait_screen({a.user})
    assert cluster.http(b.user).put(f'/v1/blocks/{a.user}').ok
    a.wait_screen(set())
    b.wait_screen(set())


def test_opting_out_hides_and_empties_and_opting_in_shows_again(two):
    cluster, a, b = two
    cluster.befriend((a.user, b.user))
    a.wait_screen({b.user})
    b.wait_screen({a.user})
    cluster.share(a.user, mode='off')
    a.wait_screen(set())
    b.wait_screen(set())
    a.report(*at(100))
    b.report(*at(600))
    cluster.share(a.user)
    a.wait_item(b.user, lambda item: item['distance_m'] == pytest.approx(500, abs=1))
    b.wait_item(a.user, lambda item: item['lat'] == pytest.approx(at(100)[0], abs=1e-6))


def test_two_tabs_are_both_live(two):
    cluster, a, b = two
    cluster.befriend((a.user, b.user))
    a.wait_screen({b.user})
    with cluster.online(a.user, *at(200)) as second:
        second.wait_screen({b.user})
        b.wait_item(a.user, lambda item: item['distance_m'] == pytest.approx(300, abs=1))
        b.report(*at(700))
        for tab in (a, second):
            tab.wait_item(b.user, lambda item: item['lat'] == pytest.approx(at(700)[0], abs=1e-6))
        a.report(*at(20_000))  # a report by one is the user's place, and moves both
        for tab in (a, second):
            tab.wait_screen(set())
        second.report(*at(600))
        for tab in (a, second):
            tab.wait_screen({b.user})
        cluster.share(a.user, mode='off')
        for tab in (a, second, b):
            tab.wait_screen(set())
        cluster.share(a.user)
        for tab in (a, second):
            tab.wait_screen({b.user})
        b.wait_screen({a.user})
    second.close()
    b.report(*at(800))  # closing one leaves the other
    a.wait_item(b.user, lambda item: item['lat'] == pytest.approx(at(800)[0], abs=1e-6))
    assert a.closed() is None
    b.wait_screen({a.user})


def test_two_devices_opened_while_off_both_show_the_list(two):
    cluster, a, b = two
    cluster.befriend((a.user, b.user))
    cluster.share(a.user, mode='off')
    b.wait_screen(set())
    with cluster.online(a.user, *at(10)) as other:
        cluster.share(a.user)
        for device in (a, other):
            device.wait_screen({b.user})
        b.wait_item(a.user, lambda item: item['distance_m'] == pytest.approx(490, abs=1))  # where the newest was


def test_a_report_by_http_moves_both_screens(two):
    cluster, a, b = two
    cluster.befriend((a.user, b.user))
    a.wait_screen({b.user})
    b.wait_screen({a.user})
    assert cluster.report_http(a.user, *at(20_000)).json() == {'accepted': 1, 'sharing_off': 0}
    a.wait_screen(set())
    b.wait_screen(set())
    cluster.report_http(a.user, *at(400))
    b.wait_item(a.user, lambda item: item['distance_m'] == pytest.approx(100, abs=1))
    a.wait_screen({b.user})


def test_the_phone_in_the_documentation_works(two, users, tmp_path):
    cluster, a, _b = two
    reader, = users(1)
    cluster.share(reader)
    cluster.befriend((reader, a.user))
    program = re.search(r'```python\n(.*?)```', (REPOSITORY / 'docs/PROTOCOL.md').read_text(), re.S)[1]
    program = program.replace('ws://127.0.0.1:8081/', cluster.ws_url)
    (tmp_path / 'token').write_text(cluster.token(reader) + '\n')
    with subprocess.Popen([sys.executable, '-u', '-W', 'ignore', '-c', program], cwd=tmp_path, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as phone:
        try:
            line = next((line for line in phone.stdout if str(a.user) in line or 'Error' in line), 'ended')
            assert str(a.user) in line, line
        finally:
            phone.kill()


def test_pages_of_real_friends(shared_cluster, users):
    user, *friends = users(26)
    shared_cluster.acquaint(user, *friends)
    for i, friend in enumerate(friends):
        assert shared_cluster.report_http(friend, *at(10 * i)).ok
    with shared_cluster.phone(user) as phone:
        page = phone.hello(*HOME)
        assert [item['user'] for item in page['items']] == friends[:20]
        assert page['total'] == 25
        rest = phone.more()
        assert [item['user'] for item in rest['items']] == friends[20:]
        assert rest['next'] is None


def test_screens_are_right_again_after_the_broker_was_away(make_cluster, broker, users):
    cluster = make_cluster().start()
    ada, ben = users(2)
    cluster.acquaint(ada, ben)
    with cluster.online(ada, *HOME) as a, cluster.online(ben, *at(500)) as b:
        a.wait_screen({ben})
        b.wait_screen({ada})
        try:
            broker.stop()
            eventually(lambda: cluster.report_http(ada, *HOME).status_code == 503, 20)
            a.report(*at(100), time=now_ms())
            b.report(*at(-900), time=now_ms())
        finally:
            broker.start()
        a.wait_item(ben, lambda item: item['distance_m'] == pytest.approx(1000, abs=1), timeout=60)
        b.wait_item(ada, lambda item: item['lat'] == pytest.approx(at(100)[0], abs=1e-6), timeout=60)
        assert a.closed() is None and b.closed() is None
