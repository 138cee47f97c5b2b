#!/usr/bin/env python3
"""The protocol of who may see a post, as a program: random histories against brute force.

    visibility.py [HISTORIES] [--seed FIRST] [--without RULE]...      prints the violations
    visibility.py [HISTORIES] --each                                  a table: each rule left out, and how many histories have violations

The owner of an author's partition decides who may see the author's posts. Owners say how old their state is at most. Doors (gateways, and
edges with open screens) keep texts, and know of pairs (author, reader) that the reader may see them, as of some moment. Such knowledge is used
for 1.4 s from that moment.

A violation: a reader gets a text although the author's decided state denied it for the last 2 s, for one reason, without a break. Or a reader
who may see it does not get it, where nothing disturbs. Or the end of a follow is called done that is not; or what is decided differs from
what was wished.

Processes own partitions in turn. They are lost with or without their disks, freeze, answer late, read late, and are cut off from the group
or from a topic. In some histories processes of an older version, which know nothing of all this, are replaced one by one, owners first; until
then no gateway lets anybody hide posts. Time is in ms. A stored log is never compacted, and no broker serves a log that it no longer leads.
"""
import heapq
import random
from types import SimpleNamespace

from histories import read_options, violations_of

RULES = {
    # the author's owner
    'follower': "posts for followers are seen by followers alone",
    'accept': "a follow of an author whose posts are for followers is a request until the author accepts it",
    'blocked': "nobody sees anything across a block",
    'read': "an answer is as old as what the owner has read of all that it depends on",
    # doors
    'known': "a permission counts for 1.4 s",
    'began': "an answer is as old as its question",
    'last': "the permission is looked up when the text is given, not before it is fetched",
    'copies': "a text that is kept is given to those who may see it",
    'but': "what everybody may see is not for those who are blocked",
    'screens': "an edge asks the author's owner about a reader: a delivery says nothing about now",
    # the reader's owner
    'behind': "the reader's owner says how far behind it may be",
    'vouched': "the reader's owner vouches for nobody across a block",
    # older versions
    'passed': "the reader's owner passes commands to follow on to the author's owner, and decides none of them",
    # answers to commands
    'said': "200 is said when the command is decided and read back; else 202 after a while",
}

PARTITIONS, PROCESSES = 2, 3
GATEWAYS, DOORS = 2, 3                  # the last door is an edge
BOUND, DELIVERY = 2000, 300             # a text that was given is with its reader by then
SESSION, HEARTBEAT = 3000, 400
KNOWN, TEXTS = 1400, 30000
ENDS_ASKED = 300                        # how often a process asks where topics end
OUTCOME = 2000
ACT, CALM, ASK, STOP = 20000, 23000, 30000, 34000   # until then users act; trouble comes; at the end everybody asks
NEVER = -10 ** 9
FOREVER = 10 ** 9
EVERYBODY = -1

FOLLOWER, FOLLOWING, FOLLOWERS_ONLY = range(3)


class Part:
    """A partition in a process: the state as it has read it."""
    __slots__ = ('assigned', 'at_blocks', 'at_follows', 'blocked', 'busy', 'followers', 'following', 'generation', 'live', 'only', 'owns',
                 'read_blocks', 'read_follows', 'ready', 'seen_blocks', 'seen_follows')

    def __init__(self):
        self.owns = self.live = self.busy = False
        self.generation = self.assigned = self.ready = 0
        self.empty()

    def empty(self):
        self.at_follows = self.at_blocks = 0
        self.read_follows = self.read_blocks = self.seen_follows = self.seen_blocks = NEVER
        self.followers, self.following, self.only, self.blocked = set(), set(), set(), set()

    def leave(self):
        self.owns = self.live = self.busy = False


class Process:
    __slots__ = ('cut_blocks', 'cut_follows', 'cut_group', 'cut_since', 'frozen', 'group_heard', 'heard', 'late_blocks', 'late_follows', 'member',
                 'number', 'old', 'parts', 'slow_answers', 'slow_commits', 'up')

    def __init__(self, number):
        self.number, self.up, self.old, self.member = number, True, False, True
        self.heard = self.group_heard = 0
        self.cut_group = self.cut_follows = self.cut_blocks = False
        self.cut_since = self.frozen = self.slow_answers = self.slow_commits = 0
        self.late_follows, self.late_blocks = 20, 20
        self.parts = [Part() for _ in range(PARTITIONS)]


