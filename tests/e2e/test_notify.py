"""notify.url: a user without a session is notified that a friend has come near, as the list of near friends would show it. Covers
router/notifying.c
and feed/pushing.c."""
import hashlib
import hmac
import json
import secrets
import shutil

import pytest

from harness.geo import at, distance_m
from harness.posted import Posted
from harness.waiting import eventually, now_ms

KEY = secrets.token_hex(20)


@pytest.fixture(scope='module')
def receiver():
    with Posted('/near?of=starling') as receiver:
        yield receiver


@pytest.fixture(scope='module')
def town(make_module_cluster, receiver, tmp_path_factory):
    key = tmp_path_factory.mktemp('notify') / 'key'
    key.write_text(KEY + '\n')
    return make_module_cluster(settings={'inactive.after.s': 60, 'router:notify.approaches': 'true', 'feed:notify.url': receiver.url,
                                         'feed:notify.key.file': str(key)}).start(routers=2, sinks=0, feeds=1)


def notices(receiver):
    """{(user, friend): [item]} of all posts, each of which must be signed."""
    found = {}
    for body, headers in receiver.posts:
        assert headers['Starling-Signature'] == 'sha256=' + hmac.new(KEY.encode(), body, hashlib.sha256).hexdigest()
        assert headers['Content-Type'] == 'application/json'
        for item in json.loads(body)['items']:
            assert item.keys() == {'id', 'user', 'what', 'from', 'friend', 'distance_m', 'subject', 'comment', 'time'}
            assert (item['id'], item['what'], item['from']) == (f'{item["time"]}.7.{item["friend"]}', 'approach', item['friend'])
            found.setdefault((item['user'], item['friend']), []).append(item)
    return found


def people(post):
    return {item[member] for item in json.loads(post[0])['items'] for member in ('user', 'from')}


def people_since(receiver, count):
    """Of the posts after so many."""
    return {user for post in receiver.posts[count:] for user in people(post)}


def report(town, user, metres):
    answer = town.report_http(user, *at(metres))
    assert answer.ok, answer.text


def told(receiver, user, friend):
    return eventually(lambda: notices(receiver).get((user, friend)), what=f'{user} is notified of {friend}')


def test_who_has_no_session_is_notified_and_who_has_one_is_not(town, receiver, users):
    ada, ben, cleo = users(3)
    town.acquaint(ada, ben, cleo)
    report(town, ben, 0)
    with town.online(cleo, *at(10)) as phone:
        report(town, ada, 20_000)
        before = now_ms()
        report(town, ada, 1000)
        [item] = told(receiver, ben, ada)
        listed, = [one for one in town.http(ben).ok('GET', '/v1/notices')['items'] if one['what'] == 'approach']
        assert (listed['id'], listed['user'], listed['distance_m']) == (item['id'], ada, item['distance_m'])
        assert item['distance_m'] == pytest.approx(distance_m(*at(0), *at(1000)), abs=0.06)
        assert before <= item['time'] <= now_ms()
        told(receiver, ada, ben)  # she has no session either
        told(receiver, ada, cleo)
        phone.wait_screen({ada})
        assert (cleo, ada) not in notices(receiver)


def test_a_phone_whose_socket_is_gone_is_notified(town, receiver, users):
    ada, ben = users(2)
    town.acquaint(ada, ben)
    with town.online(ben, *at(0)) as phone:
        phone.report(*at(1))

    def comes():  # again and again: the edge says a moment later that the session has ended
        report(town, ada, 20_000)
        report(town, ada, 100)
        return notices(receiver).get((ben, ada))

    eventually(comes)


def test_a_pair_is_told_once_however_often_they_meet(town, receiver, users):
    ada, ben, cleo = users(3)
    town.acquaint(ada, ben, cleo)
    report(town, ben, 0)
    for turn in range(3):
        report(town, ada, 20_000)
        if turn == 2:
            report(town, cleo, 0)
        report(town, ada, 500)
    told(receiver, cleo, ada)  # the last post of all
    assert len(notices(receiver)[ben, ada]) == 1


