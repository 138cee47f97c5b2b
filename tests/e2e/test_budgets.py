"""What callers may take: the table of SECURITY.md and the budgets that are in force in running daemons are the same."""
import re

import pytest

from harness.broker import REPOSITORY

ROW = re.compile(r'^\| `(\w+)` \| (\w+) \| ([^|]+) \| ([^|]+) \| [^|]+ \| ([a-z, -]+) \|$', re.MULTILINE)
UNITS = {None: 1, 'KiB': 1 << 10, 'MiB': 1 << 20, 'GiB': 1 << 30}
DAEMONS = ('ingest', 'router', 'fanout', 'feed', 'comments', 'places', 'history-sink', 'moderation')
SERIES = re.compile(r'^starling_budget_(limit|per_second)\{what="(\w+)",by="(\w+)"\}$')


def number(text: str) -> int:
    digits, unit = re.fullmatch(r'([\d,]+)(?: ([KMG]iB))?(?:/s)?', text.strip()).groups()
    return int(digits.replace(',', '')) * UNITS[unit]


def table() -> list[tuple[str, str, list[str], dict[str, int], list[str]]]:
    """The rows: what, by, the settings, {'limit': and, of rates, 'per_second': number}, the daemons."""
    page = (REPOSITORY / 'SECURITY.md').read_text()
    rows = []
    for what, by, settings, default, daemons in ROW.findall(page):
        rate, _, burst = default.rpartition('/s, ')
        numbers = {'limit': number(burst), **({'per_second': number(rate)} if rate else {})}
        rows.append((what, by, re.findall(r'`([a-z0-9.]+)`', settings), numbers, [name.strip() for name in daemons.split(',')]))
    assert len(rows) == sum(line.startswith('| `') for line in page.partition('## Budgets')[2].splitlines()), 'a row is malformed'
    return rows


def defaults() -> dict[str, str]:
    """The defaults of all settings. The page is generated from the code, which a test of its own holds."""
    page = (REPOSITORY / 'docs/CONFIGURATION.md').read_text()
    return dict(re.findall(r'^\| `([a-z0-9.]+)` \| `([^`]*)` \|', page, re.MULTILINE))


@pytest.fixture(scope='module')
def in_force(make_module_cluster) -> dict[tuple[str, str, str], dict[str, float]]:
    """{(daemon, what, by): {'limit': number, ...}} of daemons whose budgets have their defaults."""
    known = defaults()
    settings = {key: known[key] for _, _, keys, _, _ in table() for key in keys}
    owners = {key: daemons for _, _, keys, _, daemons in table() for key in keys}
    cluster = make_module_cluster(settings={f'{daemon}:{key}': value for key, value in settings.items() for daemon in owners[key]})
    cluster.start(feeds=1, comments=1, places=1, moderators=1)
    found = {}
    for daemon in cluster.daemons:
        for series, value in daemon.metrics().items():
            if match := SERIES.match(series):
                found.setdefault((daemon.kind, match[2], match[3]), {})[match[1]] = value
    return found


def test_each_number_of_the_table_is_in_force(in_force):
    for what, by, _, numbers, daemons in table():
        for daemon in daemons:
            assert in_force.get((daemon, what, by)) == numbers, (daemon, what, by)


def test_each_budget_of_a_daemon_stands_in_the_table(in_force):
    rows = {(daemon, what, by) for what, by, _, _, daemons in table() for daemon in daemons}
    assert set(in_force) - rows == set()
    assert {daemon for daemon, _, _ in rows} <= set(DAEMONS)


def test_numbers_of_the_table_are_the_defaults_of_their_settings():
    known = defaults()
    for what, by, keys, numbers, _ in table():
        wanted = [numbers[name] for name in ('per_second', 'limit') if name in numbers]
        scale = {key: 1 << 20 if key.endswith('.mb') else 1 for key in keys}
        assert not keys or [int(known[key]) * scale[key] for key in keys] == wanted, (what, by)