class Door:
    __slots__ = ('known', 'number', 'open', 'slow', 'texts', 'view')

    def __init__(self, number):
        self.number, self.view, self.slow = number, list(range(PARTITIONS)), 0
        self.start()

    def start(self):
        self.known, self.open = {}, {}      # pair -> since when; author -> (since when, whom the author's blocks leave out)
        self.texts = {}                     # author -> (the newest post that it has, until when)


class Truth:
    """The state as brute force has it: commands in the order in which they were decided."""
    __slots__ = ('blocks', 'follows', 'only', 'requests', 'since', 'users')

    def __init__(self, users):
        self.users = users
        self.follows, self.requests, self.only, self.blocks = set(), set(), set(), set()
        self.since = ({}, {}, {})           # pair -> since when it is so: no follower, though one must be; blocked; neither

    def look(self, now, author, reader=None):
        for other in range(self.users) if reader is None else (reader,):
            pair = (author, other)
            outside = other != author and author in self.only and pair not in self.follows
            blocked = pair in self.blocks
            for times, holds in zip(self.since, (outside, blocked, not outside and not blocked)):
                if not holds:
                    times.pop(pair, None)
                else:
                    times.setdefault(pair, now)

    def denied(self, pair):
        """Since when, for the same reason. A grant and a block at the same moment may be decided in either order."""
        return min((times[pair] for times in self.since[:2] if pair in times), default=None)

    @property
    def allowed(self):
        return self.since[2]


