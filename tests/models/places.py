#!/usr/bin/env python3
"""Places of a user, with arrivals and departures, as a program: random histories against brute force.

    places.py [HISTORIES] [--seed FIRST] [--without RULE]...      prints the violations
    places.py [HISTORIES] --rules                                 a table: each rule left out, and how many histories have violations

What is promised: a user has up to 50 places, and says of each who is told. The owner of the user decides arrivals and departures from the
user's reports in the order of the log, by a pure function: in at distance + accuracy <= radius, out at distance - accuracy > radius +
max(50 m, radius / 10); reports older than the newest do not count; the first report inside is an arrival. `place-events` holds exactly what
the function gives, each number once, whoever crashes.

The design: a daemon of its own, starling-places, on lib/tasks. Its decider takes two topics of commands, `locations` and `place-commands`. One
transaction has the events, the states, the rows of places, and how far both topics are decided. Kafka gives no order between a report and a
change of places; the transaction decides it once, and the state that it writes names the offset of `locations` from which on the change counts.
So the events are a function of one log and of changes at named offsets, and anybody can compute them again.

Why not elsewhere. The router holds reports back and drops those that are replaced, stops while its outbox is full, and commits by epochs without
a fence; and what this needs, to read the last minute again, would there be a minute of joins. The history sink goes on where its files end, and has
no transactions. The feed would decide posts behind 334,000 reports/s. A process has one group (lib/event/programs.c). The price is one more
read of `locations`, as the history sink's.

    topic            written by   key: value
    place-commands   gateway      user: PUT {id, name, lat, lng, radius, tell}, DELETE {id}, FORGET. A day; its time is that of its arrival
    places           owner        user, id: {slot, name, lat, lng, radius, tell, since}. Compacted. slot: 0 to 49, the place's bit in the state
    place-states     owner        user: {offset, newest, left, inside, number, first, bare}. Compacted
    place-events     owner        user, number: {place, name, what, time, tell, offset of the report}. Compacted; of a user the newest 10,000 stay:
                                  an event beyond writes the tombstone of the oldest, and `first` rises
    place-offsets    owner        name of a topic of commands: CommandOffset, as the other deciders' offsets
    approaches       router       as before, by the user who is told; and PlaceTold {user, number, name, what, time}

    offset: all reports before it are decided. newest: the time of the newest report that counted. left: the consent that the last LEAVE ended.
    inside: bits by slot. number: of the last event. Of an event's reports the lefts come first, then the arrivals, by id.

What is kept about "newest". A report that changes nothing but `newest` writes nothing. It makes its user *wait*, from the first such report
on, and the committed offset of `locations` stays at the first report for which somebody waits. After 60 s (`places.cover.s`, by the arrival of
reports) the user's state is written all the same: the user is covered. So the state, and the reports from the committed offset on, give
`newest` exactly, also without a disk, and no process reads more than a minute again. A user who is being read again skips reports before the
offset of the state. Without a state once in a while either nobody could commit, or a late report would count after a crash.

The function, where the promise is silent. Rows count as in the history (REPORT, JOIN; not a JOIN of time 0). Of equal times each counts, the later
offset wins, as in presence. A report more than `clock.wall.max.ahead.s` after its arrival does not count, as for routers, or one wrong clock would
end all; with clock=stream all count. An unknown accuracy is 0; a bad one decides nothing, but the report's time counts. LEAVE: nobody leaves a
place by hiding; later reports of that consent do not count, and the first one of the next consent says where the user is. So friends are not told
at an opt-out that somebody left, nor at an opt-in that somebody arrived where they were told before. A place that is changed keeps its bit, and
the next report judges it; one that is deleted makes no event. Of a user without places nothing is kept up to date, so whoever makes the first
one begins with `newest` at the arrival of the command: reports from before do not count.

Who is told. `tell` is of the moment of the decision (the event has it). Who of them is told is found when the owner of the user in the router
has read the event: friends then (no block), who share, as the user does, who do not mute the user, and who do not see the user rounded: such a
friend learns the cell and nothing else (EXACTNESS.md, promise 6). The user alone (`me`) is told without that. What the feed does with any notice
follows: blocks and mutes at the time of showing, preferences, and nothing pushed that is over an hour old.

The rules: RULES below. A violation: the events are not those of brute force; a number does not rise; a change of places is lost or decided twice; a
user is covered too often, or more than a minute would be read again; something is kept of who was forgotten; somebody is not told who should be,
or told who may not be, or told twice.

Owners die with or without their disks, freeze in a transaction, lose the partition and come back; transactions are given up; all topics are copied
under a new prefix. Phones are late, lie about time, repeat themselves, and go on after their user has opted out.
"""
import itertools
import random
from types import SimpleNamespace

