"""What ./dev drill says: how long people waited, what failed, and the table in bench/results/drills.md."""
import contextlib
import time

import drills.kills  # noqa: F401
from drills.drill import DRILLS, Drill, run
from drills.gaps import Gaps
from drills.table import BEGIN, END, write
from drills.tiers import FEED, ROUTER, drill_each
from drills.world import Noticed


class World:
    """As drills.world.World, for a drill that breaks nothing. wrong: what its check finds."""

    def __init__(self, wrong=None):
        self.wrong = wrong

    def check(self):
        assert not self.wrong, self.wrong
        return {'posts': 3}


def made(longest, within=(1, 1, 1), away_s=0.0, act=None, timeout_s=60):
    return Drill('one', 'a fault', 'nothing', within, 'nothing', timeout_s, act or (lambda world: Noticed(
        dict(zip(('lists', 'timelines', 'threads'), longest)), {}, away_s)))


def test_a_gap_counts_while_it_lasts_and_when_it_is_over():
    gaps = Gaps()
    gaps.begin({'ada', 'ben'})
    since = time.monotonic()
    time.sleep(0.2)
    gaps.success('ada')
    gaps.success('somebody else')
    assert gaps.waiting(since) == ['ben'] and gaps.longest() >= 0.2
    gaps.success('ben')
    assert gaps.waiting(since) == [] and gaps.longest() >= 0.2


def test_who_waits_too_long_or_finds_something_wrong_fails_a_drill():
    row = run(made((1, 0.5, 0.2)), World())
    assert row.failure is None and row.sound and row.compared == {'posts': 3}
    row = run(made((0.5, 1.1, 0.5)), World())
    assert 'timelines: 1.1 s' in row.failure and row.sound
    assert run(made((0.5, 1.1, 0.5), away_s=0.2), World()).failure is None
    row = run(made((0.5, 0.5, 0.5)), World('a post is lost'))
    assert 'a post is lost' in row.failure and not row.sound


def test_a_drill_that_does_not_end_fails():
    row = run(made((), act=lambda world: time.sleep(30), timeout_s=1), World())
    assert 'too long' in row.failure and not row.sound and row.took_s < 20


def test_a_fault_of_several_tiers_is_a_drill_of_each():
    done = []

    class Users(World):
        cluster = property(lambda self: self)

        def of(self, kind):
            return [f'{kind} {number}' for number in (1, 2)]

        @contextlib.contextmanager
        def traffic(self):
            done.append('they begin')
            yield Noticed()
            done.append('they end')

    drill_each('tease', '{} is teased', [ROUTER, FEED], lambda _world, daemon: done.append(daemon))
    router, feed = DRILLS.pop('tease-router'), DRILLS.pop('tease-feed')
    assert (router.fault, router.notice, router.within) == ('a router is teased', ROUTER.notice, ROUTER.within)
    assert (feed.fault, feed.notice, feed.within) == ('a feed process is teased', FEED.notice, FEED.within)
    assert isinstance(feed.act(Users()), Noticed) and isinstance(router.act(Users()), Noticed)
    assert done == ['they begin', 'feed 1', 'they end', 'they begin', 'router 1', 'they end']


def test_the_table_stands_between_its_marks_and_keeps_what_was_not_run_again(tmp_path):
    page = tmp_path / 'page.md'
    page.write_text(f'before\n{BEGIN}\n{END}\nafter\n')
    names = list(DRILLS)
    well = [run(made((0.5, 0.5, 0.5))._replace(fault=DRILLS[name].fault), World()) for name in names[:2]]
    write(page, well)
    first = page.read_text()
    assert first.startswith('before\n' + BEGIN) and first.endswith(END + '\nafter\n')
    assert first.count('0.5 of 1 | 0.5 of 1 | 0.5 of 1 | nothing') == 2
    write(page, [run(made((0.5, 9.0, 0.5))._replace(fault=DRILLS[names[1]].fault), World())])
    lines = page.read_text().splitlines()
    kept, new = (next(line for line in lines if DRILLS[name].fault in line) for name in names[:2])
    assert kept in first and lines.index(new) == lines.index(kept) + 1
    assert '9.0 of 1' in new and 'the drill fails' in new and len(lines) == len(first.splitlines())
