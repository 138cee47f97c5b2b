"""Processes that are killed with -9: daemons, as systemd starts them again, and the broker."""
import time

from .drill import drill
from .tiers import COMMENTS, EDGE, FEED, GATEWAY, HISTORY_SINK, MODERATION, ROUTER, drill_each

AWAY_S = 10     # longer than a session in Kafka's groups: others have taken over
RESTART_S = 2   # as the units say
START_TIMES = 3  # what a start of the broker may take, of the time of its first one, with nobody waiting for it
RECOVERY_S = 5   # of its log after kill -9


def away(away_s):
    """Kills it, and starts it again after so long."""
    def act(_world, daemon):
        daemon.kill()
        time.sleep(away_s)
        daemon.start()
    return act


@drill('nothing: the floor of what is measured', 'nothing', within=(5, 5, 5))
def calm(world):
    with world.traffic() as noticed:
        time.sleep(10)
    return noticed


drill_each('kill', 'kill -9 of {}, away for 10 s', [ROUTER, EDGE], away(AWAY_S))
drill_each('kill', 'kill -9 of {}, started again after 2 s', [GATEWAY], away(RESTART_S))
drill_each('kill', 'kill -9 of {}, away for 10 s', [FEED, COMMENTS, HISTORY_SINK, MODERATION], away(AWAY_S))


def without_broker(world, end, away_s):
    """How long its own start takes is no doing of ours, if all who wait for it leave it the processors."""
    with world.traffic() as noticed:
        gone = time.monotonic()
        end()
        time.sleep(away_s)
        starting = time.monotonic()
        world.broker.start()
        took_s = time.monotonic() - starting
        noticed.away_s = time.monotonic() - gone
    most_s = START_TIMES * world.broker_start_s + RECOVERY_S
    assert took_s < most_s, f'the broker took {took_s:.1f} s to start, more than {most_s:.1f} s'
    return noticed


@drill('kill -9 of the only broker, started again after 2 s', 'nothing moves and nothing is written until it is back', within=(30, 30, 30))
def kill_broker(world):
    return without_broker(world, world.broker.kill, RESTART_S)


@drill('the only broker is stopped for 30 s', 'nothing moves and nothing is written; pages of feeds are 503 after 3 s', within=(30, 30, 30))
def broker_away(world):
    return without_broker(world, world.broker.stop, 30)
