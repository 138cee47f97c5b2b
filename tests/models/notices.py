#!/usr/bin/env python3
"""The protocol of notices, as a program: random histories against brute force.

    notices.py [HISTORIES] [--seed FIRST] [--without RULE]...      prints the violations
    notices.py [HISTORIES] --each                                  a table: each rule left out, and how many histories have violations

One user is told what others do. Notices are records of a log, those of some owners later than those of others; the user's owner reads them
into its store, lets go of what is too much, and decides commands of the user's devices: which notices are read. Two sockets at an edge watch
the list. Owners die with or without their disks, freeze while a transaction is under way, and decide again what was given up. What owners tell
edges may get lost.

A violation: a list is not that of brute force; the unread ones are counted wrong; likes make too many records; a mark goes
back; an id is sent twice on a socket; or a screen does not end with what the list says.
"""
import random
from types import SimpleNamespace

from histories import main, violations_of

RULES = {
    # what is kept
    'again': "of what a user does to the same thing again and again the newest notice stays",
    'fair': "beyond what is kept, the oldest goes of the sender who has too many, else of the kind that has most",
    'some': "of many likes of a thing some are told",
    'total': "a notice of a like says how many like the thing by then",
    # what is listed
    'waits': "a request is listed while it waits",
    'hidden': "what is not shown is not unread",
    'gathered': "what is gathered is unread once",
    # marks
    'highest': "the mark is the highest that was ever asked for",
    'newest': "a mark is compared with the newest one, also with one that is not read back yet",
    'fenced': "an owner whose partition is another's writes nothing",
    'restored': "an owner decides once it has read all state",
    # live
    'all': "a version is that of all that the list depends on",
    'rolls': "a version that was not heard is named again",
    'reread': "a page that is older than the version is read again",
    'sent': "an edge knows the ids that it has sent",
    'late': "a notice may be older than one that was sent",
}

KEPT, OF_ONE, PAGE, NAMED, DAY = 14, 5, 5, 3, 60
TOLD_ALL = 4                                    # likes of a thing; then at each doubling
KINDS = 'follow', 'request', 'accepted', 'mention', 'reply', 'like'
GATHERED = 'follow', 'request', 'accepted', 'like'


def key_of(time, kind, number):
    """Keys rise from the newest to the oldest."""
    return -time, KINDS.index(kind), number


def worth_telling(count):
    return count <= TOLD_ALL or count & (count - 1) == 0


def trim(rule, kept):
    """The keys that go."""
    gone, order, acts = set(), sorted(kept), set()
    for key in order if rule.again else ():
        kind, user, thing, _ = kept[key]
        if (kind, user, thing) in acts:
            gone.add(key)
        acts.add((kind, user, thing))
    while len(kept) - len(gone) > KEPT:
        left = [key for key in order if key not in gone]
        if not rule.fair:
            gone.add(left[-1])
            continue
        for field, most in (1, OF_ONE), (0, 0):
            counts = {}
            for key in left:
                counts[kept[key][field]] = counts.get(kept[key][field], 0) + 1
            top = max(counts.values())
            if top > most:
                gone.add(next(key for key in reversed(left) if counts[kept[key][field]] == top))
                break
    return gone


