"""Drills of one process of a tier: the same is done to one of several tiers, and whatever it is, people notice the same of each."""
import typing

from .drill import drill


class Tier(typing.NamedTuple):
    kind: str      # as the harness has it
    one: str       # one process of it, in words
    notice: str    # what users notice while that one is of no use, in words
    within: tuple  # as of a Drill


ROUTER = Tier('router', 'a router', 'lists of half of the people stand still; some comments are 503', (20, 10, 20))
EDGE = Tier('fanout', 'an edge', 'connections are lost and made again', (20, 10, 10))
GATEWAY = Tier('ingest', 'the only gateway', 'requests are not answered', (10, 10, 10))
FEED = Tier('feed', 'a feed process', 'timelines of half of the people are 503', (10, 20, 10))
COMMENTS = Tier('comments', 'a comments process', 'half of the threads are 503 or old, writers get 202', (10, 10, 20))
HISTORY_SINK = Tier('history-sink', 'a history sink', 'history of half of the people ends some seconds ago', (10, 10, 10))
MODERATION = Tier('moderation', 'moderation', "nothing; the moderators' search is away", (10, 10, 10))


def of_use(world, kind):
    """A process of that kind that people use: phones may all be on the same edge, after the other one was away."""
    daemons = world.cluster.of(kind)
    if kind != EDGE.kind:
        return daemons[0]
    sessions = {daemon: daemon.total('starling_edge_sessions') for daemon in daemons}
    busiest = max(daemons, key=sessions.get)
    assert sessions[busiest] > 0, 'nobody is connected'
    return busiest


def drill_each(name, fault, tiers, act):
    """
    drill_each('kill', 'kill -9 of {}', [ROUTER, FEED], act)

    makes the drills kill-router and kill-feed: act(world, daemon) is done to one process of that tier, while people use everything.
    """
    def of(tier):
        def one(world):
            with world.traffic() as noticed:
                act(world, of_use(world, tier.kind))
            return noticed
        drill(fault.format(tier.one), tier.notice, tier.within, name=f'{name}-{tier.kind}')(one)

    for tier in tiers:
        of(tier)
