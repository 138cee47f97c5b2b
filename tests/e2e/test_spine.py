"""The spine's promises, by counters that know none of starling's products (tests/spine)."""
import random
import time

import pytest

from harness.spine import SESSION, WATCH_MINUTE, Commands, Spine, Truth, Watcher, Written
from harness.waiting import eventually

NAMES = [f'counter-{i}' for i in range(12)]


@pytest.fixture
def make_spine(make_cluster):
    return lambda **options: Spine(make_cluster(), **options)


def check_everything(spine, commands, told='every'):
    """Everything that was sent was decided, once, in order; and every change was told, or at least the newest of each counter."""
    commands.stop()
    truth = Truth(spine)

    def decided():
        written = Written(spine)
        assert written.counters == truth.counters
        assert written.outcomes == truth.outcomes
        assert written.dead == truth.dead == commands.poisoned
        for name, (total, version, _) in truth.counters.items():
            assert (version, total) in written.changes[name], f'nobody was told of {name}'
            missing = set(range(1, version + 1)) - {number for number, _ in written.changes[name]}
            assert told == 'newest' or not missing, f'nobody was told of {name} {missing}'
        return written

    written = eventually(decided, 30, every=0.5)
    for name, versions in written.versions.items():
        assert versions == list(range(1, truth.counters[name][1] + 1)), f'{name}: a change was lost, or decided twice'
    for name, (total, version, _) in truth.counters.items():
        eventually(lambda: spine.page(name.decode()) == (total, version), 15, what=f'{name} is {total}')
    for key in random.sample(sorted(truth.outcomes), min(40, len(truth.outcomes))):
        name, client = (part.decode() for part in key.split(b'\0'))
        accepted, total, version = truth.outcomes[key]
        outcome = {'accepted': bool(accepted), 'value': total, 'version': version}
        assert eventually(lambda: spine.told(name, key=client), 15) == outcome
    for daemon in spine.counters:
        daemon.wait_ready(20)
    print(f'{commands.sent} commands, {len(truth.outcomes)} keys, {truth.dead} dead letters')


def test_commands_are_decided_once_whatever_dies(make_spine):
    spine = make_spine()
    commands = Commands(spine, NAMES, seed=1)
    chance = random.Random(2)
    eventually(lambda: commands.sent > 200 and spine.effects_known(), 20)
    for wiped in (False, True, True):
        daemon = chance.choice(spine.counters)
        daemon.kill()
        if wiped:
            daemon.wipe()
        time.sleep(chance.random())  # the moment is to be any
        daemon.start(wait=False)
        time.sleep(chance.random() * 2 * SESSION)
    # Both at once, one of them with nothing on its disk.
    for daemon in spine.counters:
        daemon.kill()
    spine.counters[0].wipe()
    for daemon in spine.counters:
        daemon.start(wait=False)
    for daemon in spine.counters:
        daemon.wait_ready()
    # A rebalance, and one more while it lasts.
    spine.counters[0].stop()
    spine.counters[1].stop()
    for daemon in spine.counters:
        daemon.start(wait=False)
    eventually(lambda: all(daemon.ready() for daemon in spine.counters), 30)
    check_everything(spine, commands)


def test_a_group_that_was_deleted_decides_nothing_twice(make_spine):
    spine = make_spine()
    commands = Commands(spine, NAMES, seed=3)
    eventually(lambda: commands.sent > 300, 20)
    for daemon in spine.counters:
        daemon.stop()
    spine.counters[1].wipe()
    spine.delete_group()
    for daemon in spine.counters:
        daemon.start(wait=False)
    for daemon in spine.counters:
        daemon.wait_ready()
    for name in NAMES:
        commands.send(name)
    check_everything(spine, commands, told='newest')  # where effects were, only the group knew


def test_a_paused_owner_answers_nothing_old_and_writes_nothing(make_spine):
    spine = make_spine()
    commands = Commands(spine, NAMES, seed=4)
    eventually(lambda: commands.sent > 200 and spine.effects_known(), 20)
    paused, other = spine.counters
    mine = [name for name in NAMES if eventually(lambda n=name: spine.owner_of(n), 10) is paused]
    assert mine and len(mine) < len(NAMES)
    paused.pause()
    eventually(lambda: all(spine.ask(other, name).status_code == 200 for name in mine), 30)
    before = {name: spine.ask(other, name).json()['version'] for name in mine}
    waiting = {name: spine.ask_first(paused, name) for name in mine}
    paused.resume()
    for name, answer in waiting.items():
        status, body = answer()
        assert status in (421, 503) or body['version'] >= before[name], 'an old answer'
    check_everything(spine, commands)


def restored(daemon, whose):
    return daemon.total('counter_restore_records_total', **{'for': whose})


def test_restores_from_nothing_and_a_stand_by_takes_over_without_reading_again(make_spine):
    spine = make_spine()
    commands = Commands(spine, NAMES, seed=5)
    eventually(lambda: commands.sent > 500, 20)
    check_everything(spine, commands)
    total = len(spine.topics.read('counters'))
    first, second = spine.counters
    second.stop()
    second.wipe()
    second.start()
    # All of it was read by somebody who had nothing: before it joined, or as a stand-by.
    eventually(lambda: restored(second, 'owned') + restored(second, 'standby') >= total, 20)
    pages = {name: eventually(lambda n=name: spine.page(n), 10) for name in NAMES}
    eventually(lambda: second.total('counter_partitions_standby_current') == 2, 20)
    before = restored(second, 'owned'), restored(second, 'standby')
    first.kill()
    assert {name: eventually(lambda n=name: spine.page(n), 30) for name in NAMES} == pages
    assert second.total('counter_partitions_restored') == 4
    assert (restored(second, 'owned'), restored(second, 'standby')) == before
    first.start()


def test_watchers_hold_what_is_or_are_told_that_they_are_stale(make_spine):
    spine = make_spine(edges=2)
    chance = random.Random(6)
    watchers = [Watcher(spine, i % 2, chance.sample(NAMES, 6)) for i in range(6)]
    commands = Commands(spine, NAMES, seed=7, pause=0.01)
    eventually(lambda: commands.sent > 100, 20)
    for daemon in (spine.counters[0], spine.edges[0], spine.counters[1]):
        daemon.kill()
        time.sleep(chance.random())  # the moment is to be any
        daemon.start(wait=False)
        time.sleep(WATCH_MINUTE)
    eventually(lambda: all(daemon.ready() for daemon in [*spine.counters, *spine.edges]), 30)
    commands.stop()
    truth = Truth(spine)
    final = {name: truth.counters[name.encode()][:2] for name in NAMES}
    eventually(lambda: all(spine.page(name) == final[name] for name in NAMES), 20)

    def right():
        for watcher in watchers:
            assert not watcher.failure, watcher.failure
            assert watcher.pages == {name: final[name] for name in watcher.names}
        return True

    eventually(right, 3 * WATCH_MINUTE + SESSION)
    for watcher in watchers:
        watcher.stop()
        assert watcher.changes and watcher.stales
    print(f'{sum(w.changes for w in watchers)} changes, {sum(w.stales for w in watchers)} stale, '
          f'{sum(w.reads for w in watchers)} pages read')

    # An edge that is gone for good is forgotten, in the topic as well.
    def watches_of_nobody():
        table = {m.key: m.value for m in spine.topics.read('counter-watches')}
        return not any(value for key, value in table.items() if len(key) > 8)

    for edge in spine.edges:
        edge.kill()
    eventually(watches_of_nobody, 6 * WATCH_MINUTE + SESSION)
