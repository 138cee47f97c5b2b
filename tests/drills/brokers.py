"""One of three brokers, each on a machine of its own: killed, or cut off from the other two while daemons reach all of them."""
import time

from harness.waiting import eventually

from .drill import drill

AWAY_S, CUT_S = 25, 40
FLOOR_S = 10  # what a bare group with a transactional producer waits when its coordinator is killed (bench-transactions-floor)


@drill('kill -9 of one broker of three, which keeps the group of the feed processes', 'nothing moves and nothing is written for some seconds',
       within=(FLOOR_S + 10, FLOOR_S + 10, FLOOR_S + 10), brokers=3)
def kill_one_broker_of_three(world):
    with world.traffic() as noticed:
        broker = world.broker.coordinator_of(world.cluster.group('feed'))
        broker.kill()
        time.sleep(AWAY_S)
    broker.start()
    return noticed


@drill('the controller of three brokers is cut off from the other two for 40 s', 'nothing moves and nothing is written until it is over',
       within=(15, 15, 15), brokers=3)
def cut_controller_of_three(world):
    with world.traffic() as noticed:
        began = time.monotonic()
        with world.network.cut(*world.broker.around(world.broker.controller())):
            time.sleep(CUT_S)
        noticed.away_s = time.monotonic() - began
    eventually(lambda: all(daemon.ready() for daemon in world.cluster.daemons), 30, every=0.5)
    return noticed
