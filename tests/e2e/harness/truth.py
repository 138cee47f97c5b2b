"""What screens must show, by brute force from what the topics hold; and the simulator that keeps thousands of screens."""
import csv
import math
import subprocess

from .cluster import build_folder
from .geo import EARTH_RADIUS_M, RADIUS_M
from .processes import clean_environment, die_with_parent
from .records import decode, key_users
from .waiting import eventually

INACTIVE_MS = 600_000
SETTLE = 2


# brute force

def distance(a, b):
    """Between positions in 1e-7 degrees."""
    (lat1, lng1), (lat2, lng2) = ([math.radians(x / 1e7) for x in p] for p in (a, b))
    h = math.sin((lat2 - lat1) / 2) ** 2 + math.cos(lat1) * math.cos(lat2) * math.sin((lng2 - lng1) / 2) ** 2
    return 2 * EARTH_RADIUS_M * math.asin(min(1.0, math.sqrt(h)))


def near_pairs(last, pairs, now):
    """last: {user: (time, (lat_e7, lng_e7))}. -> {(user, friend): metres}, both ways, of those active at `now`."""
    active = {user for user, (at, _) in last.items() if now - at < INACTIVE_MS}
    found = {}
    for a, b in pairs:
        if a in active and b in active:
            metres = distance(last[a][1], last[b][1])
            if metres <= RADIUS_M:
                found[a, b] = found[b, a] = metres
    return found, active


# the screens

def read_lists(path):
    """What `starling-load simulate --lists` wrote: {(user, friend): metres}."""
    with open(path) as lines:
        return {(int(row['user']), int(row['friend'])): float(row['distance_m']) for row in csv.DictReader(lines)}


def difference(lists, last, pairs, now):
    """(expected {pair: metres}, missing pairs, pairs too many, the worst distance's error in metres)"""
    expected, active = near_pairs(last, pairs, now)
    shown = {pair: metres for pair, metres in lists.items() if pair[0] in active}
    worst = max((abs(shown[pair] - metres) for pair, metres in expected.items() if pair in shown), default=0.0)
    return expected, expected.keys() - shown.keys(), shown.keys() - expected.keys(), worst


def compare(what, lists, last, pairs, now):
    """Asserts that they are the same; returns how many pairs were compared."""
    expected, missing, extra, worst = difference(lists, last, pairs, now)
    print(f'{what}: {len(last)} users, {len(expected)} pairs compared, {len(missing)} missing, {len(extra)} too many')
    assert not missing and not extra, f'{what}: missing {sorted(missing)[:5]}, too many {sorted(extra)[:5]}'
    assert worst < 0.01, f'{what}: a distance is off by {worst} m'
    return len(expected)


# what the topics hold

def reports(cluster):
    """The REPORT and JOIN records of `locations`, as (message, record)."""
    for message in cluster.topics.read('locations'):
        record = decode(message.value)
        if record['kind'] in ('REPORT', 'JOIN'):
            yield message, record


def city_truth(cluster):
    """Last reports and friendships as the topics have them."""
    last = {}
    for _, record in reports(cluster):
        if record['time'] >= last.get(record['user'], (-1,))[0]:
            last[record['user']] = record['time'], (record['lat'], record['lng'])
    pairs = {tuple(sorted(key_users(key))) for key, value in cluster.topics.latest('friendships').items()
             if value['state'] == 'FRIENDS'}
    return last, pairs


def caught_up(router):
    metrics = router.metrics()
    return metrics.total('starling_router_warm') == 1 and metrics.total('starling_router_caught_up') == 1


# the simulator

def settle(simulation, routers, going, rounds=SETTLE, timeout=120):
    """
    Has everybody repeat their place until that was done `rounds` times with every router less than a second behind, which
    is what exact lists are promised for: a router that is further behind sends no digests. going: what --settle-while names.
    """
    disturbed = simulation.rounds()

    def undisturbed():
        nonlocal disturbed
        if simulation.process.poll() is not None:  # not an assertion: there is nothing to wait for any more
            raise RuntimeError(f'the simulation ended by itself:\n{simulation.said()[-2000:]}')
        if any(router.total('starling_router_digesting') != 1 for router in routers):
            disturbed = simulation.rounds()
        return simulation.rounds() > disturbed + rounds  # the next one has begun, so that those are over

    eventually(undisturbed, timeout, every=0.1, what=f'{rounds} rounds without a router that is behind')
    going.unlink()


class Simulation:
    """`starling-load simulate` with those arguments, against the cluster's edges."""

    def __init__(self, cluster, *arguments, settle=SETTLE):
        cluster.starling('status', check=False)  # writes the command's configuration
        self.log = cluster.folder / 'simulate.log'
        with self.log.open('w') as log:
            self.process = subprocess.Popen(
                [build_folder() / 'starling-load', 'simulate', '--config', cluster.folder / 'starling.properties',
                 '--ws', ','.join(cluster.ws_urls), '--settle', str(settle), *map(str, arguments)], stderr=log,
                env=clean_environment(), preexec_fn=die_with_parent)

    def said(self):
        return self.log.read_text()

    def rounds(self):
        """How often everybody was told to repeat their place."""
        return self.said().count('every phone repeats its place')

    def finish(self, timeout):
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f'the simulation did not end:\n{self.said()[-2000:]}') from None
        assert code == 0, self.said()[-2000:]
