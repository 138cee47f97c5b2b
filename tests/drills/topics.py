"""Topics that somebody deletes, and that are made again: what comes back by itself, and what an operator does for the others
(docs/RELIABILITY.md)."""
import shutil

from confluent_kafka.admin import AdminClient

from harness.records import Topics
from harness.waiting import eventually

from .drill import drill
from .groups import delete_group, stop

OWNERS = {'router': ('friend-commands', 'link-commands', 'command-offsets'),
          'feed': ('follow-commands', 'follower-commands', 'post-commands', 'name-commands', 'directory-commands', 'feed-offsets'),
          'comments': ('comment-commands', 'comment-offsets')}
STATE = 'friendships', 'posts', 'comments'  # one of each product


def admin_of(world) -> AdminClient:
    return AdminClient({'bootstrap.servers': world.broker.bootstrap, 'log_level': 3})


def delete(world, *topics):
    admin, names = admin_of(world), {world.cluster.topics.name(topic) for topic in topics}
    for future in admin.delete_topics(list(names)).values():
        future.result(30)
    eventually(lambda: not names & admin.list_topics(timeout=10).topics.keys(), 30, what='the topics are gone')


def remake(world, *topics):
    delete(world, *topics)
    world.cluster.create_topics()


def start(world, *kinds, anew=()):
    """anew: kinds whose data.dir is emptied before."""
    tiers = [daemon for kind in kinds for daemon in world.cluster.of(kind)]
    for daemon in tiers:
        if daemon.kind in anew:
            shutil.rmtree(daemon.folder / 'data', ignore_errors=True)
        daemon.start(wait=False)
    for daemon in tiers:
        daemon.wait_ready(90)


@drill('the topic deliveries is deleted and made again, while all run', 'lists stand still for some seconds', within=(40, 10, 10))
def topic_deliveries(world):
    with world.traffic() as noticed:
        remake(world, 'deliveries')
    return noticed


@drill('timelines and timeline-requests are deleted and made again while the feed processes are stopped; their data.dir is emptied',
       'timelines are 503, and then built again', within=(10, 40, 10))
def topic_timelines(world):
    with world.traffic() as noticed:
        stop(world, 'feed')
        delete_group(world, 'feed')
        remake(world, 'timelines', 'timeline-requests')
        start(world, 'feed', anew=['feed'])
    return noticed


def commands(world, kind):
    with world.traffic() as noticed:
        stop(world, kind)
        delete_group(world, kind)
        remake(world, *OWNERS[kind])
        start(world, kind)
    return noticed


@drill('friend-commands and command-offsets are deleted and made again while the routers are stopped', 'lists stand still',
       within=(40, 10, 40))
def topic_friend_commands(world):
    return commands(world, 'router')


@drill("the feed's topics of commands and feed-offsets are deleted and made again while the feed processes are stopped",
       'timelines are 503', within=(10, 40, 10))
def topic_feed_commands(world):
    return commands(world, 'feed')


@drill('comment-commands and comment-offsets are deleted and made again while the comments processes are stopped',
       'threads are 503 or old', within=(10, 10, 40))
def topic_comment_commands(world):
    return commands(world, 'comments')


@drill('friendships, posts and comments are deleted, made again, and filled from a backup while all daemons are stopped',
       'nothing works until all is restored', within=(90, 90, 90))
def topic_state(world):
    cluster, backup = world.cluster, Topics(world.broker.bootstrap, world.cluster.prefix + 'backup.', world.broker.client)
    kinds = 'router', 'feed', 'comments', 'fanout', 'history-sink', 'moderation', 'ingest'
    for topic in STATE:
        backup.create(topic, world.partitions)
    with world.traffic() as noticed:
        stop(world, *kinds)
        cluster.topics.copy_to(backup, *STATE)
        remake(world, *STATE)
        backup.copy_to(cluster.topics, *STATE)
        start(world, *kinds, anew=['router', 'feed', 'comments', 'moderation'])
    backup.remove_all()
    return noticed


@drill('locations is deleted and made again while edges, gateways, routers and sinks are stopped; history.dir and the data.dir of sinks '
       'are moved away', 'nothing is answered; then lists are empty until friends report again', within=(60, 60, 60),
       lost='nothing: the files of before are kept')
def topic_locations(world):
    cluster, kept = world.cluster, world.cluster.folder / 'history-of-before'
    with world.traffic() as noticed:
        stop(world, 'fanout', 'ingest')  # nobody reports any more
        world.past.check(())             # everything is in files
        stop(world, 'router', 'history-sink')
        for kind in ('router', 'history-sink'):
            delete_group(world, kind)
        remake(world, 'locations')
        cluster.history.rename(kept)
        cluster.history.mkdir()
        world.past.anew()
        start(world, 'router', 'history-sink', 'fanout', 'ingest', anew=['history-sink'])
    return noticed
