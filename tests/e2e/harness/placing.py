"""Places of users, and arrivals by brute force: the reports in the order of the log, and changes of places at the offsets that the topics name."""
import collections
import random

from .geo import distance_m, e7
from .records import decode, key_users, partition_of, user_key
from .waiting import eventually, now_ms

MOST, KEPT, AHEAD_MS, MARGIN_M = 50, 10000, 60000, 50
NOTHING = {'name': '', 'lat': 0, 'lng': 0, 'radius': 0, 'friends': False, 'users': []}
Event = collections.namedtuple('Event', 'place name what time friends users offset')
Change = collections.namedtuple('Change', 'command since')


class Placing:
    """
    placing = Placing(cluster)                       # started with places=1 or more
    placing.put(7, 'home', 39.98, 116.31, 100)       # a wish, as a gateway writes it
    placing.report(7, 39.98, 116.31)
    placing.settle()                                 # all is decided
    placing.check()                                  # place-events are what the function gives; how many there are
    """

    def __init__(self, cluster, wall=True):
        self.cluster, self.topics, self.wall = cluster, cluster.topics, wall
        self.sent = collections.Counter()

    # ---- writing ----

    def command(self, kind, user, id='', **fields):
        self.sent['changes'] += 1
        return self.topics.produce('place-commands', user, ('place-command', {'kind': kind, 'user': user, 'id': id, **NOTHING, **fields}))

    def put(self, user, id, lat, lng, radius, **fields):
        return self.command('PUT', user, id, **{'name': id.title(), 'lat': e7(lat), 'lng': e7(lng), 'radius': radius, **fields})

    def delete(self, user, id):
        return self.command('DELETE', user, id)

    @staticmethod
    def location(user, lat, lng, time=None, kind='REPORT', accuracy=-1, opted=0):
        return user, ('location', {'user': user, 'lat': e7(lat), 'lng': e7(lng), 'time': now_ms() if time is None else time, 'kind': kind,
                                   'session': 0, 'route': -1, 'opted': opted, 'accuracy': accuracy})

    def report(self, user, lat, lng, **fields):
        return self.topics.produce('locations', *self.location(user, lat, lng, **fields))

    def reports(self, locations):
        self.topics.produce_all('locations', locations)

    # ---- waiting ----

    def settle(self, timeout=60):
        """Everything that was written is decided: a place that is made after all of it is there, and a report after that is judged."""
        ends = self.topics.ends('locations'), self.topics.ends('place-commands')
        markers = {}
        while len(markers) < len(ends[0]):
            user = random.randrange(1 << 40, 1 << 41)
            markers.setdefault(partition_of(user_key(user), len(ends[0])), user)
        for user in markers.values():
            self.put(user, 'marker', 0, 0, 50)
        eventually(lambda: set(markers.values()) <= {key_users(key[:8])[0] for key in self.topics.latest('places')}, timeout,
                   what='all changes are decided')
        time = now_ms() if self.wall else 1
        self.reports([self.location(user, 0, 0, time=time) for user in markers.values()])
        eventually(lambda: set(markers.values()) <= {key_users(key)[0] for key in self.topics.latest('place-events')}, timeout,
                   what='all reports are judged')

    # ---- the function ----

    def changes(self):
        """{user: [Change]}: those that led to something, in their order. Each is in the state that is written with it; other states have a new
        number, or (of those that cover the newest report) come with no change: clusters here do not cover."""
        commands = collections.defaultdict(list)
        has = collections.defaultdict(set)
        known = set()
        for m in self.topics.read('place-commands'):
            command = {**decode(m.value), 'arrival': m.timestamp}
            user, mine = command['user'], has[command['user']]
            if command['kind'] == 'FORGET' and user in known:
                known.discard(user)
                mine.clear()
            elif command['kind'] == 'DELETE' and command['id'] in mine:
                mine.discard(command['id'])
            elif command['kind'] == 'PUT' and (command['id'] in mine or len(mine) < MOST):
                mine.add(command['id'])
                known.add(user)
            else:
                continue
            commands[user].append(command)
        found, last = collections.defaultdict(list), {}
        for m in self.topics.read('place-states'):
            (user,), state = key_users(m.key), decode(m.value)
            before, last[user] = last.get(user), state
            if state and not (before and state['number'] != before['number']):
                assert len(found[user]) < len(commands[user]), f'{user} has a state too many: {state}'
                found[user].append(Change(commands[user][len(found[user])], state['offset']))
        assert {user: len(made) for user, made in commands.items()} == {user: len(made) for user, made in found.items() if made}
        return found

    def expected(self, reports, changes):
        """Of a user's reports [(offset, arrival, location)]."""
        events, places, inside, newest, left, waiting = [], {}, set(), 0, -1, list(changes)
        for offset, arrival, report in reports:
            while waiting and waiting[0].since <= offset:
                command = waiting.pop(0).command
                if command['kind'] == 'PUT':
                    if not places and self.wall:
                        newest = max(newest, command['arrival'])
                    places[command['id']] = command
                elif command['kind'] == 'DELETE':
                    del places[command['id']]
                    inside.discard(command['id'])
                else:
                    places, inside, newest, left = {}, set(), 0, -1
            if not places:
                continue
            if report['kind'] == 'LEAVE':
                left = max(left, report['opted'])
            if report['kind'] not in ('REPORT', 'JOIN') or not report['time'] or (self.wall and report['time'] > arrival + AHEAD_MS):
                continue
            if report['time'] < newest or (left >= 0 and report['opted'] <= left):
                continue
            newest, blur = report['time'], max(0, report['accuracy'])
            turned = []
            for id, place in sorted(places.items()):
                away = distance_m(*(value / 1e7 for value in (report['lat'], report['lng'], place['lat'], place['lng'])))
                radius = place['radius']
                if id in inside and away - blur > radius + max(MARGIN_M, radius / 10):
                    turned.append(('LEFT', id, place))
                elif id not in inside and away + blur <= radius:
                    turned.append(('ARRIVED', id, place))
            for what, id, place in sorted(turned, key=lambda turn: turn[0] != 'LEFT'):
                (inside.add if what == 'ARRIVED' else inside.discard)(id)
                events.append(Event(id, place['name'], what, report['time'], place['friends'], tuple(place['users']), offset))
        return events

    def check(self, changes=None):
        """Returns how many events there are; of users who were forgotten in between, of those that were ever written."""
        changes = changes or self.changes()
        reports, found, numbers = collections.defaultdict(list), collections.defaultdict(list), collections.defaultdict(list)
        for m in self.topics.read('locations'):
            if len(m.key) == 8 and m.value[:1] == b'\0' and key_users(m.key)[0] in changes:
                reports[key_users(m.key)[0]].append((m.offset, m.timestamp, decode(m.value)))
        for m in self.topics.read('place-events'):
            (user, number), event = key_users(m.key), decode(m.value)
            if event:
                numbers[user].append(number)
                found[user].append(Event(**{**event, 'users': tuple(event['users'])}))
        assert set(found) <= set(changes)
        for user, made in changes.items():
            expected = self.expected(reports[user], made)
            assert found[user] == expected, (
                f'{user}: {next(((a, b) for a, b in zip(found[user], expected, strict=False) if a != b), None)}; '
                f'{len(found[user])} events for {len(expected)}')
            rising = all(a < b for a, b in zip(numbers[user], numbers[user][1:], strict=False))
            assert rising, f'{user}: {numbers[user]}'
        return sum(map(len, found.values()))
