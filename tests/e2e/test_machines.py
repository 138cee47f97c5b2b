"""Several machines, for real: three brokers and two sets of daemons in network namespaces of their own. A broker is lost for good, lines are
cut and healed, others are slow and lose packets. Everything acknowledged is there afterwards; lists, pages and threads are exact."""
import concurrent.futures
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from harness.busy import Busy
from harness.processes import die_with_parent
from harness.waiting import eventually, now_ms

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

KINDS = 'ingest', 'router', 'fanout', 'feed', 'comments'
CUT_S = 10  # longer than a session: the others have taken over
SLOW_S = 6
LONG_CUT_S, AGAIN_S = 40, 15
LINE = 40, 10, 0.02  # ms, ± ms, share of packets that are lost


def test_nothing_is_left_of_a_network_whose_process_is_killed(network):
    program = ('import time; from harness.machines import Network; network = Network(2); print(network.device, flush=True); '
               'time.sleep(600)')
    child = subprocess.Popen([sys.executable, '-c', program], cwd=pathlib.Path(__file__).parent, stdout=subprocess.PIPE, text=True,
                             preexec_fn=die_with_parent)
    device = pathlib.Path('/sys/class/net', child.stdout.readline().strip())
    assert device.exists() and device.name != network.device
    child.send_signal(signal.SIGKILL)
    child.communicate()
    eventually(lambda: not device.exists(), 20)


@pytest.fixture(scope='module')
def spread(make_spread_cluster, network):
    """One of each daemon on each of two machines."""
    cluster = make_spread_cluster(settings={'comments:comments.user.rate': 0})
    cluster.create_topics(replication=3, **{'min-insync': 2})
    for machine in network.machines[3:]:
        for kind in KINDS:
            cluster.add(kind, wait=False, place=machine)
    for daemon in cluster.daemons:
        daemon.wait_ready()
    return cluster


@pytest.fixture
def busy(spread, users, tmp_path):
    return Busy(spread, users, tmp_path)


def cut(network, *pairs):
    with network.cut(*pairs):
        time.sleep(CUT_S)


def test_lines_are_slow_and_lose_packets(spread, busy, network):
    """Between one broker, one machine of daemons and all others, also while everything is compared."""
    broker, machine = network.machines[2], network.machines[4]
    with network.slow([broker, machine], *LINE):
        busy.during(lambda: time.sleep(SLOW_S))
        busy.check()


def test_daemons_are_cut_off_from_some_brokers_and_others_from_all(spread, busy, network):
    *brokers, one, other = network.machines

    def trouble():
        cut(network, *((one, broker) for broker in brokers[:2]))
        cut(network, *((other, broker) for broker in brokers))

    busy.during(trouble)
    busy.check()


def takes_writes(spread, gateway, user):
    http = spread.http(user)
    http.base = f'http://{gateway.settings["ingest.listen"]}'
    report = http.post('/v1/locations', json={'lat': 1, 'lng': 1, 'time': now_ms()})
    post = http.post('/v1/posts', json={'text': 'hello', 'key': f'{gateway.name}-{now_ms()}'})
    assert (report.status_code, post.status_code) == (200, 201), report.text + post.text


def served(spread, user):
    """Every gateway takes reports and posts, every process is ready, and every edge has sent what its phones reported."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(lambda gateway: takes_writes(spread, gateway, user), spread.of('ingest')))
    for edge in spread.fanouts:
        unsent = edge.metrics().total('starling_edge_unsent_sessions')
        assert unsent == 0, f'{edge.name}: {unsent} sessions'
    assert all(daemon.ready() for daemon in spread.daemons), [daemon.name for daemon in spread.daemons if not daemon.ready()]
    return True


@pytest.mark.skipif(not os.environ.get('STARLING_CUTS'), reason='takes minutes, and is measured alone on a machine: set STARLING_CUTS')
@pytest.mark.timeout(400)
def test_the_controllers_broker_is_cut_from_the_other_two(spread, busy, brokers, network, users):
    """Clients reach all three. librdkafka's idempotent producers lose their place while leaders change to and fro."""
    controller, (user,) = brokers.controller(), users(1)
    spread.share(user)

    def trouble():
        with network.cut(*((controller.place, one.place) for one in brokers.members if one is not controller)):
            time.sleep(LONG_CUT_S)
        healed = time.monotonic()
        eventually(lambda: served(spread, user), AGAIN_S, every=0.5)
        print(f'served again {time.monotonic() - healed:.1f} s after the healing')

    busy.during(trouble)
    busy.check()


def test_a_broker_is_killed_for_good(spread, busy, brokers):
    """The one that keeps the routers' group."""
    busy.during(lambda: (brokers.coordinator_of(spread.group('router')).kill(), time.sleep(CUT_S)))
    busy.check()
