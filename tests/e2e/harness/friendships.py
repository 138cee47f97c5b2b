"""What friend commands make of a pair, written down a second time: an independent model that replays the topic.

A pair is one thing here, not two halves: who asked, whether they are friends, who blocks whom. What is written to the
topic friendships must be what follows from the commands of friend-commands, one by one in their order, each exactly once.
"""
import collections
import typing

from .records import decode, key_users


class Pair(typing.NamedTuple):
    """Of (lower, higher): 'NONE', 'ASKED' (by `asker`) or 'FRIENDS'. since is 0 when there is nothing to remember."""
    state: str = 'NONE'
    asker: int | None = None
    blocks: frozenset = frozenset()
    since: int = 0

    def half(self, user: int, other: int) -> dict | None:
        """The record of that user, None for a tombstone."""
        if self.state == 'NONE' and not self.blocks:
            return None
        state = self.state if self.state != 'ASKED' else 'REQUESTED' if self.asker == user else 'INVITED'
        return {'state': state, 'blocked_by_me': user in self.blocks, 'blocked_by_them': other in self.blocks,
                'since': self.since}

    def view(self, user: int) -> str:
        """What the user may know of it: not that the other blocks, and of somebody blocked only that."""
        if user in self.blocks:
            return 'blocked'
        if self.state == 'ASKED':
            return 'requested' if self.asker == user else 'invited'
        return self.state.lower()

    def shown(self, user: int) -> int:
        """The time that the user may know: of a request of one's own none, as it may be that of a block."""
        return 0 if self.view(user) in ('none', 'requested') else self.since


def decide(pair: Pair, command: dict, full: bool) -> Pair:
    """full: the lower user has as many friends as may be."""
    kind, user, other, time = command['kind'], command['from'], command['to'], command['time']
    if kind == 'REQUEST':
        if user in pair.blocks:
            return pair
        if pair.state == 'NONE':
            return pair._replace(state='ASKED', asker=user, since=pair.since if pair.blocks else time)
        if pair.state == 'ASKED' and pair.asker == other and other not in pair.blocks and not full:
            return pair._replace(state='FRIENDS', asker=None, since=time)
        return pair
    if kind == 'REMOVE':
        if command['since']:
            meant = pair.state == 'FRIENDS' and pair.since == command['since']
        else:
            meant = pair.state != 'NONE'
        return _tidy(pair._replace(state='NONE', asker=None, since=pair.since if pair.blocks else time)) if meant else pair
    if kind == 'BLOCK':
        if user in pair.blocks and pair.state == 'NONE':
            return pair
        return Pair('NONE', None, pair.blocks | {user}, pair.since if user in pair.blocks else time)
    if kind == 'UNBLOCK':
        shows = user in pair.blocks and pair.state == 'ASKED' and pair.asker == other
        return _tidy(pair._replace(blocks=pair.blocks - {user}, since=time if shows else pair.since))
    if kind == 'BEFRIEND':
        if pair.blocks or pair.state == 'FRIENDS' or full:
            return pair
        return Pair('FRIENDS', None, pair.blocks, time)
    raise AssertionError(f'no such command: {command}')


def _tidy(pair: Pair) -> Pair:
    return Pair() if pair.state == 'NONE' and not pair.blocks else pair


class Written:
    """The topic friendships, read by somebody else's client: what was written about each pair, in order."""

    def __init__(self, messages: list):
        self.halves = collections.defaultdict(list)  # (user, other) -> [(offset, record or None)]
        self.counts = collections.defaultdict(list)  # user -> [(offset, friends of lower ids, of higher ids)], after each
        friends = collections.defaultdict(set)
        for message in messages:
            user, other = key_users(message.key)
            record = decode(message.value)
            self.halves[user, other].append((message.offset, record))
            (friends[user].add if record and record['state'] == 'FRIENDS' else friends[user].discard)(other)
            above = sum(friend > user for friend in friends[user])
            self.counts[user].append((message.offset, len(friends[user]) - above, above))

    def last(self, user: int, other: int) -> dict | None:
        written = self.halves.get((user, other))
        return written[-1][1] if written else None

    def least(self, user: int, end: int) -> int:
        """How many friends the user's owner must have known of when it wrote the record at `end`: those of higher ids, about
        whom it decides itself."""
        return next((above for offset, _, above in reversed(self.counts[user]) if offset < end), 0)

    def most(self, user: int, start: int, end: int) -> int:
        """How many friends it may have known of when it decided something between two records of its own. Friends of lower
        ids are written by other owners, and may have been read a good deal later."""
        above = [self.least(user, start)] + [above for offset, _, above in self.counts[user] if start <= offset < end]
        below = [below for offset, below, _ in self.counts[user] if offset < end]
        return max(above) + max(below, default=0)


def replay(commands: list[dict], written: Written, cap: int) -> list[Pair]:
    """The commands of one pair in the order of the log; fails unless they, each handled exactly once and in that order,
    explain every record that was written about the pair. Returns the states that the pair went through.

    What the cap decides does not follow from the pair's own commands. So both decisions are tried where they differ; a
    refusal is believed only if the lower user's list may have been full, an acceptance only if it need not have been.
    """
    lower, higher = sorted((commands[0]['from'], commands[0]['to']))
    log = written.halves[lower, higher]
    offsets = [-1, *(offset for offset, _ in log), 1 << 62]
    paths = {0: [Pair()]}  # records explained so far -> the states on the way there
    for number, command in enumerate(commands):
        ahead = {}
        for done, states in paths.items():
            pair = states[-1]
            accepted, refused = decide(pair, command, False), decide(pair, command, True)
            outcomes = {accepted}
            if accepted != refused:
                if written.least(lower, offsets[done + 1]) >= cap:
                    outcomes.discard(accepted)
                if written.most(lower, offsets[done] + 1, offsets[done + 1]) >= cap:
                    outcomes.add(refused)
            for outcome in outcomes:
                if outcome == pair:
                    ahead.setdefault(done, states)
                elif done < len(log) and log[done][1] == outcome.half(lower, higher):
                    ahead.setdefault(done + 1, [*states, outcome])
        assert ahead, (f'{lower} and {higher}: command {number} of {len(commands)}, {command}, is not followed by what was '
                       f'written. Before: {commands[max(0, number - 5):number]}; so far explained and next: '
                       f'{[(states[-1], log[done:done + 2]) for done, states in paths.items()]}')
        paths = ahead
    assert len(log) in paths, (f'{lower} and {higher}: {len(log)} records were written, of which the commands explain '
                               f'{max(paths)}; the next are {log[max(paths):][:3]}')
    return paths[len(log)]