from histories import main, violations_of

RULES = {
    # the function
    'rows': "reports and joins count, other records do not, nor does a join that only looks (its time is 0)",
    'older': "reports that are older than the newest do not count",
    'equal': "of reports of one time each counts",
    'ahead': "a report from long after its arrival does not count",
    'leaves': "after a LEAVE, reports of the consent before do not count",
    'stays': "a LEAVE itself makes nobody leave a place",
    'accuracy': "the accuracy counts against a change",
    'unknown': "an accuracy that is not known is 0",
    'margin': "a place is left further out than it is entered",
    'first': "a new place begins outside, whoever is there",
    'kept': "a place that is changed keeps whether its user is inside",
    'slots': "the bit of a place that is deleted is cleared",
    'made': "reports from before the making of a user's only place do not count",
    'most': "a user has so many places at most",
    # deciding
    'together': "events, state and positions are of one transaction",
    'changes': "changes of places are of the same transactions",
    'fenced': "an owner whose partition is another's writes nothing",
    'restored': "an owner decides once it has read all state",
    'dropped': "what was decided in a transaction that is given up is forgotten",
    'offset': "a report before the offset of its user's state is decided already",
    'highest': "a change of places does not set that offset back",
    'passed': "the first place counts behind all reports that were passed by",
    'names': "a change of places names the offset from which on it counts",
    'held': "no position is passed on beyond a report that no state covers",
    'covers': "a user's state is written when it has not been for a while",
    'bare': "of who is forgotten the offset stays until no position is held before it",
    'quiet': "a report that changes nothing writes nothing",
    'rising': "numbers rise, also after the user was forgotten",
    'copied': "who copies the topics says that the copied reports are decided",
    'anew': "and that states are of before them",
    # notices
    'again': "notices are written before the events count as told",
    'same': "the same event makes the same notice",
    'then': "an event says who is to be told of it",
    'friends': "only friends are told",
    'both': "only while both share",
    'rounded': "whoever sees the user rounded is told nothing",
    'muted': "nor is who does not want to see the user",
    'oneself': "to be told oneself takes no consent",
}

USERS, MOST = 3, 3
COVER, AHEAD = 60, 30
MARGIN = 50
ROWS = REPORT, JOIN = 'REPORT', 'JOIN'
REJOIN, QUIT, LEAVE = 'REJOIN', 'QUIT', 'LEAVE'
PUT, DELETE, FORGET = 'PUT', 'DELETE', 'FORGET'
TOPICS = PLACES, STATES, EVENTS = 'places', 'place-states', 'place-events'


class Record(SimpleNamespace):
    """Of `locations` (user, kind, time, x, accuracy, opted, arrival) or of `place-commands`."""


class Place:
    """As its row says: slot is its bit in its user's state."""
    __slots__ = ('radius', 'slot', 'tell', 'x')

    def __init__(self, slot, x, radius, tell):
        self.slot, self.x, self.radius, self.tell = slot, x, radius, tell


class State:
    """offset: all reports before it are decided. first: the number before the user's first event. number: of the last one. bare: the user
    was forgotten."""
    __slots__ = ('bare', 'first', 'inside', 'left', 'newest', 'number', 'offset')

    def __init__(self, offset, newest, number):
        self.offset, self.newest, self.number, self.first = offset, newest, number, number
        self.left, self.inside, self.bare = None, 0, False

    def copy(self):
        copy = State(self.offset, self.newest, self.number)
        copy.first, copy.left, copy.inside, copy.bare = self.first, self.left, self.inside, self.bare
        return copy


# ---- the function: pure ----

def counts(rule, state, record):
    if (record.kind not in ROWS or not record.time) and rule.rows:
        return False
    if rule.ahead and record.time > record.arrival + AHEAD:
        return False
    if rule.leaves and state.left is not None and record.opted <= state.left:
        return False
    return not rule.older or record.time > state.newest or (record.time == state.newest and rule.equal)


