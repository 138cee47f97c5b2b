"""Several machines, for real: three brokers and two sets of daemons in network namespaces of their own. A broker is lost for good, lines are
cut and healed, others are slow and lose packets. Everything acknowledged is there afterwards; lists, pages and threads are exact."""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from harness.busy import Busy
from harness.meanwhile import at_once
from harness.processes import die_with_parent
from harness.waiting import eventually, now_ms

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

KINDS = 'ingest', 'router', 'fanout', 'feed', 'comments'
SESSION_S = 10  # as docs/OPERATIONS.md has it for three brokers
CUT_S = SESSION_S + 4  # the others have taken over
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
    cluster = make_spread_cluster(settings={'comments:comments.user.rate': 0, 'kafka.session.timeout.ms': SESSION_S * 1000})
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
    at_once(lambda gateway: takes_writes(spread, gateway, user), spread.of('ingest'))
    for edge in spread.fanouts:
        unsent = edge.total('starling_edge_unsent_sessions')
        assert unsent == 0, f'{edge.name}: {unsent} sessions'
    assert all(daemon.ready() for daemon in spread.daemons), [daemon.name for daemon in spread.daemons if not daemon.ready()]
    return True


def of_the_controller(brokers, network):
    return network.cut(*brokers.around(brokers.controller()))


def of_another(number):
    """A broker that is not the controller. librdkafka's idempotent producers lose their place while leaders change to and fro."""
    def cut(brokers, network):
        controller = brokers.controller()
        return network.cut(*brokers.around([one for one in brokers.members if one is not controller][number]))
    return cut


def of_both_machines(brokers, network):
    """Both gateways, and all else."""
    return network.cut(*((machine, one.place) for machine in network.machines[3:] for one in brokers.members))


@contextlib.contextmanager
def during_a_roll(brokers, network):
    """Another broker is stopped and started meanwhile: nobody can write until it is back."""
    controller = brokers.controller()
    with of_the_controller(brokers, network):
        rolled = next(one for one in brokers.members if one is not controller)
        rolled.stop()
        rolled.start(wait=False)
        yield
    rolled.wait_started()


CUTS = {'the controller': of_the_controller, 'another broker': of_another(0), 'the third broker': of_another(1),
        'both machines of daemons': of_both_machines, 'the controller during a roll': during_a_roll}


@pytest.mark.skipif(not os.environ.get('STARLING_CUTS'), reason='takes minutes, and is measured alone on a machine: set STARLING_CUTS')
@pytest.mark.timeout(400)
@pytest.mark.parametrize('of', CUTS)
def test_everything_is_served_again_after_a_long_cut(spread, busy, brokers, network, user, of):
    """Of a broker from the other two, which clients do reach; or of daemons from all brokers."""
    spread.share(user)

    def trouble():
        with CUTS[of](brokers, network):
            time.sleep(LONG_CUT_S)
        healed = time.monotonic()
        eventually(lambda: served(spread, user), AGAIN_S, every=0.5)
        print(f'{of}: served again {time.monotonic() - healed:.1f} s after the healing')

    busy.during(trouble)
    busy.check()


def test_a_broker_is_killed_for_good(spread, busy, brokers):
    """The one that keeps the routers' group."""
    busy.during(lambda: (brokers.coordinator_of(spread.group('router')).kill(), time.sleep(CUT_S)))
    busy.check()
