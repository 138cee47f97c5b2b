"""Which routers must read a report? The designs for presence, on a synthetic world with locality and on a real graph.

A report costs its owner a join, and each other router that reads it an observation. So what counts is k, how many routers read a
report; by design:

    everyone   all routers (what starling does)
    interest   those that own a friend of the user; users are spread over routers by hash
    home       the same, where a router owns users of one city or neighbourhood
    regions    all routers of the user's region, by where the user is, and of a region whose border is near

k is found by sampling users with all their friends, and needs no whole graph: it is the mean number of different owners among a
user's friends. Real graphs come with --ego; their ids are in the order in which the graph was crawled, so that runs of ids are communities.
"""
import gzip

import numpy

EVERY_S, FRIENDS, USABLE = 30, 400, 0.5
REPORT_US, PRESENCE_BYTES, RECORD_BYTES = 10.5, 47.2, 55.1  # bench/results: router, join, history
OBSERVE_US = 0.84  # `--stages observe`, when it does not run before
SAMPLE = 4_000
CITY, COUNTRY = 0.55, 0.30  # shares of a user's friends in the same city and country; the others are anywhere
CITIES, COUNTRIES, WORLD_KM, CITY_KM, BORDER_KM, TRAVEL_KM = 4_000, 64, 10_000, 15, 24, 50
REGION_ONLINE = 10e6
ONLINE = (1e6, 10e6, 40e6, 100e6)
MOST = 1 << 14


class World:
    """Cities with Zipf's sizes, in countries by place. Users are (city, number)."""

    def __init__(self, seed):
        self.random = numpy.random.default_rng(seed)
        size = 1 / numpy.arange(1, CITIES + 1)
        self.share = size / size.sum()
        self.at = self.random.uniform(0, WORLD_KM, (CITIES, 2))
        middle = self.random.uniform(0, WORLD_KM, (COUNTRIES, 2))
        self.country = numpy.argmin(((self.at[:, None] - middle[None]) ** 2).sum(2), 1)
        self.of_country = [numpy.flatnonzero(self.country == country) for country in range(COUNTRIES)]

    def cities(self, count):
        return self.random.choice(CITIES, count, p=self.share)

    def friends(self):
        """[SAMPLE][FRIENDS] cities of the friends of SAMPLE users, and a random number for each friend."""
        home = self.cities(SAMPLE)
        found = self.cities(SAMPLE * FRIENDS).reshape(SAMPLE, FRIENDS)
        kind = self.random.uniform(size=(SAMPLE, FRIENDS))
        for user, city in enumerate(home):
            found[user, kind[user] < CITY] = city
            near = (kind[user] >= CITY) & (kind[user] < CITY + COUNTRY)
            place = self.of_country[self.country[city]]
            weight = self.share[place] / self.share[place].sum()
            found[user, near] = self.random.choice(place, near.sum(), p=weight)
        return found, self.random.integers(0, 1 << 40, (SAMPLE, FRIENDS))

    def border(self, regions):
        """Shares of users within BORDER_KM and within TRAVEL_KM of the border of their region; regions lie round the largest cities."""
        if regions == 1:
            return 0.0, 0.0
        middle = self.at[:regions]
        at = self.at[self.cities(SAMPLE * 10)] + self.random.normal(0, CITY_KM, (SAMPLE * 10, 2))
        square = ((at[:, None] - middle[None]) ** 2).sum(2)
        order = numpy.argsort(square, 1)[:, :2]
        first, second = (numpy.take_along_axis(square, order[:, [i]], 1)[:, 0] for i in (0, 1))
        apart = numpy.linalg.norm(middle[order[:, 0]] - middle[order[:, 1]], axis=1)
        away = (second - first) / (2 * apart)
        return float((away < BORDER_KM).mean()), float((away < TRAVEL_KM).mean())


def different(owners) -> float:
    """How many different owners a row has, on average."""
    owners = numpy.sort(owners, 1)
    return float((1 + (owners[:, 1:] != owners[:, :-1]).sum(1)).mean())