class History:
    def __init__(self, seed, without=()):
        self.chance = random.Random(seed)
        self.rule = SimpleNamespace(**{rule: rule not in without for rule in RULES})
        self.now, self.turns, self.queue = 0, 0, []
        chance = self.chance
        self.users = chance.randint(3, 6)
        self.truth = Truth(self.users)
        self.processes = [Process(n) for n in range(PROCESSES)]
        self.doors = [Door(n) for n in range(DOORS)]
        # logs, a list a partition: (time, kind, user, other, set)
        self.follows = [[] for _ in range(PARTITIONS)]
        self.blocks = [[] for _ in range(PARTITIONS)]           # (time, user, other, set)
        self.commands = [[] for _ in range(PARTITIONS)]         # of authors: (kind, author, reader, time of a block)
        self.wishes = [[] for _ in range(PARTITIONS)]           # of readers, to follow or no longer
        self.decided, self.passed, self.carried = [0] * PARTITIONS, [0] * PARTITIONS, [0] * PARTITIONS
        self.commits = [[] for _ in range(PARTITIONS)]          # when the command of that offset was decided
        self.owner, self.generation = [None] * PARTITIONS, [0] * PARTITIONS
        # what is decided
        self.made, self.asked = {}, {}                          # follows and requests: pair -> since when
        self.only = set()                                       # authors
        self.blocking = set()                                   # (who blocks, whom)
        self.waiting = [[] for _ in range(PARTITIONS)]          # (offset, deadline, kind, author, reader)
        self.told, self.only_since = {}, {}                     # pair -> when the end of the follow was told; author -> when
        self.posts = [1] * self.users
        self.threads, self.homes = [], []                       # open screens at the edge: (author, reader), and reader
        self.disturbed = 0
        self.given_texts = self.said_200 = self.said_202 = 0
        self.expected, self.violations = set(), []
        self.plan()

    # ---- time ----

    def at(self, time, function, *arguments):
        self.turns += 1
        heapq.heappush(self.queue, (time, self.turns, function, arguments))

    def run(self):
        queue = self.queue
        while queue:
            time, _, function, arguments = heapq.heappop(queue)
            if time > STOP:
                break
            self.now = time
            function(*arguments)
        self.settle()
        return self.violations

    def wrong(self, *what):
        self.violations.append((self.now, *what))

    # ---- the group ----

    def reachable(self, process):
        return process.up and not process.cut_group and process.frozen <= self.now

    def heartbeat(self, process):
        self.at(self.now + HEARTBEAT, self.heartbeat, process)
        if not self.reachable(process):
            return
        if not process.member:                                  # put out: it hears so now
            for part in process.parts:
                part.leave()
            process.member = True
        process.heard = process.group_heard = self.now

    def give(self, partition, process):
        self.generation[partition] += 1
        self.owner[partition] = process
        part = process.parts[partition]
        part.leave()
        part.owns, part.generation, part.assigned = True, self.generation[partition], self.now

    def rebalance(self, partition):
        """The partition goes to some process that is there. The former owner gives it back first, or its session is over."""
        owner = self.owner[partition]
        if owner is not None:
            if not self.reachable(owner):
                return
            owner.parts[partition].leave()
        self.owner[partition] = None
        self.generation[partition] += 1
        self.at(self.now + self.chance.randint(20, 300), self.take, partition)

    def take(self, partition):
        there = [process for process in self.processes if self.reachable(process) and process.member]
        if there and self.owner[partition] is None:
            self.give(partition, self.chance.choice(there))

    def sessions(self):
        self.at(self.now + 100, self.sessions)
        for process in self.processes:
            if process.member and self.now - process.group_heard > SESSION:
                process.member = False                          # all that it had goes to others
                for partition in range(PARTITIONS):
                    if self.owner[partition] is process:
                        self.owner[partition] = None
                        self.generation[partition] += 1
        for partition in range(PARTITIONS):
            if self.owner[partition] is None:
                self.take(partition)

    def serves(self, process, part):
        return process.up and part.owns and part.live

    # ---- reading ----

    def read(self, process, partition):
        """The process reads what has reached it by now."""
        part, now = process.parts[partition], self.now
        to = (process.cut_since if process.cut_blocks else now) - process.late_blocks
        if to > part.read_blocks:
            part.read_blocks = to
            log, at = self.blocks[partition], part.at_blocks
            while at < len(log) and log[at][0] <= to:
                _, user, other, is_set = log[at]
                at += 1
                (part.blocked.add if is_set else part.blocked.discard)((user, other))
            part.at_blocks = at
            if to - part.seen_blocks >= ENDS_ASKED:
                part.seen_blocks = to
        to = (process.cut_since if process.cut_follows else now) - process.late_follows
        if to > part.read_follows and now >= part.ready:
            part.read_follows = to
            log, at = self.follows[partition], part.at_follows
            while at < len(log) and log[at][0] <= to:
                _, kind, user, other, is_set = log[at]
                if kind == FOLLOWERS_ONLY:
                    (part.only.add if is_set else part.only.discard)(user)
                else:
                    pairs = (part.followers, part.following)[kind]
                    (pairs.add if is_set else pairs.discard)((user, other))
                at += 1
            part.at_follows = at
            if to - part.seen_follows >= ENDS_ASKED:
                part.seen_follows = to
        return part

    def turn(self):
        """Owners restore, carry out what follows from records, and decide."""
        self.at(self.now + 150, self.turn)
        for partition in range(PARTITIONS):
            for process in self.processes:
                part = process.parts[partition]
                if part.owns and process.up and process.frozen <= self.now:
                    self.own(process, part, partition)
            self.answer_commands(partition)

    def own(self, process, part, partition):
        self.read(process, partition)
        if not part.live:
            if process.cut_group or min(part.read_follows, part.read_blocks) < part.assigned:
                return
            part.live = True
        if process.cut_group or self.owner[partition] is not process:
            return
        at = self.carried[partition]
        while at < part.at_blocks:                              # a block ends follows; it may be told more than once
            time, user, other, is_set = self.blocks[partition][at]
            if is_set and process.old:
                self.wishes[user % PARTITIONS].append(('end', other, user, time))
                self.wishes[other % PARTITIONS].append(('end', user, other, time))
            elif is_set:
                self.commands[partition].append(('end', user, other, time))
            at += 1
        if self.chance.random() < 0.8:
            self.carried[partition] = max(self.carried[partition], at)
        if not part.busy:
            self.begin(process, part, partition)

    # ---- deciding ----

    def begin(self, process, part, partition):
        wishes_to = min(len(self.wishes[partition]), self.passed[partition] + 10)
        to = self.decided[partition] if process.old else min(len(self.commands[partition]), self.decided[partition] + 10)
        if wishes_to == self.passed[partition] and to == self.decided[partition]:
            return
        part.busy = True
        late = self.chance.randint(100, process.slow_commits) if process.slow_commits else self.chance.randint(5, 60)
        self.at(self.now + late, self.commit, process, partition, part.generation, wishes_to, to)

    def commit(self, process, partition, generation, wishes_to, to):
        part = process.parts[partition]
        if not process.up or part.generation != generation or not part.owns:
            return
        if not self.reachable(process):
            self.at(self.now + 200, self.commit, process, partition, generation, wishes_to, to)
            return
        if self.owner[partition] is not process or self.generation[partition] != generation:
            return                                              # it will hear that it is out
        part.busy = False
        for command in self.wishes[partition][self.passed[partition]:wishes_to]:
            if process.old or not self.rule.passed:
                self.decide_old(process, part, *command)
            else:
                self.commands[command[1] % PARTITIONS].append(command)
        self.passed[partition] = max(self.passed[partition], wishes_to)
        for command in self.commands[partition][self.decided[partition]:to]:
            self.decide(part, *command)
            self.commits[partition].append(self.now)
            self.decided[partition] += 1

    def halves(self, author, reader, is_set):
        self.follows[author % PARTITIONS].append((self.now, FOLLOWER, author, reader, is_set))
        self.follows[reader % PARTITIONS].append((self.now, FOLLOWING, reader, author, is_set))

    def grant(self, author, reader=None):
        for pair in [pair for pair in self.told if pair[0] == author and reader in (None, pair[1])]:
            del self.told[pair]

    def decide(self, part, kind, author, reader, blocked):
        """By the author's owner. Of blocks it knows what it has read."""
        pair, truth, now = (author, reader), self.truth, self.now
        if kind == 'ask':
            if pair in part.blocked:
                return
            if author not in truth.only:
                truth.follows.add(pair)
            elif pair not in truth.follows:
                truth.requests.add(pair)
            if pair not in self.made:
                if author in self.only and self.rule.accept:
                    self.asked.setdefault(pair, now)
                else:
                    self.make(pair)
        elif kind == 'accept':
            if pair in part.blocked:
                return
            if pair in truth.requests:
                truth.requests.discard(pair)
                truth.follows.add(pair)
            if pair in self.asked:
                self.make(pair)
        elif kind == 'end':
            if blocked and pair not in part.blocked and max(self.made.get(pair, NEVER), self.asked.get(pair, NEVER)) > blocked:
                return                                          # made anew since the block was lifted
            truth.follows.discard(pair)
            truth.requests.discard(pair)
            if self.made.pop(pair, None) is not None:
                self.halves(*pair, False)
            self.asked.pop(pair, None)
        elif kind == 'followers':
            if author not in self.only:
                self.only.add(author)
                self.only_since[author] = now
                self.follows[author % PARTITIONS].append((now, FOLLOWERS_ONLY, author, EVERYBODY, True))
            truth.only.add(author)
        else:                                                   # everybody: who asked follows now
            if author in self.only:
                self.only.discard(author)
                self.follows[author % PARTITIONS].append((now, FOLLOWERS_ONLY, author, EVERYBODY, False))
                for pair in [pair for pair in self.asked if pair[0] == author]:
                    self.make(pair)
                self.grant(author)
            truth.only.discard(author)
            for pair in [pair for pair in truth.requests if pair[0] == author]:
                truth.requests.discard(pair)
                truth.follows.add(pair)
        truth.look(now, author, reader if kind in ('ask', 'accept', 'end') else None)

    def make(self, pair):
        self.asked.pop(pair, None)
        self.made[pair] = self.now
        self.halves(*pair, True)
        self.grant(*pair)

    def decide_old(self, process, part, kind, author, reader, blocked):
        """By the reader's owner, as the older version does: it knows neither requests nor whose posts are for followers."""
        pair, truth = (author, reader), self.truth
        follows, blocks = (reader, author) in part.following, (reader, author) in part.blocked
        if kind == 'ask' and not follows and not blocks:
            if author not in truth.only:
                truth.follows.add(pair)
            elif pair not in truth.follows:
                truth.requests.add(pair)
            self.make(pair)
            truth.look(self.now, author, reader)
        elif kind == 'end' and follows and (blocks or not blocked or self.made.get(pair, NEVER) <= blocked):
            truth.follows.discard(pair)
            truth.requests.discard(pair)
            if self.made.pop(pair, None) is not None:
                self.halves(author, reader, False)
            truth.look(self.now, author, reader)

    # ---- what users do ----

    def wish(self, kind, author, reader):
        if kind in ('ask', 'end') and (self.now < self.upgraded or (self.now < self.gateways and self.chance.random() < 0.4)):
            self.wishes[reader % PARTITIONS].append((kind, author, reader, 0))
            return
        if self.now < self.upgraded:
            return                                              # no gateway knows of anything else
        partition = author % PARTITIONS
        self.commands[partition].append((kind, author, reader, 0))
        waits = (len(self.commands[partition]) - 1, self.now + OUTCOME, kind, author, reader)
        if self.rule.said:
            self.waiting[partition].append(waits)
        else:
            self.at(self.now + 20, self.say, waits)

    def answer_commands(self, partition):
        """Gateways wait for what was decided, and for the owner to have read it."""
        owner, left = self.owner[partition], []
        if not self.waiting[partition]:
            return
        part = owner and owner.parts[partition]
        can = owner and owner.frozen <= self.now and self.serves(owner, part)
        for waits in self.waiting[partition]:
            if can and waits[0] < self.decided[partition] and part.read_follows >= self.commits[partition][waits[0]]:
                self.say(waits)
            elif waits[1] <= self.now:
                self.said_202 += 1
            else:
                left.append(waits)
        self.waiting[partition] = left

    def say(self, waits):
        self.said_200 += 1
        offset, _, kind, author, reader = waits
        if kind == 'end' and not (offset < self.decided[author % PARTITIONS] and (author, reader) in self.made):
            self.told[author, reader] = self.now

    def block(self, user, other, is_set):
        (self.blocking.add if is_set else self.blocking.discard)((user, other))
        blocked = (user, other) in self.blocking or (other, user) in self.blocking
        for one, two in ((user, other), (other, user)):
            self.blocks[one % PARTITIONS].append((self.now, one, two, blocked))
            (self.truth.blocks.add if blocked else self.truth.blocks.discard)((one, two))
            if not blocked:
                self.grant(one, two)
            self.truth.look(self.now, one, two)

    def post(self, author):
        self.posts[author] += 1
        post = self.posts[author]
        for user, reader in self.threads:
            if user == author:
                self.at(self.now + self.late(), self.delivered, author, reader, post)
        for reader in self.homes:
            if reader != author:
                self.at(self.now + self.chance.randint(5, 50), self.push, author, reader, post)

    def push(self, author, reader, post):
        """The reader's owner tells the edges of the reader about a new post of whom the reader follows."""
        partition = reader % PARTITIONS
        owner = self.owner[partition]
        if owner is None or owner.frozen > self.now or not self.serves(owner, owner.parts[partition]):
            self.at(self.now + 300, self.push, author, reader, post)
            return
        part = self.read(owner, partition)
        if (reader, author) in part.following:
            self.at(self.now + self.late(), self.delivered, author, reader, post)

    def late(self):
        """A delivery."""
        return self.chance.randint(500, 4000) if self.chance.random() < 0.1 and self.now < ACT else self.chance.randint(10, 150)

    # ---- what the author's owner answers ----

    def may(self, part, author, reader):
        """The permission, and whether it is everybody's but of those who are blocked."""
        if author == reader:
            return True, False
        if self.rule.blocked and (author, reader) in part.blocked:
            return False, False
        if author not in part.only:
            return True, True
        return not self.rule.follower or (author, reader) in part.followers, False

    def age(self, part):
        return self.now - min(part.seen_follows, part.seen_blocks) if self.rule.read else 0

    def answer(self, process, partition, question, *arguments):
        """At the process, when it gets to it. None: it does not answer."""
        part = process.parts[partition]
        if not process.up or not self.serves(process, part):
            return None
        self.read(process, partition)
        return question(process, part, *arguments)

    def see(self, process, part, author, reader):
        may, open_to_all = self.may(part, author, reader)
        but = frozenset(other for user, other in part.blocked if user == author) if open_to_all else None
        return may, but, self.age(part), self.posts[author]

    def home(self, process, part, reader):
        """By the reader's owner: whom the reader follows, and how old that is at most."""
        followed = sorted(author for user, author in part.following
                          if user == reader and not (self.rule.vouched and (reader, author) in part.blocked))
        age = self.now - min(part.seen_follows, part.seen_blocks) if self.rule.behind else 0
        return followed, None if process.old else age

    # ---- doors ----

    def ask(self, door, partition, question, arguments, done, *more):
        process = self.processes[door.view[partition]]
        there = self.now + self.chance.randint(1, 20)
        self.at(there, self.arrive, door, process, partition, question, arguments, done, self.now, more)

    def arrive(self, door, process, partition, question, arguments, done, sent, more):
        if process.frozen > self.now:
            self.at(process.frozen + 1, self.arrive, door, process, partition, question, arguments, done, sent, more)
            return
        reply = self.answer(process, partition, question, *arguments)
        if reply is None and self.owner[partition] is not None and self.chance.random() < 0.7:
            door.view[partition] = self.owner[partition].number
        slow = max(process.slow_answers, door.slow)
        back = self.chance.randint(slow // 2, slow) if slow and self.chance.random() < 0.8 else self.chance.randint(1, 20)
        self.at(self.now + back, done, door, partition, sent, reply, *more)

    def good(self, since):
        """Whether a permission of then still counts."""
        return not self.rule.known or self.now - since <= KNOWN

    def permitted(self, door, author, reader):
        if author == reader or self.good(door.known.get((author, reader), NEVER)):
            return True
        since, but = door.open.get(author, (NEVER, ()))
        return self.good(since) and (not self.rule.but or reader not in but)

    def look_around(self, door):
        """Doors ask every second which process owns what."""
        self.at(self.now + 1000, self.look_around, door)
        for partition, owner in enumerate(self.owner):
            if owner is not None and self.chance.random() < 0.7:
                door.view[partition] = owner.number

    def has_text(self, door, author, post):
        have, until = door.texts.get(author, (0, 0))
        return have >= post and until > self.now

    def show(self, door, author, reader, post, tries, screen=False):
        """A door is asked for a post of the author."""
        has, may = self.has_text(door, author, post), self.permitted(door, author, reader)
        if has and (may or not self.rule.copies):
            self.given(author, reader, screen)
        else:
            self.ask(door, author % PARTITIONS, self.see, (author, reader), self.shown, author, reader, post, tries, screen, may)

    def shown(self, door, partition, sent, reply, author, reader, post, tries, screen, might):
        now = self.now
        if reply is not None:
            may, but, age, posts = reply
            since = (sent if self.rule.began else now) - age
            if may and since > door.known.get((author, reader), NEVER):
                door.known[author, reader] = since
            if but is not None and since > door.open.get(author, (NEVER,))[0]:
                door.open[author] = (since, but)
            door.texts[author] = (posts, now + TEXTS)
            if self.permitted(door, author, reader) or (might and not self.rule.last):
                self.given(author, reader, screen)
                return
        if tries:
            self.at(now + 450, self.show, door, author, reader, post, tries - 1, screen)
        else:
            self.refused(author, reader)

    def ask_home(self, door, reader):
        self.ask(door, reader % PARTITIONS, self.home, (reader,), self.home_is, reader)

    def home_is(self, door, partition, sent, reply, reader):
        if reply is None:
            return
        followed, age = reply
        for author in followed:
            if age is not None:
                self.vouch(door, author, reader, (sent if self.rule.began else self.now) - age)
            self.show(door, author, reader, 1, 2)

    def vouch(self, door, author, reader, since):
        if since > door.known.get((author, reader), NEVER):
            door.known[author, reader] = since

    def delivered(self, author, reader, post):
        """To an open screen."""
        door = self.doors[GATEWAYS]
        if not self.rule.screens:
            self.vouch(door, author, reader, self.now)
        self.show(door, author, reader, post, 4, True)

    # ---- judging ----

    def given(self, author, reader, screen):
        self.given_texts += 1
        since = self.truth.denied((author, reader))
        there = self.now + DELIVERY
        if since is not None and there - since > BOUND:
            self.wrong('given', author, reader, f'denied since {since}')
        told = self.told.get((author, reader))
        if told is not None and author in self.only and there - max(told, self.only_since[author]) > BOUND:
            self.wrong('given', author, reader, f'an end was told at {told}')
        if screen:
            self.expected.discard(('screen', author, reader))
        else:
            self.expected.discard(('page', author, reader))

    def refused(self, author, reader):
        since = self.truth.allowed.get((author, reader))
        if since is not None and self.now - since > 4000 and self.now - self.disturbed > 8000:
            self.wrong('refused', author, reader)

    def settle(self):
        truth = self.truth
        for what in sorted(self.expected):
            self.wrong('not given', *what)
        for partition in range(PARTITIONS):
            if self.decided[partition] < len(self.commands[partition]) or self.passed[partition] < len(self.wishes[partition]):
                self.wrong('a command waits', partition)
        if set(self.made) != truth.follows or set(self.asked) != truth.requests or self.only != truth.only:
            self.wrong('decided otherwise', set(self.made) ^ truth.follows, set(self.asked) ^ truth.requests, self.only ^ truth.only)

    # ---- the plan of a history ----

    def plan(self):
        chance = self.chance
        # Owners are replaced first, gateways last.
        self.upgraded = chance.randint(2000, ACT // 3) if chance.random() < 0.3 else 0
        self.gateways = self.upgraded and self.upgraded + chance.randint(0, ACT // 2)
        self.favourites = chance.sample(range(self.users), 2)
        for author in range(self.users):
            if chance.random() < 0.5 and not self.upgraded:
                self.decide(self.processes[0].parts[0], 'followers', author, None, 0)
                for reader in range(self.users):
                    if reader != author and chance.random() < 0.5:
                        self.truth.follows.add((author, reader))
                        self.make((author, reader))
            self.truth.look(0, author)
            self.threads += [(author, reader) for reader in range(self.users) if reader != author and chance.random() < 0.3]
        self.homes = [reader for reader in range(self.users) if chance.random() < 0.5]
        for partition in range(PARTITIONS):
            self.give(partition, chance.choice(self.processes))
        for process in self.processes:
            self.at(chance.randint(1, HEARTBEAT), self.heartbeat, process)
            if self.upgraded:
                process.old = True
                self.at(chance.randint(1000, self.upgraded), self.replace, process)
                self.disturbed = self.upgraded
        for door in self.doors:
            self.at(chance.randint(1, 1000), self.look_around, door)
        self.at(50, self.turn)
        self.at(60, self.sessions)
        for _ in range(chance.randint(30, 100)):
            self.at(chance.randint(500, ACT), self.act)
        for _ in range(chance.randint(60, 160)):
            self.at(chance.randint(500, ASK), self.look)
        for _ in range(chance.choice((0, chance.randint(1, 4), chance.randint(6, 24)))):
            self.at(chance.randint(500, ACT), self.trouble)
        self.at(ASK, self.everybody_asks)

    def pair(self):
        """Mostly the same two."""
        return self.favourites if self.chance.random() < 0.6 else self.chance.sample(range(self.users), 2)

    def act(self):
        chance, (author, reader) = self.chance, self.pair()
        roll = chance.random()
        if roll < 0.26:
            self.wish('ask', author, reader)
        elif roll < 0.42:
            self.wish('end', author, reader)
        elif roll < 0.62:
            self.wish('accept', author, reader)
        elif roll < 0.71:
            self.wish('followers', author, None)
        elif roll < 0.76:
            self.wish('everybody', author, None)
        elif roll < 0.85:
            self.block(*((author, reader) if chance.random() < 0.5 else (reader, author)), True)
        elif roll < 0.93:
            self.block(*((author, reader) if (author, reader) in self.blocking else (reader, author)), False)
        else:
            self.post(author)
        for _ in range(2):                                      # what was allowed a moment ago is looked at
            self.at(self.now + chance.randint(0, 5000), self.look, author, reader)
        if chance.random() < 0.4:
            self.at(self.now + chance.randint(0, 4000), self.post, author)

    def look(self, author=None, reader=None):
        if reader is None:
            author, reader = self.pair()
        door = self.doors[self.chance.randrange(GATEWAYS)]
        if self.chance.random() < 0.4:
            self.ask_home(door, reader)
        else:
            self.show(door, author, reader, 1 if self.chance.random() < 0.7 else self.posts[author], self.chance.randint(2, 4))

    def everybody_asks(self):
        for pair in sorted(self.truth.allowed):
            author, reader = pair
            if author == reader:
                continue
            self.expected.add(('page', author, reader))
            self.show(self.doors[self.chance.randrange(GATEWAYS)], author, reader, self.posts[author], 5)
            if pair in self.threads or (reader in self.homes and pair in self.truth.follows):
                self.expected.add(('screen', author, reader))
        for reader in range(self.users):
            self.ask_home(self.doors[0], reader)
        for author in range(self.users):
            self.post(author)

    # ---- trouble ----

    def trouble(self):
        chance = self.chance
        process, door = chance.choice(self.processes), chance.choice(self.doors)
        lasts = min(chance.randint(200, 8000), CALM - self.now)
        until = self.now + lasts
        self.disturbed = max(self.disturbed, until)
        kind = chance.randrange(11)
        if kind == 0:
            self.lose(process, until, chance.random() < 0.3)
        elif kind == 1:
            process.frozen = until
        elif kind <= 3:
            process.cut_since = self.now
            process.cut_group, process.cut_follows, process.cut_blocks = chance.choice(
                ((True, True, True), (True, True, False), (True, False, False), (False, True, False), (False, False, True)))
            self.at(until, self.mend, process)
        elif kind == 4:
            process.late_follows = chance.randint(200, 5000)
            self.at(until, self.mend, process)
        elif kind == 5:
            process.late_blocks = chance.randint(200, 3000)
            self.at(until, self.mend, process)
        elif kind == 6:
            process.slow_answers = chance.randint(200, 4000)
            self.at(until, self.mend, process)
        elif kind == 7:
            process.slow_commits = 4000
            self.at(until, self.mend, process)
            self.wish('end', *self.favourites)
            for _ in range(8):
                self.at(self.now + chance.randint(0, 8000), self.look, *self.favourites)
        elif kind == 8:
            author, reader = self.pair()
            self.wish(chance.choice(('end', 'followers')), author, reader)
            self.at(self.now + chance.randint(50, 600), self.rebalance, author % PARTITIONS)
        elif kind == 9:
            door.start()
        else:
            door.slow = chance.randint(200, 3000)
            self.at(until, self.quicken, door)

    def mend(self, process):
        process.cut_group = process.cut_follows = process.cut_blocks = False
        process.late_follows = process.late_blocks = 20
        process.slow_answers = process.slow_commits = 0

    def quicken(self, door):
        door.slow = 0

    def lose(self, process, until, disk):
        process.up = False
        for part in process.parts:
            part.leave()
            if disk:
                part.empty()
                part.ready = until + self.chance.randint(200, 2000)
        self.at(until, self.start, process)

    def start(self, process):
        process.up, process.frozen = True, 0
        for partition in range(PARTITIONS):
            part = process.parts[partition]
            part.leave()
            if self.owner[partition] is process:
                self.give(partition, process)                   # its place in the group was kept
        if not process.cut_group:
            process.member, process.heard, process.group_heard = True, self.now, self.now

    def replace(self, process):
        """By one of the new version."""
        process.old = False
        self.lose(process, self.now + self.chance.randint(20, 300), False)


def histories(first, count, without=()):
    """The violations by seed."""
    return violations_of(History, first, count, without)


def main():
    options = read_options(__doc__, RULES)
    if options.each:
        print('| rule | left out | histories with a text given too late | with any violation |\n|---|---|---|---|')
        for rule in RULES:
            found = histories(options.seed, options.histories, (rule,))
            late = sum(any(what[1] == 'given' for what in violations) for violations in found.values())
            print(f'| {rule} | {RULES[rule]} | {late} | {len(found)} |', flush=True)
        return 0
    wrong = texts = done = pending = 0
    for seed in range(options.seed, options.seed + options.histories):
        history = History(seed, options.without)
        for violation in history.run():
            print(f'seed {seed}:', *violation, flush=True)
        wrong += bool(history.violations)
        texts, done, pending = texts + history.given_texts, done + history.said_200, pending + history.said_202
    print(f'{options.histories} histories, {texts} texts given, {done} commands answered 200 and {pending} 202; {wrong} histories with violations')
    return 1 if wrong else 0


if __name__ == '__main__':
    raise SystemExit(main())
