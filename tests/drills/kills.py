"""Processes that are killed with -9: daemons, as systemd starts them again, and the broker."""
import time

from .drill import drill

AWAY_S = 10     # longer than a session in Kafka's groups: others have taken over
RESTART_S = 2   # as the units say


def away(world, daemon, away_s):
    """Kills it, and starts it again after so long."""
    with world.traffic() as noticed:
        daemon.kill()
        time.sleep(away_s)
        daemon.start()
    return noticed


@drill('nothing: the floor of what is measured', 'nothing', within=(5, 5, 5))
def calm(world):
    with world.traffic() as noticed:
        time.sleep(10)
    return noticed


@drill('kill -9 of a router, away for 10 s', 'lists of half of the people stand still; some comments are 503', within=(20, 10, 20))
def kill_router(world):
    return away(world, world.cluster.routers[0], AWAY_S)


@drill('kill -9 of an edge, away for 10 s', 'connections are lost and made again', within=(20, 10, 10))
def kill_fanout(world):
    return away(world, world.cluster.fanouts[0], AWAY_S)


@drill('kill -9 of the only gateway, started again after 2 s', 'requests are not answered', within=(10, 10, 10))
def kill_ingest(world):
    return away(world, world.cluster.ingest, RESTART_S)


@drill('kill -9 of a feed process, away for 10 s', 'timelines of half of the people are 503', within=(10, 20, 10))
def kill_feed(world):
    return away(world, world.cluster.feeds[0], AWAY_S)


@drill('kill -9 of a comments process, away for 10 s', 'half of the threads are 503 or old, writers get 202', within=(10, 10, 20))
def kill_comments(world):
    return away(world, world.cluster.comments[0], AWAY_S)


@drill('kill -9 of a history sink, away for 10 s', 'history of half of the people ends some seconds ago', within=(10, 10, 10))
def kill_history_sink(world):
    return away(world, world.cluster.sinks[0], AWAY_S)


@drill('kill -9 of moderation, away for 10 s', "nothing; the moderators' search is away", within=(10, 10, 10))
def kill_moderation(world):
    return away(world, world.cluster.moderators[0], AWAY_S)


def without_broker(world, end, away_s):
    """How long its own start takes is no doing of ours."""
    with world.traffic() as noticed:
        gone = time.monotonic()
        end()
        time.sleep(away_s)
        world.broker.start()
        noticed.away_s = time.monotonic() - gone
    return noticed


@drill('kill -9 of the only broker, started again after 2 s', 'nothing moves and nothing is written until it is back', within=(30, 30, 30))
def kill_broker(world):
    return without_broker(world, world.broker.kill, RESTART_S)


@drill('the only broker is stopped for 30 s', 'nothing moves and nothing is written; pages of feeds are 503 after 3 s', within=(30, 30, 30))
def broker_away(world):
    return without_broker(world, world.broker.stop, 30)
