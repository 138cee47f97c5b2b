#!/usr/bin/env python3
"""Several devices of a user, as a program: random histories against brute force.

    devices.py [HISTORIES] [--seed FIRST] [--without RULE]...      prints the violations
    devices.py [HISTORIES] --rules                                 a table: each rule left out, and how many histories have violations

What is promised: up to eight sessions of a user show the same exact list of near friends. A report of any of them, or by HTTP, is the user's
place. One that ends leaves the others; only DELETE ends one with 4001. All else is as docs/EXACTNESS.md says; this takes the place of its rule 5.

The design: no session supersedes another. Each is what one was before, an *entry* {number, route, heard} in presence, and gets the same
deliveries by its own route. There is no mirror from edge to edge, no primary, and no new kind of envelope. (In a mirror a list would go through
two edges and twice through Kafka, viewers would learn by silence alone that their primary is gone, and the router would have to tell routes.)

    what                written by   where, and what it says
    REPORT, JOIN,       edge         `locations`, by user: as before, in the session's own number and route. Each is a *word* of the session
      REJOIN, QUIT
    LEAVE               owner        `locations`: as before
    Move, Left, Parted  owner        `deliveries`: one envelope for each route of the user's entries (a Move for two sessions of a route goes once)
    Roster, Digest      owner        `deliveries`: one for each entry, with its number
    Self                owner        `deliveries`: the user's place, to each entry but that of the report, and to one that is behind
    row                 edge         `devices`, compacted, by user: {run, number} -> {name}, a tombstone when the session is over
    beat                edge         `devices`, to each partition: {run}, once a minute. A run is a random number of an edge's process
    end                 gateway      `device-ends`, by user, kept for an hour: {number}. DELETE /v1/devices/{id} is answered when it is acknowledged

    a router keeps      of each user one entry in the slot of presence, as before; of users with several sessions the others, in a table of their own
    the owner keeps     rows and beats on disk, for GET /v1/devices
    an edge keeps       of each session its number and the time of its last word

The rules (routers 1 to 9, edges 10 to 17, devices 18 to 22; a rule that is left out shows a violation):

 1 each      An event of any session counts: by its time for the place, by its number for the entry. Numbers need no order.
 2 quit      A QUIT removes its own entry. A LEAVE removes all; sessions join anew when the user opts in.
 3 routes    Moves, Left and Parted go to the routes of all entries of their recipient.
 4 once      But once to each route.
 5 self      A report that is the user's place is told to the other entries by Self, before the Roster and the Digest of that report.
 6 answers   A JOIN or report that is news is answered to all entries: a partial Roster and a Digest, or the complete Roster of a JOIN. A REJOIN that
             brings no news is answered to its session alone.
 7 older     An event that is older than presence gives its session Self, and if it is a JOIN or REJOIN the complete Roster. So a session
             without a place may come with a JOIN of time 0, to look only.
 8 fades     An entry whose last word came an inactive window ago is forgotten (its QUIT was lost). `heard` is the record's arrival.
 9 most      A user has at most 16 entries, eight and as many that are dead: the one that was silent for longest goes, and nobody is told.
10 word      A session that has said nothing for a third of the inactive window says REJOIN, whether or not its user is active: so routers
             that start know its route, and who is asleep on a desk hears of the phone. It mends rules 8 and 9, too.
11 reroute   As before: a session that gets another route says REJOIN.
12 digest    As before: two Digests in a row that differ are answered by REJOIN, in the session's own name.
13 before    A hello may name the phone's session before. If its edge has not noticed that the phone is gone, that session would be told for
             minutes; so the new edge says QUIT in its number before the JOIN. A record's key is the user: nobody ends another's session so.
14 history   A report older than what the session's place is from goes without a session (as by HTTP). Else rule 7 would answer it.
15 cleared   An opt-out empties the screens of all the user's sessions, each when its edge reads it.
16 hidden    As before: it takes the user off all lists before a Left comes.
17 shown     As before: a friend who is opted out is not shown, whatever comes late.
18 ends      Every edge reads all of `device-ends`, from its own start on, and closes the session with 4001 (and a QUIT).
19 one       An end is for the one number.
20 own       And for a session of the user whose key it has.
21 rows      A session that is over has a tombstone in `devices`.
22 runs      Rows of a run without a beat for three minutes do not count (its edge died); the owner writes their tombstones.

A violation: a screen is not what the last positions say, at once in calm histories, in others after all words are said and the user has
reported twice more; somebody is seen, or sees, longer after an opt-out than edges take to read it; 4001 without a DELETE, or none after one; a
list of devices that is wrong; or more envelopes for users with one device than before.

Deliveries are lost, repeated and late; routes move; edges and routers die; phones lie about time; users share and end it, part, block and mute.
In some histories processes of the version before, where the greatest session wins, are replaced one by one: routers first, then edges.

How it becomes C
- No record and no schema of `locations` and `deliveries` changes: location 1, nearby-item 2. Superseded (a branch) is written no more.
- router/presence.[ch]: the slot stays 40 bytes. Of `left : 16` remain `left : 1`, `more : 1` (there are other entries) and `heard : 14`, in steps of
  2^n ms, a 128th of the inactive window or less. presence_apply takes the record's arrival. PRESENCE_SUPERSEDED goes, PRESENCE_OLDER comes. The sweep spares a
  slot whose session speaks. A slot whose own session says QUIT takes over another entry: approaches.c goes by there being a route, as before.
- router/devices.[ch], new: user -> a chain of the other entries, 16 bytes each, for slots with `more` alone. presence.c calls it; a report of a user with one
  device tests one bit of a word that is at hand, for the user and for each friend who is near.
- router/join.[ch]: `route`, `session`, `self` become an array of answers; beaten_route and older_route go. Recipients are added by route.
  telling.c writes each answer; reports.c loses its branch for superseded; reports that the backlog replaces are of one session (as now).
- fanout/nearby/rival.[ch] is deleted, with `superseded` and `delayed` in uplink.c, which gets rules 10, 13 and 14. A number is given at hello
  (sessions.c), said in `welcome`, and stays; its form is as before, for routers of before. items.c ignores Superseded. nearby.c stays as it is.
- fanout/devices/, a screen: rows, beats, ends. `hello` may say "device" (64 bytes at most) and "before" (a number).
- lib/event/topics.def: `devices` (schemas/device-v1.avsc) and `device-ends` (device-end-v1.avsc), two new ids; programs.c, backup, erasure, export.
- router: a table store of `devices`, a question for GET; ingest/devices: GET and DELETE, openapi.yaml. tests/unit/test_protocol_property.c: the
  numbers lose their order, and all sessions of a user are checked.
- Upgrade: routers, edges, gateways. While a router is old, its users have 4001 as before, and friends of its users may be told on one device
  only. An old edge says no words: a silent session there is forgotten after the inactive window, as it is now. New routers answer its reports of
  before by a Self more. Once the last router is new, words and Digests mend what is left. With edges first nobody gets 4001, but older sessions
  stand still until the routers are new. Downgrade: as the upgrade; old routers go by the greatest number again, and 4001 comes back.
- Costs: a user's further devices cost an envelope each. A silent session costs a record in 200 s, and a look at the friend list while its user is
  active. A slot of presence stays while a silent session speaks, where it would have been swept.
"""
import random
from types import SimpleNamespace