def listed(rule, kept, mark, muted, requests):
    """The items as pages have them, and how many of them are unread."""
    items, places, unread = [], {}, 0
    for key in sorted(kept):
        kind, user, thing, count = kept[key]
        shown = user not in muted and (kind != 'request' or not rule.waits or user in requests)
        new = mark is None or key < mark
        unread += new and not shown and not rule.hidden
        if not shown:
            continue
        group = (kind, thing, key[0] // DAY) if kind in GATHERED else key
        if group in places:
            items[places[group]][1].append(user)
            unread += new and not rule.gathered
            continue
        places[group] = len(items)
        items.append((key, [user], kind, thing, count))
        unread += new
    return [(key, kind, thing, max(len(set(users)), count if rule.total else 0), list(dict.fromkeys(users))[:NAMED])
            for key, users, kind, thing, count in items], unread


class Truth:
    """Brute force: everything that ever happened, looked through from the beginning each time."""
    def __init__(self):
        self.told = []                          # (key, kind, user, thing, likes by then)
        self.mark = None
        self.muted, self.requests, self.likes = set(), set(), {}

    def kept(self):
        kept = {}
        for key, *notice in self.told:
            kept[key] = tuple(notice)
            same = sorted(other for other in kept if kept[other][:3] == kept[key][:3])
            for other in same[1:]:
                del kept[other]
            while len(kept) > KEPT:
                many = {user: sum(notice[1] == user for notice in kept.values()) for _, user, _, _ in kept.values()}
                kinds = {kind: sum(notice[0] == kind for notice in kept.values()) for kind, _, _, _ in kept.values()}
                worst = max(many.values())
                victims = [key for key, notice in kept.items()
                           if (many[notice[1]] == worst if worst > OF_ONE else kinds[notice[0]] == max(kinds.values()))]
                del kept[max(victims)]
        return kept

    def list(self):
        shown = [(key, notice) for key, notice in sorted(self.kept().items())
                 if notice[1] not in self.muted and (notice[0] != 'request' or notice[1] in self.requests)]
        items = []
        for key, (kind, user, thing, count) in shown:
            for item in items if kind in GATHERED else ():
                if (item[1], item[2], item[0][0] // DAY) == (kind, thing, key[0] // DAY):
                    item[4].append(user)
                    break
            else:
                items.append((key, kind, thing, count, [user]))
        return [(key, kind, thing, max(count, len(set(users))), sorted(set(users), key=users.index)[:NAMED])
                for key, kind, thing, count, users in items]


class Process:
    def __init__(self):
        self.up, self.frozen, self.generation = True, 0, 0
        self.transaction = None                 # (generation, from, to, marks)
        self.lose_disk()

    def lose_disk(self):
        self.kept, self.mark, self.at, self.at_marks = {}, None, 0, 0
        self.start()

    def start(self):
        self.live, self.pending, self.transaction, self.heard = False, [], None, {}


class Socket:
    def __init__(self):
        self.sent, self.highest, self.version, self.named, self.unread = set(), None, None, None, None
        self.screen = {}


class History:
    def __init__(self, seed, without=()):
        self.chance = random.Random(seed)
        self.rule = SimpleNamespace(**{rule: rule not in without for rule in RULES})
        self.now, self.truth = 1000, Truth()
        self.log, self.marks, self.commands, self.decided = [], [], [], 0
        self.muted, self.requests = set(), set()
        self.processes = [Process(), Process()]
        self.owner, self.generation = self.processes[0], 0
        self.sockets = [Socket(), Socket()]
        self.records, self.violations = {}, []

    def wrong(self, *what):
        self.violations.append((self.now, *what))

    # ---- what others do ----

    def tell(self, kind, user, thing=None, count=0):
        """The clock of whoever decides it may be behind."""
        time = self.now - self.chance.choice((0, 0, 0, 1, 4))
        key = key_of(time, kind, user if thing is None or kind == 'like' else self.now)
        if any(key == told[0] for told in self.truth.told):
            return
        self.truth.told.append((key, kind, user, thing, count))
        self.log.append((key, (kind, user, thing, count)))

    def act(self):
        chance, user = self.chance, self.chance.choice((1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9))
        what = chance.randrange(10)
        if what == 0:
            self.tell('follow', user)
        elif what == 1 and user not in self.requests:
            self.requests.add(user)
            self.tell('request', user)
        elif what == 2:
            self.requests.discard(user)
        elif what == 3:
            self.tell('accepted', user)
        elif what == 4:
            self.tell(chance.choice(('mention', 'reply')), user, 'post 1')
        elif what == 5:
            (self.muted.discard if user in self.muted else self.muted.add)(user)
        else:
            self.like(user, chance.choice(('post 1', 'comment 2')))
        self.truth.muted, self.truth.requests = self.muted, self.requests

    def like(self, user, thing):
        likes = self.truth.likes.setdefault(thing, set())
        if user in likes and self.chance.random() < 0.7:
            likes.discard(user)
            return
        for other in [user] if self.chance.random() < 0.7 else range(100 + self.now, 130 + self.now):
            if other not in likes:
                likes.add(other)
                if worth_telling(len(likes)) or not self.rule.some:
                    self.tell('like', other, thing, len(likes))
                    if len(likes) > TOLD_ALL:
                        self.records.setdefault(thing, []).append(len(likes))

    # ---- the owner ----

    def read(self, process, most):
        if not process.up or process.frozen > self.now:
            return
        while most and process.at < len(self.log):
            key, notice = self.log[process.at]
            process.at += 1
            most -= 1
            if notice is None:
                process.kept.pop(key, None)
                continue
            process.kept[key] = notice
            for gone in trim(self.rule, process.kept):
                del process.kept[gone]
                if self.owner is process and self.chance.random() < 0.8:
                    self.log.append((gone, None))
        while process.at_marks < len(self.marks):
            process.mark = self.marks[process.at_marks]
            process.at_marks += 1
            process.pending = [(until, offset) for until, offset in process.pending if offset is None or offset >= process.at_marks]
            if self.chance.random() < 0.5:
                break
        self.name(process)

    def current(self, process):
        return process.at == len(self.log) and process.at_marks == len(self.marks)

    def serves(self, process):
        return process.up and process.frozen <= self.now and self.owner is process and process.live

    def decide(self, process):
        """Commits what it has begun, or begins: of a frozen process both may be long ago."""
        if not process.up or process.frozen > self.now:
            return
        if process.transaction:
            generation, to, marks = process.transaction
            process.transaction = None
            if generation != self.generation and self.rule.fenced:
                process.pending = []
                return
            self.write(marks)
            if marks:
                process.pending = [(marks[-1], len(self.marks) - 1)]
            self.decided = max(self.decided, to)
            return
        if self.owner is not process or process.generation != self.generation:
            return
        process.live = process.live or not self.rule.restored or self.current(process)
        if not process.live or self.decided == len(self.commands) or (process.pending and self.chance.random() < 0.3):
            return
        to, marks = self.chance.randint(self.decided + 1, len(self.commands)), []
        for until in self.commands[self.decided:to]:
            newest = process.pending[-1][0] if process.pending and self.rule.newest else process.mark
            if newest is None or until < newest or not self.rule.highest:
                marks.append(until)
                process.pending.append((until, None))
        process.transaction = process.generation, to, marks

    def write(self, marks):
        for mark in marks:
            if self.marks and mark > self.marks[-1]:
                self.wrong('the mark goes back', mark)
            self.marks.append(mark)

    def take_over(self, process):
        self.generation += 1
        self.owner, process.generation = process, self.generation
        process.live, process.transaction, process.pending = False, None, []

    # ---- devices ----

    def ask_read(self):
        """Of a list that the device has read some time ago."""
        notices = [told[0] for told in self.truth.told]
        if notices:
            until = self.chance.choice(notices[-8:])
            self.commands.append(until)
            self.truth.mark = until if self.truth.mark is None else min(until, self.truth.mark)

    # ---- live ----

    def page(self, process):
        return listed(self.rule, process.kept, process.mark, self.muted, self.requests)

    def version(self, process):
        kept = frozenset(process.kept)
        if not self.rule.all:
            return kept
        return kept, process.mark, frozenset(self.muted), frozenset(self.requests)

    def name(self, process, always=False):
        if not self.serves(process):
            return
        version = self.version(process)
        for socket in self.sockets:
            if (process.heard.get(socket) != version or (always and self.rule.rolls)) and self.chance.random() < (1 if always else 0.6):
                socket.named = version
            process.heard[socket] = version

    def edge(self):
        """An answer may be older than what was named meanwhile."""
        for socket in self.sockets:
            process = self.owner
            if socket.named == socket.version or not self.serves(process):
                continue
            page, unread = self.page(process)
            version = self.version(process)
            if self.chance.random() < 0.3:
                process = self.chance.choice(self.processes)
                if process.up:                  # an answer of a moment ago, of the former owner
                    (page, unread), version = self.page(process), self.version(process)
            socket.version = version if self.rule.reread else socket.named
            socket.unread = unread
            for item in page[:PAGE]:
                key = item[0]
                if (key in socket.sent if self.rule.late else socket.highest is not None and key >= socket.highest) and self.rule.sent:
                    continue
                if key in socket.sent:
                    self.wrong('sent twice', key)
                socket.sent.add(key)
                socket.screen[key] = item
            if page and (socket.highest is None or page[0][0] < socket.highest):
                socket.highest = page[0][0]

    # ---- the course of things ----

    def trouble(self):
        process, kind = self.chance.choice(self.processes), self.chance.randrange(4)
        if kind == 3 and self.owner.transaction:
            self.owner.frozen = self.now + self.chance.randint(3, 15)
        elif kind == 0 and process is self.owner:
            process.up = False
            if self.chance.random() < 0.5:
                process.lose_disk()
            process.start()
        elif kind == 1:
            process.frozen = self.now + self.chance.randint(3, 15)
        elif kind == 2:
            process.up = True
        if not self.owner.up or self.owner.frozen > self.now:
            there = [other for other in self.processes if other.up and other.frozen <= self.now and other is not self.owner]
            if there:
                self.take_over(there[0])

    def step(self):
        self.now += self.chance.choice((0, 1, 1, 3))
        turn = self.chance.random()
        if turn < 0.35:
            self.act()
        elif turn < 0.45:
            self.ask_read()
        elif turn < 0.55:
            self.trouble()
        for process in self.chance.sample(self.processes, 2):
            self.read(process, self.chance.randint(0, 3))
            self.decide(process)
        if self.chance.random() < 0.5:
            self.edge()

    def run(self):
        for _ in range(self.chance.randint(20, 160)):
            self.step()
        self.settle()
        return self.violations

    def settle(self):
        """Nothing happens any more: all is read and decided, and an edge's roll calls have come round."""
        self.now += 100
        for process in self.processes:
            process.up = True
        for turn in range(400):
            for process in self.processes:
                self.read(process, 100)
                self.decide(process)
            if turn % 20 == 19:
                self.name(self.owner, always=True)
            self.edge()
        kept = self.owner.kept
        if kept != self.truth.kept():
            self.wrong('kept', sorted(kept), sorted(self.truth.kept()))
        items, unread = self.page(self.owner)
        expected = self.truth.list()
        if items != expected:
            self.wrong('listed', items, expected)
        if self.owner.mark != self.truth.mark:
            self.wrong('mark', self.owner.mark, self.truth.mark)
        new = sum(self.truth.mark is None or item[0] < self.truth.mark for item in expected)
        if unread != new:
            self.wrong('unread', unread, new)
        for thing, counts in self.records.items():
            if any(count & (count - 1) for count in counts):
                self.wrong('records', thing, len(counts))
        for socket in self.sockets:
            if socket.unread not in (None, new) or (socket.unread is None and expected):
                self.wrong('screen', socket.unread, new)
            missing = [item[0] for item in expected[:PAGE] if item[0] not in socket.screen]
            if missing:
                self.wrong('screen', missing)


def histories(first, count, without=()):
    """The violations by seed."""
    return violations_of(History, first, count, without)


if __name__ == '__main__':
    raise SystemExit(main(__doc__, RULES, History))