def turns(rule, inside, place, record):
    """Whether the report makes the user arrive or leave."""
    accuracy = record.accuracy if record.accuracy >= 0 or not rule.unknown else 0
    if not rule.accuracy:
        accuracy = 0
    away = abs(record.x - place.x)
    if not inside:
        return away + accuracy <= place.radius
    return away - accuracy > place.radius + (max(MARGIN, place.radius / 10) if rule.margin else 0)


def decide_report(rule, state, places, record):
    """Changes the state. The events: (number, place, what, time, tell), those of leaving first."""
    if record.kind == LEAVE:
        state.left = record.opted if state.left is None else max(state.left, record.opted)
        gone = [(name, place) for name, place in sorted(places.items()) if state.inside >> place.slot & 1 and not rule.stays]
    elif counts(rule, state, record):
        state.newest = max(state.newest, record.time) if rule.older else record.time
        turned = [(name, place) for name, place in sorted(places.items())
                  if turns(rule, state.inside >> place.slot & 1, place, record)]
        gone = [turn for turn in turned if state.inside >> turn[1].slot & 1]
        gone += [turn for turn in turned if turn not in gone]
    else:
        return []
    events = []
    for name, place in gone:
        state.inside ^= 1 << place.slot
        state.number += 1
        what = 'arrived' if state.inside >> place.slot & 1 else 'left'
        events.append((state.number, name, what, record.time, place.tell))
    return events


# ---- the daemon ----

class User:
    """In memory, while this process owns the partition. waits: the first report that no written state covers."""
    __slots__ = ('places', 'state', 'waits')

    def __init__(self, state):
        self.state, self.places, self.waits = state, {}, None


class Process:
    def __init__(self):
        self.up, self.frozen, self.generation, self.live = True, 0, 0, False
        self.lose_disk()
        self.forget()

    def lose_disk(self):
        self.rows, self.states, self.at = {}, {}, dict.fromkeys(TOPICS, 0)

    def forget(self):
        self.users, self.transaction = {}, None
        self.reports = self.commands = 0        # what comes next
        self.ahead, self.passed = 0, set()      # read so far, and reports that needed no decision then

    def load(self):
        self.users = {user: User(state.copy()) for user, state in self.states.items()}
        for (user, name), place in self.rows.items():
            if user in self.users:
                self.users[user].places[name] = place