from histories import main, violations_of

RULES = {
    # routers
    'each': "each session of a user has an entry and a route of its own",
    'quit': "a QUIT ends the entry of its own session alone",
    'routes': "what is for a user goes to the routes of all entries",
    'once': "a route is told a Move once, however many of the user's sessions are there",
    'self': "a report is told to the user's other sessions by Self",
    'answers': "a report's Roster and Digest go to each of the user's sessions",
    'older': "a session that is behind presence is told Self",
    'fades': "an entry that was not heard for the inactive window is forgotten",
    'most': "a user has so many entries at most; the one that was silent for longest goes",
    # edges
    'word': "a session that has been silent for a third of the inactive window says REJOIN",
    'reroute': "a session that gets another route says REJOIN",
    'digest': "two differing Digests in a row are answered by REJOIN",
    'before': "a phone that comes again names its session before, and the edge says QUIT for that",
    'history': "a report that is older than the session's own place goes without a session",
    'cleared': "an opt-out empties the screens of all the user's sessions",
    'hidden': "an opt-out takes the user off all lists before the routers say so",
    'shown': "a friend who is opted out is not shown, whatever comes late",
    # devices
    'ends': "every edge reads all ends of sessions",
    'one': "an end is for one session",
    'own': "an end counts for a session of the user who said it",
    'rows': "an edge writes a tombstone for a session that is over",
    'runs': "rows of an edge that has been silent do not count",
}

USERS, PARTITIONS, ROUTERS, EDGES, ROUTES = 5, 2, 2, 3, 5
SESSIONS, ENTRIES = 8, 16
RADIUS, INACTIVE, WORD, BOUND = 10, 60, 20, 3
TICK = 100_000                                  # one unit of time in the protocol's ms
STRIKES = 2
BEAT, SILENT = 2, 6                             # of an edge's run
PING = 8                                        # how long an edge does not notice that a phone is gone
NOWHERE = -1

REPORT, JOIN, REJOIN, QUIT, LEAVE = 'REPORT', 'JOIN', 'REJOIN', 'QUIT', 'LEAVE'


class Event:
    """A record of `locations`."""
    __slots__ = ('history', 'kind', 'opted', 'route', 'session', 'stamp', 'time', 'user', 'x')

    def __init__(self, stamp, kind, user, session, route, x, time, opted, history=False):
        self.stamp, self.kind, self.user, self.session, self.route = stamp, kind, user, session, route
        self.x, self.time, self.opted, self.history = x, time, opted, history


class Slot:
    """A user in presence, with the entries of the user's sessions: number -> [route, heard]."""
    __slots__ = ('beaten', 'entries', 'left', 'opted', 'time', 'x')

    def __init__(self):
        self.x, self.time, self.opted, self.left, self.entries = 0, -1, -1, False, {}
        self.beaten = 0                         # of an old router: the number to beat


class Router:
    def __init__(self, old):
        self.old, self.presence = old, {}
        self.owned = [False] * PARTITIONS
        self.at, self.at_friends, self.at_sharing = [0] * PARTITIONS, [0] * PARTITIONS, [0] * PARTITIONS
        self.off = {}                           # user -> offset of the OFF, as far as the owner has read


