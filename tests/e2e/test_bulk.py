"""Friendships in bulk, which routers hold for a moment before they apply them: whatever ends a router then, none is lost."""
import time

import pytest

from harness.command import Running
from harness.geo import HOME
from harness.waiting import eventually
from test_cli import exported

PEOPLE, FRIENDS = 3000, 80


def applied(cluster):
    return sum(router.total('starling_router_friendships_applied_total') for router in cluster.routers)


def rises(cluster, by):
    """Waits until that many halves more are applied."""
    begun = applied(cluster)
    eventually(lambda: applied(cluster) >= begun + by, 60, every=0.02, what=f'{by} halves are applied')


@pytest.mark.timeout(300)
def test_bulk_outlives_a_kill_and_an_orderly_end(make_cluster, users, tmp_path):
    """Two routers, each the other's stand-by, in the middle of an import; two phones hear of each other by it."""
    cluster = make_cluster(partitions=6).start(routers=2, sinks=0)
    killed, ended = cluster.routers
    people = users(PEOPLE)
    pairs = {tuple(sorted((user, people[(i + step) % PEOPLE])))
             for i, user in enumerate(people) for step in range(1, FRIENDS + 1)}
    ada, ben = people[0], people[1]
    cluster.share(ada, ben)
    phones = [cluster.online(ada, *HOME), cluster.online(ben, *HOME)]
    file = tmp_path / 'friends'
    file.write_text(''.join(f'{a} {b}\n' for a, b in sorted(pairs, key=hash)))
    with Running(cluster, 'graph', 'import', file, '--wait', 120) as running:
        rises(cluster, 20_000)
        killed.kill()
        time.sleep(1)
        killed.start()
        rises(cluster, 20_000)
        ended.stop()
        ended.start()
        code, said = running.wait(150)
        assert code == 0, said
    assert exported(cluster) == pairs
    number = {user: i for i, user in enumerate(people)}
    for user in people[::97]:
        around = range(-FRIENDS, FRIENDS + 1)
        assert cluster.friends_of(user) == {people[(number[user] + step) % PEOPLE] for step in around if step}
    for _ in range(2):  # what was told while routers went is made good by two reports
        for phone in phones:
            phone.report(*HOME)
        time.sleep(2)
    phones[0].wait_screen({ben}, 60)
    phones[1].wait_screen({ada}, 60)


@pytest.mark.timeout(120)
def test_news_is_not_held_up_by_bulk_for_long(make_cluster, users, tmp_path):
    """A friendship made in the middle of an import shows while the import goes on; one that is ended at once does not."""
    cluster = make_cluster(partitions=6).start(sinks=0)
    people = users(PEOPLE)
    cluster.share(*people[:2])
    ada, ben = people[:2]
    phone = cluster.online(ada, *HOME)
    cluster.online(ben, *HOME)
    file = tmp_path / 'friends'
    file.write_text(''.join(f'{user} {people[(i + step) % PEOPLE]}\n' for step in range(2, 2 * FRIENDS)
                            for i, user in enumerate(people)))
    with Running(cluster, 'graph', 'import', file) as running:
        rises(cluster, 20_000)
        cluster.befriend((ada, ben))
        phone.wait_screen({ben}, 15)
        cluster.http(ada).ok('DELETE', f'/v1/friends/{ben}')
        phone.wait_screen(set(), 15)
        assert running.wait(60)[0] == 0
    eventually(lambda: cluster.routers[0].total('starling_router_overlay_halves') == 0, 30, what='everything is read back')
