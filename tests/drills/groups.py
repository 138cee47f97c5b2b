"""Consumer groups that somebody deletes, with all that Kafka knew of how far they were. Kafka deletes only a group without members, so
that the tier is stopped for a moment."""
from confluent_kafka.admin import AdminClient

from .drill import drill

TIERS = {
    'router': ('the routers', 'lists stand still until they are started again; some comments are 503', (20, 10, 20)),
    'fanout': ('the edges', 'all connections are lost and made again', (30, 10, 10)),
    'feed': ('the feed processes', 'timelines are 503 until they are started again', (10, 20, 10)),
    'comments': ('the comments processes', 'threads are 503 or old until they are started again', (10, 10, 20)),
    'history-sink': ('the history sinks', 'history ends some seconds ago', (10, 10, 10)),
    'moderation': ('moderation', "nothing; the moderators' search is away", (5, 8, 8)),
}


def stop(world, *kinds):
    """In order: each ends with 0."""
    daemons = [daemon for kind in kinds for daemon in world.cluster.of(kind)]
    for daemon in daemons:
        daemon.terminate()
    codes = {daemon.name: daemon.stop() for daemon in daemons}
    assert not any(codes.values()), codes


def delete_group(world, kind):
    admin = AdminClient({'bootstrap.servers': world.broker.bootstrap, 'log_level': 3})
    for future in admin.delete_consumer_groups([world.cluster.group(kind)], request_timeout=60).values():
        future.result(60)


def without_group(world, kind):
    with world.traffic() as noticed:
        stop(world, kind)
        delete_group(world, kind)
        for daemon in world.cluster.of(kind):
            daemon.start(wait=False)
        for daemon in world.cluster.of(kind):
            daemon.wait_ready()
    return noticed


def _make(kind, who, notice, within):
    drill(f'the consumer group of {who} is deleted while they are stopped', notice, within, name=f'group-{kind}')(
        lambda world: without_group(world, kind))


for _kind, (_who, _notice, _within) in TIERS.items():
    _make(_kind, _who, _notice, _within)