class Designs:
    def __init__(self, world):
        self.world, (self.city, self.number) = world, world.friends()
        self.ends = numpy.cumsum(world.share)

    def everyone(self, routers, online):
        return routers

    def interest(self, routers, online):
        return different(self.number % routers)

    def home(self, routers, online):
        """Routers lie along the cities, so that each has as many users; a large city is cut by hash."""
        begin = (self.ends - self.world.share)[self.city]
        place = begin + self.world.share[self.city] * (self.number / (1 << 40))
        return different((place * routers).astype(int))

    def regions(self, routers, online):
        count = max(1, round(online / REGION_ONLINE))
        return routers / count * (1 + self.world.border(count)[0])


def fit(design, online, observe_us):
    """The least power of two of routers with room for joins and observations, and k; None: there is none."""
    reports, routers = online / EVERY_S, 2
    while routers <= MOST:
        k = design(routers, online)
        if reports * (REPORT_US + (k - 1) * observe_us) / 1e6 / routers <= USABLE:
            return routers, k
        routers *= 2
    return None


def synthetic(options, result, observe_us):
    world = World(options.seed)
    designs = Designs(world)
    print(f'{FRIENDS} friends, {CITY:.0%} of them of the same city, {COUNTRY:.0%} of the same country; a report each {EVERY_S} s; join {REPORT_US} us, '
          f'observation {observe_us:.2f} us; routers in powers of two, each may use {USABLE:.0%} of a core')
    print(f"{'online':>8} {'design':>9} {'routers':>8} {'k':>8} {'reads/s each':>13} {'MB each':>8} {'GB/s from Kafka':>16}")
    rows = []
    for online in ONLINE:
        for name in ('everyone', 'interest', 'home', 'regions'):
            found = fit(getattr(designs, name), online, observe_us)
            row = {'online': online, 'design': name, 'routers': None}
            if found:
                routers, k = found
                reports = online / EVERY_S
                row |= {'routers': routers, 'k': k, 'reads_per_s': reports * k / routers,
                        'mb': online * k / routers * PRESENCE_BYTES / 1e6, 'gb_per_s': reports * k * RECORD_BYTES / 1e9}
                print(f"{online / 1e6:7.0f}M {name:>9} {routers:8} {k:8.1f} {row['reads_per_s']:13,.0f} {row['mb']:8,.0f} "
                      f"{row['gb_per_s']:16.2f}")
            else:
                print(f'{online / 1e6:7.0f}M {name:>9}     none')
            rows.append(row)
    borders = {count: world.border(count) for count in (2, 4, 10, 16)}
    for count, (near, travel) in borders.items():
        print(f'{count} regions: {near:.2%} of users are within {BORDER_KM} km of a border, {travel:.2%} within {TRAVEL_KM} km')
    result['regions'] = {'observe_us': observe_us, 'rows': rows, 'borders': {str(count): shares for count, shares in borders.items()}}


def real(path, result):
    """k of a real graph: owners by hash, and owners of runs of ids."""
    with (gzip.open if path.suffix == '.gz' else open)(path, 'rt') as file:
        pairs = numpy.array([line.split()[:2] for line in file if line.strip() and line[0] != '#'], dtype=numpy.int64)
    ids, flat = numpy.unique(pairs, return_inverse=True)
    pairs = flat.reshape(pairs.shape)
    users = len(ids)
    sides = numpy.concatenate([pairs, pairs[:, ::-1]])
    shuffled = numpy.random.default_rng(1).permutation(users)
    print(f'{path.name}: {users:,} users, {len(sides) / users:.1f} friends each; k, how many of so many routers own a friend of a user')
    print(f"{'routers':>8} {'by hash':>8} {'by community':>13}")
    rows = []
    for routers in (4, 16, 64, 256):
        k = [len(numpy.unique(sides[:, 0] * routers + place[sides[:, 1]] * routers // users)) / users
             for place in (shuffled, numpy.arange(users))]
        rows.append({'routers': routers, 'hash': k[0], 'community': k[1]})
        print(f'{routers:8} {k[0]:8.1f} {k[1]:13.1f}')
    result['regions']['real'] = rows


def run(options, result):
    observe_us = result['observe']['whole']['us'] if 'observe' in result else OBSERVE_US
    synthetic(options, result, observe_us)
    if options.ego:
        real(options.ego, result)