def test_nobody_is_told_who_mutes_blocks_or_does_not_share(town, receiver, users):
    ada, mutes, blocks, hidden, last = users(5)
    town.acquaint(ada, mutes, blocks, hidden, last)
    for user in mutes, blocks, hidden, last:
        report(town, user, 0)
    town.http(mutes).ok('PUT', f'/v1/nearby/mutes/{ada}')
    town.http(blocks).ok('PUT', f'/v1/blocks/{ada}')
    town.share(hidden, mode='off')
    eventually(lambda: town.friends_of(ada) == {mutes, hidden, last})
    report(town, ada, 700)
    told(receiver, last, ada)
    told(receiver, ada, mutes)  # it is the other who mutes
    pairs = notices(receiver).keys()
    assert not pairs & {(mutes, ada), (blocks, ada), (ada, blocks), (hidden, ada), (ada, hidden)}


def total(town, what):
    return town.feeds[0].total(f'starling_feed_notify_{what}')


@pytest.mark.parametrize('status', [503, 400])
def test_what_a_receiver_does_not_take_comes_again(town, receiver, users, status):
    ada, ben = users(2)
    town.acquaint(ada, ben)
    report(town, ben, 0)
    failed, pushed = total(town, 'failed_total'), total(town, 'pushed_total')
    receiver.answers = [status]
    with town.online(ada, *at(800)):
        told(receiver, ben, ada)
        first, second = eventually(lambda: (posts := [json.loads(body) for body, _ in receiver.posts if f'"friend":{ada},' in body.decode()])[1:] and posts)
        assert first['items'] == second['items'] and first['sent'] < second['sent'] <= now_ms()
        eventually(lambda: total(town, 'failed_total') == failed + 1 and total(town, 'pushed_total') == pushed + 1)
    assert sum(router.total('starling_router_approaches_dropped_total') for router in town.routers) == 0


def test_who_does_not_want_it_is_not_told(town, receiver, users):
    ada, ben, cleo = users(3)
    town.acquaint(ada, ben, cleo)
    town.http(ben).ok('PUT', '/v1/notices/preferences', json={'approach': {'live': True, 'push': False}})
    for user in ben, cleo:
        report(town, user, 0)
    report(town, ada, 700)
    told(receiver, cleo, ada)
    told(receiver, ada, ben)
    assert (ben, ada) not in notices(receiver)


def test_who_has_blocked_by_then_is_not_told(town, receiver, users):
    ada, blocks, blocked, last = users(4)
    town.acquaint(ada, blocks, blocked, last)
    for user in blocks, blocked, last:
        report(town, user, 0)
    receiver.answers, before = [503] * 100, len(receiver.posts)
    report(town, ada, 700)
    eventually(lambda: {ada, blocks, blocked, last} <= people_since(receiver, before))
    town.http(blocks).ok('PUT', f'/v1/blocks/{ada}')
    town.http(ada).ok('PUT', f'/v1/blocks/{blocked}')
    eventually(lambda: town.friends_of(ada) == {last})
    before = len(receiver.posts)
    eventually(lambda: {ada, last} <= people_since(receiver, before) and not {blocks, blocked} & people(receiver.posts[-1]), 30,
               what='they are in the posts no more')
    assert {ada, last} <= people(receiver.posts[-1])
    receiver.answers = []
    eventually(lambda: total(town, 'waiting') == 0, 60)


def test_the_users_owner_dies_while_the_receiver_is_away(town, receiver, users):
    ada, ben = users(2)
    town.acquaint(ada, ben)
    report(town, ben, 0)
    receiver.answers = [500] * 20
    report(town, ada, 700)
    told(receiver, ben, ada)
    shutil.rmtree(town.feeds[0].kill() or town.feeds[0].settings['data.dir'])
    posts, receiver.answers = len(receiver.posts), []
    town.feeds[0].start()
    eventually(lambda: any(f'"user":{ben},' in body.decode() for body, _ in receiver.posts[posts:]), 60)


def test_a_restart_repeats_nothing(town, receiver, users):
    ada, ben, cleo = users(3)
    town.acquaint(ada, ben, cleo)
    for user in ada, ben:
        report(town, user, 0)
    told(receiver, ada, ben)
    before = {pair: len(items) for pair, items in notices(receiver).items()}
    for router in town.routers:
        router.kill()
    for router in town.routers:
        router.start()
    report(town, ada, 1)  # near as before
    report(town, ben, 1)

    def comes():  # again and again: until a router has read who shares and who mutes, it notifies nobody
        report(town, cleo, 20_000)
        report(town, cleo, 0)
        return notices(receiver).get((cleo, ada))

    eventually(comes)
    after = notices(receiver)
    assert {pair: len(after[pair]) for pair in before} == before