class Session:
    def __init__(self, number, user, edge, route, skew, name):
        self.number, self.user, self.edge, self.route, self.skew, self.name = number, user, edge, route, skew, name
        self.open, self.joined, self.rejoin = True, False, False
        self.x, self.time, self.word = 0, 0, 0     # time 0: it has no place yet
        self.held, self.barred, self.strikes = {}, set(), 0
        self.gone = self.replaced = None        # when: its phone went, and came again

    # ---- the list, as nearby.c keeps it ----

    def locate(self, x, time):
        self.x, self.time = x, time
        for friend in [friend for friend, (at, _) in self.held.items() if abs(at - x) > RADIUS]:
            del self.held[friend]

    def upsert(self, friend, x, time):
        if friend in self.barred or (friend in self.held and self.held[friend][1] > time):
            return
        if abs(x - self.x) <= RADIUS:
            self.held[friend] = (x, time)
        else:
            self.held.pop(friend, None)

    def expire(self, now):
        if self.inactive(now):
            self.held = {}
        for friend in [friend for friend, (_, time) in self.held.items() if now - time >= INACTIVE * TICK]:
            del self.held[friend]

    def inactive(self, now):
        return now - self.time >= INACTIVE * TICK


class Edge:
    def __init__(self, old):
        self.old, self.up = old, True
        self.routes, self.sessions, self.run = [], [], 0

    def start(self, run, world):
        """It reads what is compacted to its end before it lets anybody in, and ends from now on."""
        self.up, self.run, self.sessions = True, run, []
        self.on, self.muted = {}, set()
        self.at_sharing, self.at_mutes, self.at_ends = 0, 0, len(world.ends)
        self.beat = -BEAT


