"""What ./dev drill says: how long people waited, what failed, and the table in docs/RELIABILITY.md."""
import time

import drills.kills  # noqa: F401
from drills.drill import DRILLS, Drill, run
from drills.gaps import Gaps
from drills.table import BEGIN, END, write
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
