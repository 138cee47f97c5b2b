"""Deciding posts and follows for `./dev bench feed`, from `post-commands` and `follow-commands` to the store.

What decisions lead to is kept out of the measurement where it can be. Nobody follows the authors, so no post is pushed. Those who are
followed have written nothing, so no backlog of posts goes to a new follower; but the request for it does, and it is answered. The
others whom everybody follows already are in the store before the process starts."""
import functools
import pathlib

from deciding import Deciding

READ_BACK = ('posts', 'post-texts', 'follows', 'notices', 'follow-refusals', 'timeline-requests', 'timelines', 'hot-posts')
ONLY_WRITTEN = ('feed-offsets',)
COMMANDS = {'posts': 'post-commands', 'follows': 'follow-commands'}
RECORDS = {'posts': {'posts': 1, 'post-texts': 1}, 'follows': {'follows': 2, 'notices': 1}}  # of a command that is accepted
BATCHES = {'follows': {'timeline-requests'}}  # topics with records of several commands each


def check_records(what, found):
    """All commands were accepted, and led to nothing else."""
    records = {topic: count for topic, count in found['floor']['records'].items() if count and topic not in ONLY_WRITTEN}
    batched = {topic for topic in BATCHES.get(what, ()) if records.pop(topic, 0)}
    assert batched == BATCHES.get(what, set()), f'{what}: no records of {BATCHES[what] - batched}'
    wanted = {topic: each * found['commands'] for topic, each in RECORDS[what].items()}
    assert records == wanted, f'{found["commands"]} commands of {what} led to {records}, not to {wanted}'


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
        world.load(COMMANDS[what], **{'from': written[what], 'count': options.commands})
        written[what] += options.commands

    for what, topic in COMMANDS.items():
        found[what] = deciding.rounds(topic, options.commands, options.rounds, functools.partial(write, what),
                                      functools.partial(check_records, what))
    feed.stop()
    return found