class World:
    def __init__(self, seed, without=(), calm=None):
        self.chance = random.Random(seed)
        self.rule = SimpleNamespace(**{rule: rule not in without for rule in RULES})
        chance = self.chance
        self.calm = seed % 5 < 2 if calm is None else calm
        self.loss = 0 if self.calm else chance.choice((0, .02, .2, .2))
        self.now, self.reports, self.runs = 0, 0, 0
        self.old = not self.calm and chance.random() < .25      # processes of before are replaced in this history
        self.logs = [[] for _ in range(PARTITIONS)]
        self.friend_log = [[] for _ in range(PARTITIONS)]       # (user, other, made)
        self.sharing = [[] for _ in range(PARTITIONS)]          # (stamp, user, on); read by edges as one log
        self.all_sharing = []                                   # (stamp, user, offset, on)
        self.mutes, self.ends, self.rows = [], [], []
        self.deliveries, self.read = [[] for _ in range(ROUTES)], [0] * ROUTES
        self.owner_of = [None] * ROUTES
        self.committed = [0] * PARTITIONS
        # the truth
        self.friends, self.muted, self.blocked = set(), set(), set()
        self.on, self.opted, self.off_since = [True] * USERS, [-1] * USERS, [None] * USERS
        self.ended = set()
        self.x = [chance.random() * 40 for _ in range(USERS)]
        self.numbers = set()
        self.lists = set()                                      # what owners have applied of friends
        self.sessions = []                                      # open ones
        self.violations, self.messages = [], 0
        for a in range(USERS):
            self.share(a, True)
            for b in range(a):
                if chance.random() < .7:
                    self.friends |= {(a, b), (b, a)}
        self.lists |= self.friends
        self.edges = [Edge(self.old) for _ in range(EDGES)]
        for edge in self.edges:
            self.start(edge)
        for route in range(ROUTES):
            self.assign(route, self.edges[route % EDGES])
        self.routers = [Router(self.old) for _ in range(ROUTERS)]
        for partition in range(PARTITIONS):
            self.routers[partition % ROUTERS].owned[partition] = True
        self.devices_of = [chance.choice((1, 1, 2, 3, SESSIONS)) for _ in range(USERS)]

    def wrong(self, *what):
        self.violations.append((self.now, *what))

    @property
    def ms(self):
        return (self.now + 2 * INACTIVE) * TICK + TICK - 1

    # ---- routers: presence (rule 1) ----

    def apply(self, router, event):
        """What became of it, and (position, time) before it, if there was one."""
        slot = router.presence.get(event.user)
        before = (slot.x, slot.time) if slot and not slot.left and slot.time >= 0 else None
        if event.kind == LEAVE:
            if slot and event.opted < slot.opted:
                return 'unchanged', before
            slot = router.presence.setdefault(event.user, slot or Slot())
            slot.x, slot.time, slot.opted, slot.left = 0, event.time, event.opted, True
            slot.entries = {}
            return 'left', before
        if event.kind == QUIT:
            if slot and self.rule.quit:
                slot.entries.pop(event.session, None)
            elif slot:
                slot.entries = {}
            return 'unchanged', before
        if slot and slot.left and event.opted <= slot.opted:
            return 'unchanged', before
        single = router.old or not self.rule.each
        if slot and event.session and single and event.session < slot.beaten:
            return 'beaten', before
        slot = router.presence.setdefault(event.user, slot or Slot())
        slot.opted = max(slot.opted, event.opted)
        if event.session:
            if single:
                slot.beaten, slot.entries = event.session, {}
            self.enter(slot, event)
        slot.left = False
        if before is None or slot.time <= event.time:
            slot.x, slot.time = event.x, event.time
            return 'moved', before
        return ('joined' if event.kind in (JOIN, REJOIN) else 'older'), before

    def enter(self, slot, event):
        heard = slot.entries.get(event.session, (0, event.stamp))[1]
        slot.entries[event.session] = (event.route, max(heard, event.stamp))
        if self.rule.most and len(slot.entries) > ENTRIES:
            del slot.entries[min(slot.entries, key=lambda number: slot.entries[number][1])]

    def active(self, slot):
        return slot is not None and not slot.left and slot.time >= 0 and self.ms - slot.time < INACTIVE * TICK

    def sweep(self, router):
        if not self.rule.fades:
            return
        for user, slot in list(router.presence.items()):
            slot.entries = {number: entry for number, entry in slot.entries.items() if self.now - entry[1] < INACTIVE}
            if not slot.entries and self.ms - slot.time >= INACTIVE * TICK:
                del router.presence[user]

    def routes_of(self, slot):
        routes = [route for route, _ in slot.entries.values()]
        if not self.rule.routes:
            return routes[-1:]
        return list(dict.fromkeys(routes)) if self.rule.once else routes

    # ---- routers: joins (rule 2) ----

    def put(self, route, *item):
        self.messages += 1
        if self.chance.random() >= self.loss:
            self.deliveries[route].append(item)
            if self.loss and self.chance.random() < .05:
                self.deliveries[route].append(self.chance.choice(self.deliveries[route][-8:]))

    def put_all(self, slot, *item):
        for route in self.routes_of(slot):
            self.put(route, *item)

    def refused(self, router, partition, event):
        """The owner's copy of sharing says OFF, and the report was checked against nothing newer."""
        off = router.off.get(event.user)
        if event.kind in (LEAVE, QUIT) or off is None or event.opted > off:
            return False
        slot = router.presence.get(event.user)
        if slot is None or not slot.left:
            self.leave(event.user, off)
            self.apply(router, Event(self.now, LEAVE, event.user, 0, NOWHERE, 0, self.ms, off))
        return True

    def leave(self, user, offset):
        self.logs[user % PARTITIONS].append(Event(self.now, LEAVE, user, 0, NOWHERE, 0, self.ms, offset))

    def join(self, router, partition, event):
        if self.refused(router, partition, event):
            return
        messages, user = self.messages, event.user
        older = router.presence.get(user)
        older = dict(older.entries) if older else {}
        change, before = self.apply(router, event)
        slot = router.presence.get(user)
        if router.old:
            self.supersede(change, event, slot, older)
        one = not router.old and all(len(slot.entries) <= 1 for slot in router.presence.values())
        if change == 'left':
            for friend in range(USERS):
                if (user, friend) in self.lists and friend in router.presence:
                    self.put_all(router.presence[friend], 'LEFT', friend, user)
            return
        if change == 'older' and event.session and self.rule.older and not router.old:
            self.put(event.route, 'SELF', user, event.session, slot.x, slot.time)
            if one and event.history:
                self.wrong('an old report costs more', user)
        if change in ('unchanged', 'beaten', 'older') or not self.active(slot):
            return
        had = before is not None and self.ms - before[1] < INACTIVE * TICK and before[1] < event.time
        everyone = event.kind in (JOIN, REJOIN) or not had
        roster, near, told = [], set(), 0
        for friend in range(USERS):
            other = router.presence.get(friend)
            if (user, friend) not in self.lists or not self.active(other):
                continue
            is_near = abs(other.x - slot.x) <= RADIUS
            was_near = had and abs(other.x - before[0]) <= RADIUS
            if is_near or was_near:
                routes = self.routes_of(other)
                if len(set(routes)) < len(routes):
                    self.wrong('a route is told twice', user, friend)
                for route in routes:
                    self.put(route, 'MOVE', friend, user, slot.x, slot.time)
                told += bool(other.entries)
            if is_near:
                near.add(friend)
                if everyone or not was_near:
                    roster.append((friend, other.x, other.time))
        self.answer(event, change, before, slot, everyone, roster, near)
        if one and event.kind != JOIN:
            told += bool(slot.entries) * ((event.session == 0) + (everyone or bool(roster)) + (not everyone)
                                          + (change == 'joined' and self.rule.older))
            if self.messages - messages != told:
                self.wrong('one device costs more', user, self.messages - messages, told)

    def supersede(self, change, event, slot, older):
        """As routers of before do it."""
        if change == 'beaten':
            self.put(event.route, 'SUPERSEDED', event.user, slot.beaten)
        for number, (route, _) in older.items():
            if event.session > number:
                self.put(route, 'SUPERSEDED', event.user, event.session)

    def answer(self, event, change, before, slot, everyone, roster, near):
        """To all sessions of the user; a repair that brings no news, and a session that is behind, to that one alone."""
        alone = change == 'joined' or (event.kind == REJOIN and before is not None and before[1] >= event.time)
        for number, (route, _) in list(slot.entries.items()):
            mine = number == event.session
            if alone and not mine:
                continue
            if (not mine and (self.rule.self or not event.session)) or (mine and change == 'joined' and self.rule.older):
                self.put(route, 'SELF', event.user, number, slot.x, slot.time)
            if not mine and event.session and not self.rule.answers:
                continue
            if everyone or roster:
                self.put(route, 'ROSTER', event.user, number, everyone, roster)
            if not everyone and not self.calm:
                self.put(route, 'DIGEST', event.user, number, slot.time, near)
            elif not everyone:
                self.messages += 1              # calm histories must need none

    def befriended(self, router, user, other, made):
        (self.lists.add if made else self.lists.discard)((user, other))
        slot, their = router.presence.get(user), router.presence.get(other)
        if slot is None:
            return
        if not made:
            self.put_all(slot, 'PARTED', user, other)
            return
        entry = (other, their.x, their.time) if self.active(slot) and self.active(their) else (other, 0, -1)
        for number, (route, _) in slot.entries.items():
            self.put(route, 'ROSTER', user, number, False, [entry])

    # ---- routers: reading, and take-overs ----

    def router_step(self, router):
        behind = []
        for p in range(PARTITIONS):
            if router.at[p] < len(self.logs[p]):
                behind.append((self.router_locations, p))
            if router.owned[p] and router.at_friends[p] < len(self.friend_log[p]):
                behind.append((self.router_friends, p))
            if router.owned[p] and router.at_sharing[p] < len(self.sharing[p]):
                behind.append((self.router_sharing, p))
        if not behind:
            return False
        step, p = self.chance.choice(behind)
        step(router, p)
        return True

    def router_locations(self, router, p):
        event = self.logs[p][router.at[p]]
        router.at[p] += 1
        if not router.owned[p]:
            self.apply(router, event)
            return
        self.join(router, p, event)
        if self.chance.random() < .3:
            self.committed[p] = max(self.committed[p], router.at[p])

    def router_friends(self, router, p):
        change = self.friend_log[p][router.at_friends[p]]
        router.at_friends[p] += 1
        self.befriended(router, *change)

    def router_sharing(self, router, p):
        offset = router.at_sharing[p]
        _, user, on = self.sharing[p][offset]
        router.at_sharing[p] += 1
        if on:
            router.off.pop(user, None)
        else:
            router.off[user] = offset
            self.leave(user, offset)

    def own(self, router, p, former):
        """Friends and opt-ins are restored first; effects may be repeated."""
        router.owned[p], former.owned[p] = True, False
        router.at[p] = min(router.at[p], self.committed[p])
        router.at_friends[p] = former.at_friends[p]
        router.at_sharing[p] = self.chance.randint(0, former.at_sharing[p])
        for user in range(p, USERS, PARTITIONS):
            router.off.pop(user, None)
        for offset, (_, user, on) in enumerate(self.sharing[p]):
            if on:
                router.off.pop(user, None)
            else:
                router.off[user] = offset

    def take_over(self, dead):
        """A router dies, and the other takes its partitions; it starts again with the records of the inactive window."""
        other = next(router for router in self.routers if router is not dead)
        for p in range(PARTITIONS):
            if dead.owned[p]:
                self.own(other, p, dead)
        dead.presence = {}
        for p in range(PARTITIONS):
            dead.at[p] = self.committed[p] if not self.calm and self.chance.random() < .5 else len(self.logs[p])
            for event in self.logs[p][:dead.at[p]]:
                if self.now - event.stamp < INACTIVE:
                    self.apply(dead, event)
        self.sweep(dead)
        for p in range(PARTITIONS):
            if self.chance.random() < .5 and other.owned[p]:
                self.own(dead, p, other)

    # ---- edges: routes, and lives ----

    def start(self, edge):
        self.runs += 1
        edge.start(self.runs, self)
        while self.edge_reads(edge, 'sharing') or self.edge_reads(edge, 'mutes'):
            pass
        self.beat(edge)

    def assign(self, route, edge):
        """It is read from its end."""
        former = self.owner_of[route]
        if former is edge:
            return
        if former is not None:
            former.routes.remove(route)
        self.owner_of[route] = edge
        if edge is not None:
            edge.routes.append(route)
        self.read[route] = len(self.deliveries[route])
        for session in list(former.sessions) if former is not None else ():
            if session.route == route:
                self.reroute(session)

    def reroute(self, session):
        if not session.edge.routes:
            self.close(session, quit_said=session.joined)
            return
        session.route = self.chance.choice(session.edge.routes)
        session.rejoin = self.rule.reroute

    def crash(self, edge):
        """Its sessions end, and no record says so."""
        for session in edge.sessions:
            session.open = False
        self.sessions = [session for session in self.sessions if session.open]
        edge.sessions, edge.up = [], False
        others = [other for other in self.edges if other.up]
        for route in list(edge.routes):
            self.assign(route, self.chance.choice(others) if others and self.chance.random() < .5 else None)

    def restart(self, edge):
        self.start(edge)
        for route in self.chance.sample(range(ROUTES), 2):
            if self.owner_of[route] is None or len(self.owner_of[route].routes) > 1:
                self.assign(route, edge)
        if not edge.routes:
            self.assign(self.chance.randrange(ROUTES), edge)

    def beat(self, edge):
        if self.now - edge.beat >= BEAT:
            edge.beat = self.now
            self.rows.append(('run', edge.run, None, self.now))

    # ---- edges: what goes up ----

    def log(self, session, kind, x, time, number=None, history=False):
        """A record of `locations`. Every record of a session is a word of it."""
        number = session.number if number is None else number
        opted = session.edge.on.get(session.user, -1)
        self.logs[session.user % PARTITIONS].append(
            Event(self.now, kind, session.user, number, session.route if number else NOWHERE, x, time, opted, history))
        if number:
            session.word = self.now

    def shares(self, session):
        return session.user in session.edge.on

    def open(self, user, before=None):
        edges = [edge for edge in self.edges if edge.up and edge.routes]
        if not edges or sum(session.user == user for session in self.sessions) >= SESSIONS:
            return
        edge, number = self.chance.choice(edges), 0
        while not number or number in self.numbers:             # the clocks of edges differ
            number = self.chance.randrange(1, 1 << 30)
        self.numbers.add(number)
        session = Session(number, user, edge, self.chance.choice(edge.routes), self.chance.choice((0, 0, 0, 1, 3)), f'device {number % 9}')
        session.word = self.now
        edge.sessions.append(session)
        self.sessions.append(session)
        self.rows.append(('row', edge.run, (user, number), session.name))
        if before and not edge.old and self.shares(session):
            before.replaced = self.now
            if self.rule.before:
                self.log(session, QUIT, 0, 0, before.number)
        if edge.old or self.chance.random() < .8:
            self.report(session)
        else:
            self.come(session)                                  # it only looks

    def time_of(self, skew):
        self.reports += 1
        return (max(0, self.now - skew) + 2 * INACTIVE) * TICK + self.reports

    def report(self, session, old=False):
        """The phone says where it is; or, for history, where it was."""
        x, time = self.x[session.user], self.time_of(session.skew)
        if old and session.joined:
            time, x = max(0, session.time - self.chance.randint(1, 3 * TICK)), self.chance.random() * 40
        if session.time > time and session.joined:
            if self.shares(session):
                self.log(session, REPORT, x, time, 0 if self.rule.history and not session.edge.old else None, not session.edge.old)
            return
        if time >= session.time:
            session.locate(x, time)
        if session.joined and self.shares(session):
            self.log(session, REPORT, session.x, session.time)
        else:
            self.come(session)

    def come(self, session):
        if self.shares(session):
            session.joined = True
            self.log(session, JOIN, session.x, session.time)

    def report_by_http(self, user):
        if self.on[user]:
            self.logs[user % PARTITIONS].append(
                Event(self.now, REPORT, user, 0, NOWHERE, self.x[user], self.time_of(0), self.opted[user]))

    def rejoin(self, session):
        session.rejoin = False
        if session.joined and self.shares(session):
            self.log(session, REJOIN, session.x, session.time)

    def close(self, session, quit_said=True):
        session.open = False
        session.edge.sessions.remove(session)
        self.sessions.remove(session)
        if quit_said and session.joined:
            self.log(session, QUIT, session.x, session.time)
        if self.rule.rows:
            self.rows.append(('row', session.edge.run, (session.user, session.number), None))

    def words(self, edge):
        for session in list(edge.sessions):
            if session.gone is not None and self.now - session.gone >= PING:
                self.close(session)
            elif session.rejoin or (self.rule.word and not edge.old and session.joined and self.now - session.word >= WORD):
                self.rejoin(session)

    # ---- edges: what comes down (rule 3) ----

    def edge_step(self, edge):
        behind = [route for route in edge.routes if self.read[route] < len(self.deliveries[route])]
        others = [what for what in ('sharing', 'mutes', 'ends') if self.is_behind(edge, what)]
        if not edge.up or not behind + others:
            return False
        what = self.chance.choice(behind + others)
        if isinstance(what, str):
            self.edge_reads(edge, what)
            return True
        item = self.deliveries[what][self.read[what]]
        self.read[what] += 1
        for session in list(edge.sessions):
            if session.user == item[1] and session.route == what:
                self.receive(session, *item)
        return True

    def log_of(self, what):
        return {'sharing': self.all_sharing, 'mutes': self.mutes, 'ends': self.ends}[what]

    def is_behind(self, edge, what):
        return getattr(edge, 'at_' + what) < len(self.log_of(what))

    def edge_reads(self, edge, what):
        if not self.is_behind(edge, what):
            return False
        log, at = self.log_of(what), getattr(edge, 'at_' + what)
        setattr(edge, 'at_' + what, at + 1)
        if what == 'mutes':
            _, user, other, muted = log[at]
            (edge.muted.add if muted else edge.muted.discard)((user, other))
        elif what == 'ends':
            self.edge_ends(edge, *log[at][1:])
        elif self.calm or self.chance.random() < .8 or all(later[1] != log[at][1] for later in log[at + 1:]):
            self.edge_shares(edge, *log[at][1:])                # else: compacted away
        return True

    def edge_shares(self, edge, user, offset, on):
        mine = [session for session in edge.sessions if session.user == user]
        if on:
            edge.on[user] = offset
            for session in mine:
                if not session.joined:
                    session.barred = set()
                    self.come(session)
            return
        edge.on.pop(user, None)
        for session in mine:
            session.joined = False
            if self.rule.cleared:
                session.held = {}
        for session in edge.sessions if self.rule.hidden else ():
            session.held.pop(user, None)

    def edge_ends(self, edge, user, number):
        for session in list(edge.sessions):
            if session.user != user and self.rule.own:
                continue
            if session.number == number or (session.number < number and not self.rule.one):
                self.end(session)

    def end(self, session):
        """Closes it with 4001."""
        if (session.user, session.number) not in self.ended:
            self.wrong('4001', session.user, session.number)
        self.close(session)

    def seen(self, session, friend, time):
        return time >= 0 and self.ms - time < INACTIVE * TICK and (friend in session.edge.on or not self.rule.shown)

    def receive(self, session, kind, user, *item):
        if kind == 'LEFT':
            session.held.pop(item[0], None)
        elif kind == 'PARTED':
            session.held.pop(item[0], None)
            session.barred.add(item[0])
        elif kind == 'END':
            if item[0] == session.number:
                self.end(session)
        elif kind == 'SUPERSEDED':
            if session.edge.old and session.number < item[0]:
                self.close(session, quit_said=False)
        elif not self.shares(session):
            return
        elif kind == 'MOVE':
            friend, x, time = item
            if not session.inactive(self.ms) and self.seen(session, friend, time):
                session.upsert(friend, x, time)
        elif item[0] != session.number:
            return
        elif kind == 'SELF':
            if item[2] > session.time:
                session.locate(*item[1:])
        elif kind == 'ROSTER':
            self.roster(session, *item[1:])
        else:
            self.digest(session, *item[1:])

    def roster(self, session, complete, friends):
        named = set()
        for friend, x, time in friends:
            session.barred.discard(friend)
            if not session.inactive(self.ms) and self.seen(session, friend, time):
                session.upsert(friend, x, time)
                named.add(friend)
        if complete:
            session.held = {friend: held for friend, held in session.held.items() if friend in named}

    def digest(self, session, time, near):
        session.expire(self.ms)
        if time != session.time or not self.rule.digest:
            return
        session.strikes = 0 if set(session.held) == near else session.strikes + 1
        if session.strikes >= STRIKES:
            session.strikes = 0
            self.rejoin(session)

    # ---- users ----

    def share(self, user, on):
        log = self.sharing[user % PARTITIONS]
        self.on[user], self.off_since[user] = on, None if on else self.now
        if on:
            self.opted[user] = len(log)
        self.all_sharing.append((self.now, user, len(log), on))
        log.append((self.now, user, on))

    def befriend(self, a, b, made):
        for pair in ((a, b), (b, a)):
            (self.friends.add if made else self.friends.discard)(pair)
            self.friend_log[pair[0] % PARTITIONS].append((*pair, made))

    def meet(self):
        a, b = self.chance.sample(range(USERS), 2)
        if self.chance.random() < .4:
            (self.blocked.discard if (a, b) in self.blocked else self.blocked.add)((a, b))
            if (a, b) in self.blocked and (a, b) in self.friends:
                self.befriend(a, b, False)
        elif not self.blocked & {(a, b), (b, a)}:
            self.befriend(a, b, (a, b) not in self.friends)

    def mute(self):
        a, b = self.chance.sample(range(USERS), 2)
        (self.muted.discard if (a, b) in self.muted else self.muted.add)((a, b))
        self.mutes.append((self.now, a, b, (a, b) in self.muted))

    def delete(self, user, session=None):
        """DELETE /v1/devices/{id}: of one's own session, or of what somebody says is one."""
        if session is None:
            mine = [session for session in self.sessions if session.user == user]
            session = self.chance.choice(mine or self.sessions) if self.sessions else None
        if session is None or self.old:
            return
        self.ended.add((user, session.number))
        if self.rule.ends:
            self.ends.append((self.now, user, session.number))
            return
        for router in self.routers:
            slot = router.presence.get(user)
            if router.owned[user % PARTITIONS] and slot and session.number in slot.entries:
                self.put(slot.entries[session.number][0], 'END', user, session.number)

    def move(self, user):
        self.x[user] += self.chance.choice((self.chance.gauss(0, 3), self.chance.gauss(0, .5),
                                            self.chance.choice((0, 0, self.chance.uniform(-25, 25)))))

    def flood(self, user):
        """A phone in a tunnel: it connects again and again, and no edge hears it go."""
        for _ in range(ENTRIES + 4):
            self.open(user)
            session = next((session for session in reversed(self.sessions) if session.user == user), None)
            if session:
                self.close(session, quit_said=False)

    def replace(self):
        """The next process of before by one of now: routers first, then edges. Until the last is replaced, nobody says DELETE."""
        for router in self.routers:
            if router.old:
                router.old = False
                self.take_over(router)
                return
        for edge in self.edges:
            if edge.old:
                edge.old = False
                for session in list(edge.sessions):
                    self.close(session)
                if edge.up:
                    self.crash(edge)
                self.restart(edge)
                self.old = any(other.old for other in self.edges)
                return

    # ---- time ----

    def advance(self, units):
        for _ in range(units):
            self.now += 1
            for router in self.routers:
                self.sweep(router)
            for edge in self.edges:
                if not edge.up:
                    continue
                for what in ('sharing', 'mutes', 'ends'):
                    while self.is_behind(edge, what) and self.log_of(what)[getattr(edge, 'at_' + what)][0] < self.now - BOUND + 1:
                        self.edge_reads(edge, what)
                self.words(edge)
                self.beat(edge)
                for session in edge.sessions:
                    session.expire(self.ms)
            self.look()
            if self.calm:
                self.drain()

    def drain(self):
        moving = True
        while moving:
            moving = False
            for edge in self.edges:
                if edge.up:
                    for session in edge.sessions:
                        if session.rejoin:
                            self.rejoin(session)
            for router in self.chance.sample(self.routers, ROUTERS):
                moving |= self.router_step(router)
            for edge in self.edges:
                moving |= self.edge_step(edge)

    # ---- a history ----

    def step(self):
        chance, user = self.chance, self.chance.randrange(USERS)
        if self.old and chance.random() < .03:
            self.replace()
        mine = [session for session in self.sessions if session.user == user and session.gone is None]
        roll = chance.random()
        if roll < .3:
            self.live(user, mine)
        elif roll < .5:
            self.router_step(chance.choice(self.routers))
        elif roll < .72:
            self.edge_step(chance.choice(self.edges))
        elif roll < .76 and mine:
            self.close(chance.choice(mine), quit_said=chance.random() < .7)
        elif roll < .78:
            self.open(user)
        elif roll < .8 and mine:
            session = chance.choice(mine)
            session.gone = self.now
            self.open(user, session if chance.random() < .8 else None)
        elif roll < .84:
            self.advance(chance.choice((1, 1, 5, 20, 60)))
        elif roll < .87:
            self.report_by_http(user)
        elif roll < .9:
            self.share(user, not self.on[user])
        elif roll < .93:
            self.meet()
        elif roll < .95:
            self.mute()
        else:
            self.trouble(user)

    def live(self, user, mine):
        if not mine or (len(mine) < self.devices_of[user] and self.chance.random() < .3):
            self.open(user)
            return
        session = self.chance.choice(mine[:2])
        if self.chance.random() < .1:
            self.report(session, old=True)
            return
        self.move(user)
        self.report(session)
        if self.chance.random() < .3:
            self.advance(1)

    def trouble(self, user):
        chance, roll = self.chance, self.chance.random()
        edge = chance.choice(self.edges)
        if roll < .25:
            self.take_over(chance.choice(self.routers))
        elif roll < .45:
            up = [edge for edge in self.edges if edge.up]
            self.assign(chance.randrange(ROUTES), chance.choice(up) if up else None)
        elif roll < .6:
            if edge.up:
                self.crash(edge)
            else:
                self.restart(edge)
        elif roll < .8:
            self.delete(user)
        elif roll < .85:
            if not self.calm:                                   # one that is there may have to go until its next word
                self.flood(user)
        elif self.sessions:                                     # somebody names the session of another
            self.delete(user, chance.choice(self.sessions))

    def run(self):
        for _ in range(self.chance.randint(40, 200)):
            self.step()
            if self.calm:
                self.drain()
                self.check('calm')
            self.look()
            if self.violations:
                break
        else:
            self.settle()
        return self.violations

    def settle(self):
        """All that is under way comes, sessions have said their word, and every active user reports twice, by any device."""
        self.calm = False
        while self.old:
            self.replace()
        for edge in self.edges:
            if not edge.up:
                self.restart(edge)
        self.drain()
        for _ in range(WORD + 1):
            self.advance(1)
            self.drain()
        silent = {user for user in range(USERS) if self.chance.random() < .15}
        for moves in (True, False, False):                      # the last reports of before, and two more
            self.loss = self.loss if moves else 0
            for user in range(USERS):
                mine = [session for session in self.sessions if session.user == user and session.gone is None]
                place = self.place(user)
                if moves:
                    self.move(user)
                if user not in silent and mine and self.chance.random() < .8:
                    self.report(self.chance.choice(mine))
                elif self.on[user] and place and self.ms - place[1] < INACTIVE * TICK:
                    self.report_by_http(user)
            self.drain()
            self.advance(4)
            self.drain()
        self.check('settled')
        self.check_devices()

    # ---- judging ----

    def place(self, user):
        """(x, time) of the newest report that the user's consent covers."""
        reports = [event for event in self.logs[user % PARTITIONS]
                   if event.user == user and event.kind not in (QUIT, LEAVE) and event.opted >= self.opted[user]]
        if not self.on[user] or not reports:
            return None
        newest = max(reports, key=lambda event: event.time)
        return newest.x, newest.time

    def places(self):
        places = [self.place(user) for user in range(USERS)]
        return [place if place and self.ms - place[1] < INACTIVE * TICK else None for place in places]

    def check(self, when):
        places = self.places()
        for session in self.sessions:
            session.expire(self.ms)
            if session.gone is not None:
                if session.replaced is not None and session.word < session.replaced:
                    self.check_replaced(when, session)
                continue
            place = places[session.user]
            expected = {}
            for friend in range(USERS) if place else ():
                other = places[friend]
                if (session.user, friend) in self.friends and other and abs(other[0] - place[0]) <= RADIUS:
                    expected[friend] = other[0]
            shown = {friend: at for friend, (at, _) in session.held.items() if (session.user, friend) not in session.edge.muted}
            expected = {friend: at for friend, at in expected.items() if (session.user, friend) not in self.muted}
            if shown != expected:
                self.wrong(when, session.user, session.number, shown, expected)

    def check_replaced(self, when, session):
        for router in self.routers:
            slot = router.presence.get(session.user)
            if slot and session.number in slot.entries:
                self.wrong(when, 'told though replaced', session.user, session.number)

    def look(self):
        """Nobody sees a user who opted out a while ago, nor does that user see anybody; tables stay small."""
        for user in range(USERS):
            since = self.off_since[user]
            if since is None or self.now - since <= BOUND:
                continue
            for session in self.sessions:
                if user in session.held or (session.user == user and session.held):
                    self.wrong('seen after the opt-out', user, session.user)
        for router in self.routers:
            for user, slot in router.presence.items():
                if len(slot.entries) > ENTRIES:
                    self.wrong('too many entries', user)

    def check_devices(self):
        for user, number in self.ended:
            if any(session.user == user and session.number == number for session in self.sessions):
                self.wrong('not ended', user, number)
        for router in self.routers:
            for user, slot in router.presence.items():
                for number, (_, heard) in slot.entries.items():
                    if self.now - heard >= INACTIVE:
                        self.wrong('an old entry', user, number)
        names, heard = {}, {}
        for kind, run, key, value in self.rows:
            if kind == 'run':
                heard[run] = value
            elif value is None:
                names.pop((run, *key), None)
            else:
                names[run, *key] = value
        listed = {(user, number): name for (run, user, number), name in names.items()
                  if self.now - heard[run] <= SILENT or not self.rule.runs}
        there = {(session.user, session.number): session.name for session in self.sessions}
        if listed != there:
            self.wrong('devices', listed, there)


def histories(first, count, without=()):
    """The violations by seed."""
    return violations_of(World, first, count, without)


if __name__ == '__main__':
    raise SystemExit(main(__doc__, RULES, World))
