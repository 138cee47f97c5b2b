"""From the last release to this version, one process after the other, while people use all three products: old and new ones share groups,
topics and stores, and all tiers go back for a while. Nothing is lost, and everybody's lists, pages and threads are exact at the end."""
import os
import pathlib
import time

import pytest

from drills.world import World
from harness.cluster import build_folder
from harness.releases import Missing, last_release
from harness.waiting import now_ms

# The order of docs/OPERATIONS.md, "Upgrading": those who are asked before those who ask, and who reads reports before who writes them.
TIERS = 'feed', 'moderation', 'comments', 'router', 'history-sink', 'fanout', 'ingest'
WITHIN_S = 20  # lists, timelines, threads: as long as a kill may take
CALM_S = 10


def exchange(daemon, folder):
    """Stops it, drained, and starts the program of that folder in its place, on its data."""
    assert daemon.stop() == 0, daemon.name
    daemon.command[0] = str(folder / f'starling-{daemon.kind}')
    daemon.start()
    assert is_of(daemon, folder)


def is_of(daemon, folder):
    return pathlib.Path(f'/proc/{daemon.pid}/exe').resolve() == (folder / f'starling-{daemon.kind}').resolve()


def tell_details(world, user):
    """Records that the last release cannot read: it passes them over when it is back."""
    http = world.cluster.http(user)
    http.ok('PUT', '/v1/sharing', json={'mode': 'friends', 'details': True})
    http.ok('POST', '/v1/locations', json={'lat': 39.98, 'lng': 116.31, 'time': now_ms(), 'battery': 0.5})


@pytest.fixture
def release():
    try:
        return last_release()
    except Missing as missing:
        pytest.skip(str(missing))


@pytest.mark.timeout(1200)
def test_a_rolling_upgrade_from_the_last_release(release, tmp_path, monkeypatch):
    tag, old = release
    new = build_folder()
    world = World(tmp_path, pathlib.Path(os.environ['STARLING_KAFKA_LIB']))
    with monkeypatch.context() as earlier:
        earlier.setenv('STARLING_BUILD', str(old))
        world.__enter__()
    assert all(is_of(daemon, old) for daemon in world.cluster.daemons)
    # Gateways of 0.2 do not hear how newer feed processes decide follows, nor do older processes decide those of newer ones: 202 for a while.
    world.authors.follows_change = False
    pauses = {}

    def step(name, change):
        with world.traffic() as noticed:
            change()
        pauses[name] = noticed.longest
        print(f'{name}: ' + ', '.join(f'{product} {longest} s' for product, longest in noticed.longest.items()), flush=True)

    def upgrade(daemons):
        for daemon in daemons:
            exchange(daemon, new)

    try:
        step('calm', lambda: time.sleep(CALM_S))
        world.cluster.create_topics()
        checked = world.cluster.starling('topics', 'check', check=False)
        assert checked.returncode == 0, checked.stdout
        tiers = {kind: world.cluster.of(kind) for kind in TIERS}
        for kind, daemons in tiers.items():
            if len(daemons) > 1 or kind == 'moderation':  # which reads what the first new comments process writes
                step(f'first {kind}', lambda half=daemons[:1]: upgrade(half))
        world.check()  # by old and new ones together
        for kind, daemons in tiers.items():
            step(f'all of {kind}', lambda rest=daemons[1:] or daemons: upgrade(rest))
        world.authors.follows_change = True
        teller, = world.users(1)
        tell_details(world, teller)
        step('all are new', lambda: time.sleep(CALM_S))
        world.authors.follows_change = False
        for kind in reversed(TIERS):
            step(f'{kind} goes back to {tag}', lambda daemons=tiers[kind]: [exchange(daemon, old) for daemon in daemons])
        world.check()
        for kind, daemons in tiers.items():
            step(f'{kind} again', lambda daemons=daemons: upgrade(daemons))
        world.authors.follows_change = True
        step('all are new again', lambda: time.sleep(CALM_S))
        assert world.cluster.http(teller).ok('GET', '/v1/sharing')['details']
        print(f'compared: {world.check()}')
        world.end()
    finally:
        world.__exit__()
    late = {name: longest for name, longest in pauses.items() if max(longest.values()) > WITHIN_S}
    assert not late
