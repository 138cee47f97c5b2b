"""The whole pipeline once: a report travels from one phone to another."""
from harness.geo import HOME, at, distance_m
from harness.records import decode
from harness.waiting import eventually


def test_friends_near_see_each_other(shared_cluster, users):
    ada, ben = users(2)
    shared_cluster.acquaint(ada, ben)
    near = at(1_000)
    with shared_cluster.phone(ada) as a, shared_cluster.phone(ben) as b:
        assert a.hello(*HOME)['total'] == 0
        b.hello(*near)
        a.wait_screen({ben})
        b.wait_screen({ada})
        assert abs(a.screen[ben]['distance_m'] - 1_000) < 0.2
        assert abs(b.screen[ada]['distance_m'] - 1_000) < 0.2

        nearer = at(400)
        b.report(*nearer)
        item = a.wait_item(ben, lambda item: item['distance_m'] < 999)
        assert abs(item['distance_m'] - distance_m(*HOME, *nearer)) < 0.2

        b.report(*at(20_000))
        a.wait_screen(set())
        b.wait_screen(set())


def test_strangers_do_not_see_each_other(shared_cluster, users):
    ada, ben, eve = users(3)
    shared_cluster.share(ada, ben, eve)
    shared_cluster.befriend((ada, ben))
    with shared_cluster.online(ada, *HOME) as a, shared_cluster.online(eve, *HOME) as e, shared_cluster.online(ben, *HOME):
        a.wait_screen({ben})
        assert e.friends() == set()


def test_reports_are_in_kafka_and_in_history(shared_cluster, ada):
    shared_cluster.share(ada)
    with shared_cluster.online(ada, *HOME) as a:
        before = a.frames[0]['server_time']

        def kinds():
            mine = [decode(m.value) for m in shared_cluster.topics.read('locations')]
            return [record['kind'] for record in mine if record['user'] == ada]

        # Until the edge knows that she shares, which the gateway knew at once, it keeps the latest place only.
        eventually(lambda: kinds() == ['JOIN'], what='JOIN is in Kafka')
        a.report(*at(100), time=before + 1)
        a.report(*at(200), time=before + 2)
        eventually(lambda: kinds() == ['JOIN', 'REPORT', 'REPORT'], what='JOIN and two REPORTs are in Kafka')

        def rows():
            return shared_cluster.http(ada).ok('GET', '/v1/history', params={'from': 0, 'to': before + 60_000})['items']

        eventually(lambda: len(rows()) == 3, what='three rows of history')


def test_every_daemon_serves_its_metrics(shared_cluster):
    for daemon in shared_cluster.daemons:
        assert daemon.get('/healthz').status_code == 200
        assert daemon.ready()
        assert daemon.metrics(), daemon.name
