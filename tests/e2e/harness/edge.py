"""An edge without routers: a test plays the routers itself, reading `locations` and writing `deliveries`."""
from .geo import e7
from .records import decode, encode
from .waiting import PATIENCE, eventually


class Stage:
    """A cluster of edges only. The words of phones are read by `said`, those of routers are written by `deliver`.

    stage = Stage(make_cluster(settings={...}))
    """

    def __init__(self, cluster, fanouts=1):
        self.cluster, self.topics = cluster, cluster.topics
        cluster.start(ingests=0, routers=0, fanouts=fanouts, sinks=0)

    @property
    def edge(self):
        return self.cluster.fanouts[0]

    def share(self, *users, mode='FRIENDS') -> dict:
        """Opts users in or out, waits until every edge has read it; {user: the record's offset}."""
        offsets = {user: self.topics.produce('sharing', user, ('sharing', {'mode': mode})).offset for user in users}
        written = sum(self.topics.ends('sharing').values())
        for edge in self.cluster.fanouts:
            if edge.alive():
                eventually(lambda e=edge: e.total('starling_copies_records_total', topic='sharing') >= written,
                           what=f'{edge.name} has read sharing')
        return offsets

    def said(self, user) -> list[dict]:
        """The locations of a user so far, in order."""
        records = [decode(m.value) for m in self.topics.read('locations')]
        return [record for record in records if record['user'] == user]

    def kinds(self, user) -> list[str]:
        return [record['kind'] for record in self.said(user)]

    def wait_said(self, user, kind, count=1, timeout=10.0 * PATIENCE) -> dict:
        """Waits for the count-th record of that kind; returns it."""
        def there():
            found = [record for record in self.said(user) if record['kind'] == kind]
            assert len(found) >= count, f'{user} said {self.kinds(user)}'
            return found[count - 1]
        return eventually(there, timeout)

    def _items_read(self) -> float:
        return sum(edge.total('starling_edge_delivery_items_total') for edge in self.cluster.fanouts if edge.alive())

    def deliver(self, route, *items, stream_time=0, oldest_received=0):
        """A DeliveryBatch of (kind, fields) items, as move(), roster() and the others make them, or of envelopes. Returns
        when it was read."""
        wanted = self._items_read() + len(items)
        batch = encode('delivery-batch', {'stream_time': stream_time, 'oldest_received': oldest_received, 'items': items})
        self.topics.produce('deliveries', None, batch, partition=route)
        eventually(lambda: self._items_read() >= wanted, what=f'the edge has read {items}')

    def join(self, phone, lat, lng, friends=(), **hello) -> dict:
        """Says hello with that phone and answers as a router: a complete Roster. Returns the JOIN; the page has come."""
        count = self.kinds(phone.user).count('JOIN')
        phone.hello(lat, lng, wait=False, **hello)
        join = self.wait_said(phone.user, 'JOIN', count + 1)
        self.deliver(join['route'], roster(join, friends))
        phone.expect('welcome')
        phone.expect('nearby')
        return join


def place(user, at, time) -> dict:
    return {'user': user, 'lat': e7(at[0]), 'lng': e7(at[1]), 'time': time}


def move(user, at, time, *recipients):
    return 'Move', {**place(user, at, time), 'recipients': list(recipients)}


def roster(join, friends, complete=True):
    """friends: (user, (lat, lng), time), for the session of a location record."""
    return 'Roster', {'recipient': join['user'], 'session': join['session'], 'complete': complete,
                      'friends': [place(*friend) for friend in friends]}


def digest(join, time, *friends):
    count, total = len(friends), sum(map(mix, friends)) & _MASK
    return 'Digest', {'recipient': join['user'], 'session': join['session'], 'time': time, 'count': count,
                      'hash': total - (1 << 64) if total >> 63 else total}


def myself(join, at, time):
    return 'Self', {'recipient': join['user'], 'session': join['session'], 'lat': e7(at[0]), 'lng': e7(at[1]), 'time': time}


def left(user, *recipients):
    return 'Left', {'user': user, 'recipients': list(recipients)}


def parted(recipient, friend):
    return 'Parted', {'recipient': recipient, 'friend': friend}


def superseded(user, session):
    return 'Superseded', {'user': user, 'session': session}


_MASK = (1 << 64) - 1


def mix(user: int) -> int:
    """splitmix64's finaliser, which digests sum up over the friends (lib/base/hash.h)."""
    x = (user + 0x9e3779b97f4a7c15) & _MASK
    x = ((x ^ (x >> 30)) * 0xbf58476d1ce4e5b9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94d049bb133111eb) & _MASK
    return x ^ (x >> 31)
