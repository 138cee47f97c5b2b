"""Deciding posts, edits of them and follows for `./dev bench feed`, from `post-commands` and `follow-commands` to the store.

What decisions lead to is kept out of the measurement where it can be. Nobody follows the authors, so no post is pushed. Those who are
followed have written nothing, so no backlog of posts goes to a new follower; but the request for it does, and it is answered. The
others whom everybody follows already are in the store before the process starts."""
import functools
import pathlib
import struct

from confluent_kafka import Consumer, TopicPartition

from deciding import Deciding

READ_BACK = ('posts', 'post-texts', 'follows', 'notices', 'follow-refusals', 'timeline-requests', 'timelines', 'hot-posts')
ONLY_WRITTEN = ('feed-offsets',)
COMMANDS = {'posts': ('post-commands', 'post-commands'), 'edits': ('edit-commands', 'post-commands'),
            'follows': ('follow-commands', 'follow-commands')}  # what is loaded, and the topic
RECORDS = {'posts': {'posts': 1, 'post-texts': 1}, 'edits': {'post-texts': 2},
           'follows': {'follows': 2, 'notices': 1}}  # of a command that is accepted
BATCHES = {'follows': {'timeline-requests'}, 'edits': {'hot-posts'}}  # topics with records of several commands each


def check_records(what, found):
    """All commands were accepted, and led to nothing else."""
    records = {topic: count for topic, count in found['floor']['records'].items() if count and topic not in ONLY_WRITTEN}
    batched = {topic for topic in BATCHES.get(what, ()) if records.pop(topic, 0)}
    assert batched == BATCHES.get(what, set()), f'{what}: no records of {BATCHES[what] - batched}'
    wanted = {topic: each * found['commands'] for topic, each in RECORDS[what].items()}
    assert records == wanted, f'{found["commands"]} commands of {what} led to {records}, not to {wanted}'


def note_posts(cluster, path):
    """Writes the file of all posts so far: what is edited."""
    consumer = Consumer({'bootstrap.servers': cluster.broker.bootstrap, 'group.id': 'bench-posts-read', 'enable.partition.eof': True,
                         'enable.auto.commit': False})
    consumer.assign([TopicPartition(cluster.prefix + 'posts', p, 0) for p in range(cluster.partitions)])
    keys, left = [], cluster.partitions
    while left:
        for message in consumer.consume(10_000, 1):
            left -= bool(message.error())
            if not message.error() and len(message.key() or b'') == 16:
                keys.append(message.key())
    consumer.close()
    path.write_bytes(b''.join(struct.pack('=qq', *struct.unpack('>qq', key)) for key in keys))


def measure_decide(world, copies, say) -> dict:
    options = world.options
    feed = world.cluster.add('feed', start=False)
    data = pathlib.Path(feed.settings['data.dir'])
    data.mkdir()
    world.load('lists', path=data)
    feed.start(timeout=280)
    deciding = Deciding(feed, world.cluster, copies, READ_BACK, ONLY_WRITTEN)
    written, found = dict.fromkeys(COMMANDS, 0), {}

    def write(what):
        say(f'{what} are decided, from command {written[what]:,} on')
        world.load(COMMANDS[what][0], **{'from': written[what], 'count': options.commands, 'path': data.parent / 'posts'})
        written[what] += options.commands

    for what, (_, topic) in COMMANDS.items():
        if what == 'edits':
            note_posts(world.cluster, data.parent / 'posts')
        found[what] = deciding.rounds(topic, options.commands, options.rounds, functools.partial(write, what),
                                      functools.partial(check_records, what))
    feed.stop()
    return found