class World:
    def __init__(self, seed, without=()):
        self.chance = random.Random(seed)
        self.rule = SimpleNamespace(**{rule: rule not in without for rule in RULES})
        self.now = 1000
        self.log, self.commands = [], []
        self.topics = {topic: [] for topic in TOPICS}
        self.position = [0, 0]                  # committed: reports, commands
        self.processes = [Process(), Process()]
        self.owner, self.generation = self.processes[0], 0
        self.take_over(self.owner)
        # for the judge alone
        self.segments = [(0, self.log, [])]     # copied reports, reports, changes as they were decided
        self.made, self.events, self.covered = [], [], []
        self.violations = []
        # users and their phones
        self.x = [self.chance.randint(-300, 300) for _ in range(USERS)]
        self.skew = [self.chance.choice((0, 0, 0, -20, 10)) for _ in range(USERS)]
        self.late, self.opted, self.sharing = [], [0] * USERS, [True] * USERS
        self.friends, self.rounded, self.mutes = {(0, 1), (1, 0), (0, 2), (2, 0)}, set(), set()
        # notices
        self.told, self.told_to, self.notices, self.due, self.allowed = 0, 0, [], set(), set()

    def wrong(self, *what):
        self.violations.append(what)

    # ---- phones and people ----

    def report(self, user):
        chance = self.chance
        self.x[user] += chance.choice((0, chance.randint(-20, 20), chance.randint(-150, 150), chance.randint(-700, 700)))
        accuracy = chance.choice((-1, 0, 10, 30, 80, 400, 100000))
        time = max(1, self.now + self.skew[user])
        record = Record(user=user, kind=chance.choice((REPORT, REPORT, REPORT, JOIN)), time=time, x=self.x[user], accuracy=accuracy,
                        opted=self.opted[user])
        roll = chance.random()
        if roll < .15:
            self.late.append(record)            # the phone had no net, or the record is on its way
        elif roll < .2:
            record.time += chance.choice((AHEAD - 5, AHEAD + 40, 10000))
            self.send(record)
        elif roll < .3 and self.log:
            again = chance.choice(self.log[-6:])            # the same time once more, there or elsewhere
            record.time = again.time if again.user == user and again.kind in ROWS else record.time
            self.send(record)
        elif roll < .36:
            record.kind = chance.choice((REJOIN, QUIT))
            record.x = record.x if chance.random() < .5 else 0
            self.send(record)
        elif roll < .39:
            record.kind, record.time = JOIN, 0
            self.send(record)
        else:
            self.send(record)

    def send(self, record):
        record.arrival = self.now
        self.log.append(record)

    def share(self, user):
        self.sharing[user] = not self.sharing[user]
        if self.sharing[user]:
            self.opted[user] += 2
        else:
            self.send(Record(user=user, kind=LEAVE, time=self.now, x=0, accuracy=-1, opted=self.opted[user] + 1))

    def command(self, user):
        chance = self.chance
        what = chance.choice((PUT, PUT, PUT, DELETE)) if chance.random() < .94 else FORGET
        tell = chance.choice(('me', 'friends', 'friends', tuple(sorted(chance.sample(range(USERS), 2)))))
        self.commands.append(Record(user=user, what=what, name=chance.randrange(MOST + 1), x=self.x[user] + chance.choice((0, 0, 100, 101, 900)),
                                    radius=chance.choice((50, 100, 300, 800)), tell=tell, arrival=self.now))

    def people(self):
        a, b = self.chance.sample(range(USERS), 2)
        which = self.chance.choice((self.friends, self.rounded, self.mutes))
        if (a, b) in which:
            which.discard((a, b))
            if which is self.friends:
                which.discard((b, a))
        else:
            which.add((a, b))
            if which is self.friends:
                which.add((b, a))

    # ---- the daemon ----

    def take_over(self, process):
        self.generation += 1
        self.owner, process.generation = process, self.generation
        process.live = False
        process.forget()

    def read(self, process, most):
        for topic in TOPICS:
            log = self.topics[topic]
            for key, value in log[process.at[topic]:process.at[topic] + most]:
                store = process.rows if topic == PLACES else process.states
                if topic == EVENTS:
                    continue
                if value is None:
                    store.pop(key, None)
                else:
                    store[key] = value
            process.at[topic] = min(len(log), process.at[topic] + most)

    def begin(self, process):
        """The partition runs, once its state is restored."""
        if not process.live and (not self.rule.restored or all(process.at[topic] == len(self.topics[topic]) for topic in TOPICS)):
            process.live = True
            process.load()
            process.reports, process.commands = self.position
            process.ahead = process.reports

    def work(self, process):
        if not process.up or process.frozen > self.now:
            return
        if process.transaction:
            self.end(process)
            return
        if self.owner is not process or process.generation != self.generation:
            return
        self.begin(process)
        if process.live:
            self.open(process)

    def open(self, process):
        chance = self.chance
        transaction = process.transaction = SimpleNamespace(generation=process.generation, writes=[], changes=[], events=[], covers=[])
        while process.ahead < len(self.log) and chance.random() < .8:
            user = process.users.get(self.log[process.ahead].user)
            if not user or not user.places:
                process.passed.add(process.ahead)
            process.ahead += 1
        reports = min(process.ahead, process.reports + chance.randint(0, 6))
        commands = min(len(self.commands), process.commands + chance.randint(0, 2))
        while process.reports < reports or process.commands < commands:
            if process.commands == commands or (process.reports < reports and chance.random() < .7):
                self.take_report(process, transaction)
            else:
                self.take_command(process, transaction)
        self.cover(process, transaction)
        if not self.rule.together:
            self.topics[EVENTS] += [write[1:] for write in transaction.writes if write[0] == EVENTS]
            self.events += transaction.events
            transaction.events = []
            transaction.writes = [write for write in transaction.writes if write[0] != EVENTS]
        if not self.rule.changes:
            self.position[1] = process.commands

    def take_report(self, process, transaction):
        offset, record = process.reports, self.log[process.reports]
        process.reports += 1
        user = process.users.get(record.user)
        if offset in process.passed or not user or not user.places or (self.rule.offset and offset < user.state.offset):
            return
        before = user.state.newest, user.state.left
        events = decide_report(self.rule, user.state, user.places, record)
        user.state.offset = max(user.state.offset, offset + 1)
        for number, *event in events:
            transaction.writes.append((EVENTS, (record.user, number), event))
            transaction.events.append((record.user, number, *event))
        if events or not self.rule.quiet:
            self.put_state(transaction, record.user, user)
            if not events:
                transaction.covers.append((record.user, record.arrival))
        elif before != (user.state.newest, user.state.left) and user.waits is None:
            user.waits = offset

    def put_state(self, transaction, number, user):
        transaction.writes.append((STATES, number, user.state.copy()))
        user.waits = None

    def cover(self, process, transaction):
        """Users whose first report that is not covered came long ago, by the reports' arrival; or by the clock, when none is left."""
        now = self.now if process.reports == len(self.log) else self.log[process.reports].arrival
        for number, user in sorted(process.users.items()):
            if user.state.bare and user.state.offset <= self.position[0]:
                transaction.writes.append((STATES, number, None))
                del process.users[number]
            elif user.waits is not None and self.rule.covers and now - self.log[user.waits].arrival >= COVER:
                transaction.covers.append((number, self.log[user.waits].arrival))
                user.state.offset = max(user.state.offset, process.reports)
                self.put_state(transaction, number, user)

    def take_command(self, process, transaction):
        command = self.commands[process.commands]
        process.commands += 1
        user = process.users.get(command.user)
        if command.what == FORGET:
            if user and not user.state.bare:
                gone = range(user.state.first + 1, user.state.number + 1)
                transaction.writes += [(EVENTS, (command.user, number), None) for number in gone]
                transaction.writes += [(PLACES, (command.user, name), None) for name in sorted(user.places)]
                bare = State(max(user.state.offset, process.reports), 0, user.state.number)
                bare.bare = True
                process.users[command.user] = User(bare)
                transaction.changes.append((command, bare.offset))
                if self.rule.bare:
                    self.put_state(transaction, command.user, process.users[command.user])
                else:
                    transaction.writes.append((STATES, command.user, None))
                    del process.users[command.user]
            return
        if not user:
            if command.what == DELETE:
                return
            user = process.users[command.user] = User(State(process.reports, 0, command.arrival if self.rule.rising else 0))
        state, place = user.state, user.places.get(command.name)
        behind = process.reports if user.places or not self.rule.passed else process.ahead
        if command.what == DELETE:
            if not place:
                return
            del user.places[command.name]
            if self.rule.slots:
                state.inside &= ~(1 << place.slot)
            transaction.writes.append((PLACES, (command.user, command.name), None))
        else:
            if not place and len(user.places) >= MOST and self.rule.most:
                return
            self.put_place(transaction, command, user, place)
            state.bare = False
        state.offset = max(state.offset, behind) if self.rule.highest else behind
        since = state.offset if self.rule.names else self.position[0]
        transaction.changes.append((command, since))
        self.put_state(transaction, command.user, user)

    def put_place(self, transaction, command, user, place):
        state = user.state
        if not user.places and self.rule.made:
            state.newest = max(state.newest, command.arrival)
        slot = place.slot if place else min(set(range(MOST + 1)) - {other.slot for other in user.places.values()})
        if place and not self.rule.kept:
            state.inside &= ~(1 << slot)
        if not place and not self.rule.first:
            state.inside |= 1 << slot           # as if who makes a place were there
        user.places[command.name] = Place(slot, command.x, command.radius, command.tell)
        transaction.writes.append((PLACES, (command.user, command.name), user.places[command.name]))

    def end(self, process):
        """Commits, or gives up."""
        transaction, process.transaction = process.transaction, None
        lost = transaction.generation != self.generation and self.rule.fenced
        if lost or self.chance.random() < .06:
            if self.rule.dropped:
                process.live = False
                process.forget()
            return
        for topic, key, value in transaction.writes:
            self.topics[topic].append((key, value))
        self.segments[-1][2].extend(transaction.changes)
        self.made += [command for command, _ in transaction.changes]
        self.events += transaction.events
        self.covered += transaction.covers
        held = [user.waits for user in process.users.values() if user.waits is not None] if self.rule.held else []
        self.position[0] = min([*held, process.reports])
        self.position[1] = process.commands
        if process.reports and held and self.log[process.reports - 1].arrival - self.log[min(held)].arrival > COVER:
            self.wrong('too much is read again', process.reports - min(held))

    # ---- telling: the router and the feed ----

    def may_be_told(self, user, other, rule):
        if user == other:
            return self.sharing[user] or rule.oneself
        return ((not rule.friends or (user, other) in self.friends) and (not rule.both or (self.sharing[user] and self.sharing[other])) and
                (not rule.rounded or (user, other) not in self.rounded) and (not rule.muted or (other, user) not in self.mutes))

    def tell(self):
        """The effect of the next event. The router may end before it has said that it is done, or (wrongly) after."""
        if self.told == len(self.topics[EVENTS]):
            return
        (user, number), event = self.topics[EVENTS][self.told]
        lost = self.chance.random() < .15
        if event and not (lost and not self.rule.again):
            name, what, time, tell = event
            if not self.rule.then:
                rows = [place for key, place in self.topics[PLACES] if key == (user, name)]
                tell = rows[-1].tell if rows[-1] else ()
            for other in self.audience(user, tell):
                if self.may_be_told(user, other, self.rule):
                    self.told_to += 1
                    self.notices.append((other, what, time, (user, number) if self.rule.same else self.told_to))
        if event:
            strict = SimpleNamespace(**dict.fromkeys(RULES, True))
            now = {(other, event[1], event[2], (user, number)) for other in self.audience(user, event[3])
                   if self.may_be_told(user, other, strict)}
            self.due |= now if not any(key[3] == (user, number) for key in self.allowed) else set()
            self.allowed |= now
        if not lost or not self.rule.again:
            self.told += 1

    def audience(self, user, tell):
        everybody = [other for other in range(USERS) if other != user]
        return [user] if tell == 'me' else everybody if tell == 'friends' else list(tell)

    # ---- trouble ----

    def trouble(self):
        process, kind = self.chance.choice(self.processes), self.chance.randrange(5)
        if kind == 0:
            process.up, process.live = False, False
            process.forget()
            if self.chance.random() < .5:
                process.lose_disk()
        elif kind in (1, 2):
            process.frozen = self.now + self.chance.randint(3, 40)
        elif kind == 3:
            process.up = True
        else:
            self.take_over(self.chance.choice([other for other in self.processes if other.up] or [self.owner]))
        if not self.owner.up or self.owner.frozen > self.now:
            there = [other for other in self.processes if other.up and other.frozen <= self.now and other is not self.owner]
            if there:
                self.take_over(there[0])

    def copy(self):
        """All topics are copied under a new prefix, once nothing is left to decide; of the reports, the last ones."""
        self.calm()
        kept = self.log[len(self.log) - self.chance.randint(0, len(self.log)):]
        self.log = [Record(**dict(vars(record), arrival=self.now)) for record in kept]
        self.position[0] = len(self.log) if self.rule.copied else 0
        states = {}
        for user, state in self.topics[STATES]:
            states[user] = state.copy() if state else None
            if state and self.rule.anew:
                states[user].offset = 0
        self.topics[STATES] = list(states.items())
        for process in self.processes:
            process.lose_disk()
        self.take_over(self.owner)
        self.segments.append((len(self.log), self.log, []))

    # ---- a history ----

    def step(self):
        chance, user = self.chance, self.chance.randrange(USERS)
        self.now += chance.choice((0, 1, 1, 3, 10))
        roll = chance.random()
        if roll < .4:
            self.report(user)
        elif roll < .46 and self.late:
            self.send(self.late.pop(chance.randrange(len(self.late))))
        elif roll < .54:
            self.command(user)
        elif roll < .58:
            self.share(user)
        elif roll < .61:
            self.people()
        elif roll < .68:
            self.trouble()
        elif roll < .685:
            self.copy()
        for process in chance.sample(self.processes, 2):
            if process.up:
                self.read(process, chance.randint(0, 3))
            self.work(process)
        if chance.random() < .4:
            self.tell()

    def calm(self):
        for process in self.processes:
            process.up, process.frozen = True, 0
        self.now += COVER
        for _ in range(1000):
            for process in self.processes:
                self.read(process, 1000)
                self.work(process)
            owner = self.owner
            if (self.position == [len(self.log), len(self.commands)] and owner.live and
                    not any(user.state.bare for user in owner.users.values()) and not any(process.transaction for process in self.processes)):
                break
        else:
            self.wrong('it does not end', self.position, len(self.log), len(self.commands))

    def run(self):
        for user in range(USERS):
            self.command(user)
        for _ in range(self.chance.randint(40, 250)):
            self.step()
            if self.violations:
                return self.violations
        self.calm()
        for _ in range(20 * len(self.topics[EVENTS]) + 20):
            self.tell()
        self.check_commands()
        self.check_events()
        self.check_records()
        self.check_notices()
        return self.violations

    # ---- the judge: everything from the beginning, by the records and what they say about when changes count ----

    def check_commands(self):
        made, has = [], [set() for _ in range(USERS)]
        known = [False] * USERS
        for command in self.commands:
            mine = has[command.user]
            if command.what == FORGET:
                if known[command.user]:
                    made.append(command)
                known[command.user], has[command.user] = False, set()
            elif command.what == DELETE and command.name in mine:
                mine.discard(command.name)
                made.append(command)
            elif command.what == PUT and (command.name in mine or len(mine) < MOST):
                mine.add(command.name)
                known[command.user] = True
                made.append(command)
        for user in range(USERS):
            mine = [[command for command in commands if command.user == user] for commands in (made, self.made)]
            if mine[0] != mine[1]:
                self.wrong('changes of places', user, len(mine[0]), len(mine[1]))

    def check_events(self):
        for user in range(USERS):
            expected = self.expected(user)
            found = [event[2:] for event in self.events if event[0] == user]
            if found != expected:
                at = next((i for i, pair in enumerate(zip(found, expected, strict=False)) if pair[0] != pair[1]), min(len(found), len(expected)))
                self.wrong('events', user, at, found[at:at + 2], expected[at:at + 2])
            numbers = [event[1] for event in self.events if event[0] == user]
            if any(a >= b for a, b in itertools.pairwise(numbers)):
                self.wrong('numbers', user, numbers)

    def expected(self, user):
        events, lives, counted, leaves = [], {}, [], []
        for copied, log, changes in self.segments:
            mine = [change for change in changes if change[0].user == user]
            for offset in range(len(log) + 1):
                for command, since in mine:
                    if since == offset:
                        self.change(command, lives, counted, leaves)
                if offset < len(log) and offset >= copied and log[offset].user == user and lives:
                    self.look(log[offset], lives, counted, leaves, events)
        return events

    @staticmethod
    def change(command, lives, counted, leaves):
        """lives: name -> [place, inside]; counted: times; leaves: what LEAVEs said."""
        if command.what == FORGET:
            lives.clear()
            counted.clear()
            leaves.clear()
        elif command.what == DELETE:
            lives.pop(command.name, None)
        else:
            if not lives:
                counted.append(command.arrival)
            inside = lives[command.name][1] if command.name in lives else False
            lives[command.name] = [command, inside]

    @staticmethod
    def look(record, lives, counted, leaves, events):
        if record.kind == LEAVE:
            leaves.append(record.opted)
        if record.kind not in (REPORT, JOIN) or record.time == 0 or record.time - record.arrival > AHEAD:
            return
        if any(record.opted <= opted for opted in leaves) or any(record.time < time for time in counted):
            return
        counted.append(record.time)
        blur, left, arrived = max(0, record.accuracy), [], []
        for name in sorted(lives):
            place, inside = lives[name]
            near, far = abs(record.x - place.x) + blur, abs(record.x - place.x) - blur
            if inside and far > place.radius + 50 and far > place.radius * 1.1:
                left.append(name)
            elif not inside and near <= place.radius:
                arrived.append(name)
        for what, names in (('left', left), ('arrived', arrived)):
            for name in names:
                lives[name][1] = what == 'arrived'
                events.append((name, what, record.time, lives[name][0].tell))

    def check_records(self):
        """State is written with events, with changes, and once in a while."""
        for user in range(USERS):
            times = [arrival for number, arrival in self.covered if number == user]
            if any(b - a < COVER for a, b in itertools.pairwise(times)) and len(self.segments) == 1:
                self.wrong('too many states', user, times)
        kept, states = dict(self.topics[EVENTS]), dict(self.topics[STATES])
        for user in range(USERS):
            mine = [command.what for command in self.made if command.user == user]
            if mine and mine[-1] == FORGET and (any(value for key, value in kept.items() if key[0] == user) or states.get(user)):
                self.wrong('kept of who is forgotten', user)

    def check_notices(self):
        notices = set(self.notices)
        if not self.due <= notices:
            self.wrong('not told', sorted(self.due - notices, key=str)[:3])
        if not notices <= self.allowed:
            self.wrong('told', sorted(notices - self.allowed, key=str)[:3])


def histories(first, count, without=()):
    """The violations by seed."""
    return violations_of(World, first, count, without)


if __name__ == '__main__':
    raise SystemExit(main(__doc__, RULES, World))
