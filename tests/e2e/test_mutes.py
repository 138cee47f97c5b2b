"""A friend who is muted is not on the list of near friends: live, over HTTP, on each device, and after restarts; and notices nothing. Covers
ingest/nearby/mutes.c."""
import pytest

from harness.geo import HOME, at
from harness.waiting import eventually


@pytest.fixture(scope='module')
def cluster(make_module_cluster):
    return make_module_cluster(settings={'fanout:edge.flush.window.ms': 100}).start(fanouts=2, sinks=0)


def mute(cluster, user, other, muted=True):
    answer = cluster.http(user).ok('PUT' if muted else 'DELETE', f'/v1/nearby/mutes/{other}')
    assert answer == {'user': other, 'muted': muted}


def muted(cluster, user, **query):
    return cluster.http(user).ok('GET', '/v1/nearby/mutes', params=query)


def near(cluster, user):
    return {item['user'] for item in cluster.http(user).ok('GET', '/v1/nearby')['items']}


def acquainted(cluster, users):
    me, ben, cleo = users(3)
    cluster.acquaint(me, ben, cleo)
    return me, ben, cleo


def test_muting_hides_and_unmuting_shows(cluster, users):
    me, ben, cleo = acquainted(cluster, users)
    with cluster.online(me, *HOME) as mine, cluster.online(ben, *at(500)) as his, cluster.online(cleo, *at(600)) as hers:
        mine.wait_screen({ben, cleo})
        his.wait_screen({me})
        mute(cluster, me, ben)
        mine.wait_screen({cleo})
        eventually(lambda: near(cluster, me) == {cleo})
        eventually(lambda: muted(cluster, me)['items'] == [{'user': ben}])
        # Nothing that he does is told; she is told of, and the two see me as before.
        frames = len(mine.frames)
        for metres in 510, 9000, 520:
            his.report(*at(metres))
        hers.report(*at(700))
        mine.wait_item(cleo, lambda item: abs(item['lat'] - at(700)[0]) < 1e-6)
        mine.report(*at(10))
        his.wait_item(me, lambda item: abs(item['lat'] - at(10)[0]) < 1e-6)
        hers.wait_item(me, lambda item: abs(item['lat'] - at(10)[0]) < 1e-6)
        assert str(ben) not in str(mine.frames[frames:])
        assert cluster.friends_of(me) == {ben, cleo}
        # And back again, at once, where he is now.
        mute(cluster, me, ben, False)
        item = mine.wait_item(ben, lambda item: abs(item['lat'] - at(520)[0]) < 1e-6)
        assert item['user'] == ben
        eventually(lambda: near(cluster, me) == {ben, cleo})


def test_a_new_session_is_not_told_either(cluster, users):
    """Muted while nobody looks; also kept while both edges and the gateway are restarted."""
    me, ben, cleo = acquainted(cluster, users)
    mute(cluster, me, ben)
    for restarted in False, True:
        for daemon in [cluster.ingest, *cluster.fanouts] if restarted else []:
            daemon.restart()
        with cluster.online(ben, *at(500)), cluster.online(cleo, *at(600)):
            eventually(lambda: near(cluster, me) <= {cleo})
            with cluster.phone(me) as mine:
                page = mine.hello(*HOME)
                mine.wait_screen({cleo})
                assert page['total'] == len(page['items']) <= 1
                eventually(lambda: near(cluster, me) == {cleo})
                assert str(ben) not in str(mine.frames)
        assert muted(cluster, me)['items'] == [{'user': ben}]


def test_a_friend_muted_before_the_friendship(cluster, users):
    me, ben = users(2)
    cluster.share(me, ben)
    mute(cluster, me, ben)
    with cluster.online(me, *HOME) as mine, cluster.online(ben, *at(500)) as his:
        cluster.befriend((me, ben))
        his.wait_screen({me})
        mute(cluster, me, ben, False)
        mine.wait_screen({ben})


def test_the_list_of_mutes(cluster, users):
    me, *others = users(6)
    http = cluster.http(me)
    assert muted(cluster, me) == {'items': [], 'next': None}
    for other in others:
        mute(cluster, me, other)
        mute(cluster, me, other)
    mute(cluster, me, others[2], False)
    rest = [others[0], others[1], others[3], others[4]]
    eventually(lambda: [item['user'] for item in muted(cluster, me)['items']] == rest)
    first = muted(cluster, me, limit=3)
    assert first == {'items': [{'user': user} for user in rest[:3]], 'next': rest[2]}
    assert muted(cluster, me, after=first['next']) == {'items': [{'user': rest[3]}], 'next': None}
    assert muted(cluster, others[0]) == {'items': [], 'next': None}
    for method in 'PUT', 'DELETE':
        http.refused(method, f'/v1/nearby/mutes/{me}', 400, 'same_user')
    assert http.get('/v1/nearby/mutes', params={'limit': 0}).status_code == 400


def test_there_is_a_limit(cluster, users):
    me, other = users(2)
    mute(cluster, me, other)
    partition = eventually(lambda: [m.partition for m in cluster.topics.read('nearby-mutes') if m.key[:8] == me.to_bytes(8, 'big')])[0]
    mute(cluster, me, other, False)
    keys = [me.to_bytes(8, 'big') + (10 ** 9 + i).to_bytes(8, 'big') for i in range(1000)]
    cluster.topics.produce_all('nearby-mutes', [(key, ('nearby-mute', {'since': 1})) for key in keys], partition)
    eventually(lambda: len(muted(cluster, me, limit=1000)['items']) == 1000)
    assert len(muted(cluster, me)['items']) == 20
    cluster.http(me).refused('PUT', '/v1/nearby/mutes/5', 409, 'mutes_limit')
    mute(cluster, me, 10 ** 9)
    mute(cluster, me, 10 ** 9, False)
    eventually(lambda: cluster.http(me).put('/v1/nearby/mutes/5').status_code == 200)
