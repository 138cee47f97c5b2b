"""`starling-plan`: its rules, and as an operator uses it: a table, JSON, figures of one's own, and a load for which there is no plan. It needs
no broker."""
import json
import math
import re
import runpy
import subprocess
import types

import pytest

from harness.broker import REPOSITORY

PROGRAM = REPOSITORY / 'tools/starling-plan'
planner = types.SimpleNamespace(**runpy.run_path(str(PROGRAM)))


def load_of(online, **other):
    """A load by default, but for that."""
    load = planner.load_of({'online': str(online)}, pytest.fail)
    vars(load).update(other)
    return load


def planned(online, figures=planner.FIGURES, **other):
    return planner.Plan(load_of(online, **other), figures)


def figures_with(**other):
    return planner.FIGURES | {name.replace('_', '.'): value for name, value in other.items()}


def warns(plan, about):
    return any(about in warning for warning in plan.warnings)


# ---- figures ----

def joined(text):
    """Lines of a page may be broken anywhere."""
    return ' '.join(text.split())


def section_of(page, name):
    found = re.search(rf'\n(## {re.escape(name)}\n.*?)(?=\n## |\Z)', page, re.DOTALL)
    return found and joined(found[1])


def number_in(text):
    """The number between the braces, and the text without them."""
    found = re.search(r'\{([^}]*)\}', text)
    return (float(found[1].replace(',', '')) if found else math.nan), text.replace('{', '').replace('}', '')


def test_figures_stand_on_the_page():
    """When this fails, a figure was measured anew on one side only: bench/results and tools/starling-plan go together."""
    pages = ''.join(page.read_text() for page in sorted((REPOSITORY / 'bench/results').glob('*.md')))
    wrong = []
    for _, _, section, rows in planner.MEASURED:
        for name, value, _, text in rows:
            number, plain = number_in(text)
            if not (plain in (section_of(pages, section) or '') and number == value > 0):
                wrong.append(f'{name}={value}: "{text}" is not in {section}')
    assert not wrong and planner.FIGURES


def test_a_changed_page_is_noticed():
    assert number_in('| **starling-router** | {10.5} |') == (10.5, '| **starling-router** | 10.5 |')
    assert number_in('the figure {1,352}')[0] == 1352
    assert math.isnan(number_in('no figure')[0])
    assert section_of('\n## One\n\na 1\nb\n\n## Two\n\na 2\n', 'One') == '## One a 1 b'
    assert section_of('\n## One\n', 'Three') is None


def test_figures_are_replaced_by_a_file(tmp_path):
    file = tmp_path / 'figures'
    file.write_text('# ours\n! and\n\nrouter.report.us = 21\nedge.frames=1e5\n')
    assert planner.read_figures(file) == figures_with(router_report_us=21, edge_frames=100000)
    for text, reason in (('router.report.us=5\nrouter.report.ms=10\n', ':2: there is no figure'),
                         ('router.report.us=0\n', ':1: router.report.us must be a number'),
                         ('router.report.us=-1\n', 'must be a number'), ('edge.full.entries=1\n', 'must be more than 1'),
                         ('router.report.us=ten\n', 'must be a number'), ('router.report.us\n', 'must be a number')):
        file.write_text(text)
        with pytest.raises(ValueError, match=reason):
            planner.read_figures(file)
    with pytest.raises(FileNotFoundError):
        planner.read_figures(tmp_path / 'nowhere')


def test_what_is_printed_is_such_a_file(tmp_path):
    figures = {name: number + 0.25 for number, name in enumerate(planner.FIGURES)}
    file = tmp_path / 'figures'
    file.write_text(planner.figures_text(figures))
    assert planner.read_figures(file) == figures


def test_numbers_are_those_of_the_product():
    assert len(re.findall(r'^TOPIC\(', (REPOSITORY / 'lib/event/topics.def').read_text(), re.MULTILINE)) == planner.TOPICS
    assert int(re.search(r'IDS_PARTITIONS_MAX = (\d+)', (REPOSITORY / 'lib/ids/ids.h').read_text())[1]) == planner.PARTITIONS_MAX
    assert f'project(starling VERSION {planner.VERSION} ' in (REPOSITORY / 'CMakeLists.txt').read_text()


# ---- the arithmetic ----

def test_rates_follow_from_the_load():
    plan = planned(10e6)
    assert plan.reports == pytest.approx(333333.3, abs=1) and plan.deliveries == pytest.approx(13333333, abs=10)
    # 40 friends near tell each screen 1.33 times a second; the first one a window after the last frame goes at once.
    each_s = 1 + math.exp(-40 / 30) / (40 / 30)
    assert plan.frames == pytest.approx(10e6 / each_s, rel=1e-9) and plan.hellos == pytest.approx(5555.6, abs=0.1)
    assert planned(10e6, window=0).frames == pytest.approx(plan.deliveries)


@pytest.mark.parametrize('push_max, share, entries', [(10, 0.9195, 0.4), (100, 0.5148, 19.6), (1000, 0.0708, 157.8), (10000, 0.0042, 317.1)])
def test_followers_are_distributed_as_in_the_bench(push_max, share, entries):
    """The table of bench/results/feed.md, "CPU over feed.push.max"."""
    assert planner.hot_share(500, push_max) == pytest.approx(share, abs=0.0001)
    assert planner.inbox_entries(500, push_max) == pytest.approx(entries, abs=0.1)
    assert planner.hot_share(0, 1000) == planner.inbox_entries(0, 1000) == 0


def test_edges_have_room_for_the_phones_of_one_that_is_away():
    edge = planned(10e6).tiers['edge']
    assert edge.limit == 'sessions'
    assert (edge.processes - 1) * 18000 >= 10e6 > (edge.processes - 2) * 18000
    assert planned(18000, replication=1).tiers['edge'].processes == 1  # nothing may be away


@pytest.mark.parametrize('users, slots', [(10e6, 1 << 24), (100e6, 1 << 27), (120e6, 1 << 28), (1e9, 1 << 31)])
def test_copies_of_sharing_double(users, slots):
    """Slots of 16 bytes, a power of two of them, at most 7/8 of them full."""
    copy = planned(users / 10).tiers['ingest'].memory - planner.FIGURES['process.mb'] * 1e6
    assert copy == pytest.approx(slots * 16, rel=0.01)


def test_each_tier_has_its_limit():
    tiers = planned(1e6, flush=0.05).tiers
    assert tiers['edge'].processes == 57  # 56 of 18,000 sessions each, and one that may be away
    assert tiers['edge'].limit == 'sessions'
    assert tiers['feed'].processes == 0 and tiers['router'].processes == 2

    # One session's screen hears 40 times as much.
    edge = planned(1e6, flush=0.05, sessions=1e6, every=1).tiers['edge']
    assert edge.limit == 'CPU'
    assert edge.cores / edge.processes <= 0.5 < edge.cores / (edge.processes - 1)

    plan = planned(1e6, flush=0.05, sessions=1e6, every=1, memory=4, users=2e9)
    assert plan.refused  # the copy of sharing alone is larger than a machine
    assert warns(plan, 'more than a machine has')


def test_edges_write_small_requests():
    """A request of an edge is a batch for one partition, for which reports wait: 20 ms, a fiftieth of the window, and longer as long as there
    are more than 100 requests/s of fewer than 4."""
    figures = figures_with(broker_fetch_us=1e-9)
    request_us, record_us = figures['broker.request.us'], figures['broker.record.us']

    def requests_of(plan):
        return (plan.tiers['edge'].broker_cores * 1e6 - plan.reports * record_us) / (request_us - record_us)

    plan = planned(10e6, figures, replication=1, flush=0.25)
    pairs = plan.tiers['edge'].processes * plan.partitions
    assert plan.report_wait_s == 0.25  # 600 reports/s of an edge are few for so many partitions
    assert requests_of(plan) == pytest.approx(pairs / (0.25 + pairs / plan.reports), rel=1e-6)

    plan = planned(10e6, figures, replication=1, flush=0.25, window=0)  # each report goes by itself
    assert requests_of(plan) == pytest.approx(plan.reports, rel=1e-6)

    plan = planned(18000, figures, replication=1, every=30, friends=0, partitions=16)  # 600 of one edge
    assert plan.report_wait_s == pytest.approx(3 * 16 / 600)
    plan = planned(3600, figures, replication=1, every=30, friends=0, partitions=16)  # 120 of one edge
    assert plan.report_wait_s == pytest.approx(0.16 - 16 / 120)

    # So many that 50 requests/s of each edge and partition gather them.
    plan = planned(18000, figures, replication=1, every=0.1, friends=0)
    pairs = plan.tiers['edge'].processes * plan.partitions
    assert plan.report_wait_s == 0.02 and 45 * pairs < requests_of(plan) < 50 * pairs


def test_copies_are_written_and_not_read():
    """Each copy beyond the first costs the measured part of the first; reading costs the same with any number of copies."""
    figures = figures_with(broker_fetch_us=1e-9)
    copy = figures['broker.copy.us'] / figures['broker.request.us']
    # Not one, with which fewer processes would do.
    two, three = (planned(1e6, figures, replication=copies, http=0.5).tiers for copies in (2, 3))
    for writer in 'edge', 'ingest':
        assert three[writer].broker_cores / two[writer].broker_cores == pytest.approx((1 + 2 * copy) / (1 + copy), rel=1e-6)
    assert three['history sink'].broker_cores == pytest.approx(two['history sink'].broker_cores, rel=1e-6)


def fetches_of(tier, online, **other):
    """The brokers' cores for the fetches of one tier, which is what there is more than if they cost nothing; and how many brokers there are."""
    costly, free = planned(online, **other), planned(online, figures_with(broker_fetch_us=1e-9), **other)
    return costly.tiers[tier].broker_cores - free.tiers[tier].broker_cores, free.tiers['brokers'].processes


def test_readers_ask_again_when_they_are_answered():
    fetch_us, answer_s = planner.FIGURES['broker.fetch.us'], 1 / planner.FIGURES['broker.fetches']
    quiet, delivered = 2 * 3 / (planner.WAIT_S + answer_s), 2 / (0.02 + answer_s)
    cores, brokers = fetches_of('edge', 1000)  # 2 edges, 16 partitions, 3 brokers
    assert brokers == 3 and cores == pytest.approx((quiet + delivered) * fetch_us / 1e6, rel=1e-6)

    # Both routers read all reports, which are so many that their consumers hardly ever wait.
    most = 2 * 2 * 3 / answer_s * fetch_us / 1e6
    cores, brokers = fetches_of('router', 1e6, disk=100, window=0)
    assert brokers == 3 and 0.6 * most < cores < most

    # Gateways ask each broker for copies that hardly change: the more brokers there are, the more.
    few, brokers = fetches_of('ingest', 1e6, disk=100)
    many, more = fetches_of('ingest', 1e6, disk=0.1)  # a terabyte at the brokers
    assert more > 10 and many / more == pytest.approx(few / brokers, rel=1e-6)
    assert fetches_of('router', 1e6, disk=0.1, window=0)[0] > cores


def test_disks_decide_where_they_are_full_first():
    feeds = {'flush': 0.25, 'posts': 6000, 'pages': 300000}
    plan = planned(10e6, **feeds)
    for name in 'feed', 'history sink', 'brokers':
        tier = plan.tiers[name]
        assert tier.limit == 'disk'
        assert (tier.processes - 1) * 4e12 < tier.disk * 1.25 <= tier.processes * 4e12
        assert tier.processes - 1 < tier.machines <= tier.processes
    assert warns(plan, 'The tier feed needs 33 machines for its disks') and not plan.refused

    plan = planned(10e6, **feeds, disk=1000)
    assert {plan.tiers[name].limit for name in ('feed', 'history sink', 'brokers')} == {'CPU'}
    assert plan.tiers['feed'].processes == 12

    router = planned(10e6, **feeds, disk=0.01).tiers['router']  # lists of friends take 234 GB
    assert router.limit == 'disk' and router.processes == 30

    plan = planned(1e4, comments=3000)  # 50 TB a year in each moderation process
    assert plan.refused and warns(plan, 'A process of the tier moderation needs 50.0 TB of disk')


def test_owners_build_each_hot_page_for_each_gateway():
    """Each gateway asks the owners once a second for each hot page, but not for a page that nobody reads."""
    builds = []
    for subjects in 1, 1000, 1e6:
        tiers = planned(10000, hot_reads=100000, hot_subjects=subjects).tiers
        builds.append(tiers['comments'].sends / planner.FIGURES['comments.page.bytes'])
        assert builds[-1] == pytest.approx(min(tiers['ingest'].processes * subjects, 100000), abs=0.001)
    assert builds[1] > 999 * builds[0] and builds[2] == 100000


def test_routers_gather_what_would_be_many_batches():
    """Of a router: as many a second as it may send, unless they would wait for more than 250 ms."""
    few, many = planned(2e6, replication=1), planned(10e6, replication=1)
    assert few.batches == pytest.approx(few.tiers['router'].processes * planner.DELIVER_BATCHES_S, rel=1e-6)
    assert many.batches == pytest.approx(planned(10e6, replication=1, flush=0.25).batches)
    assert planned(2e6, replication=1, flush=0.25).batches < few.batches


def test_limits_are_of_processes():
    """The column says what decides how many processes there are; what decides about machines is among the warnings."""
    plan = planned(10e6, hot_reads=1e6)
    assert plan.tiers['ingest'].limit == 'CPU'
    assert warns(plan, 'The tier ingest needs 19 machines for its network')
    assert planned(10e6, sessions=3000).tiers['router'].limit == 'batches'

    tiers = planned(10e6, hot_reads=1e6, flush=0.25, network=0.5).tiers
    assert tiers['router'].limit == 'CPU'  # joins: 19 routers, and 16 without batches
    assert tiers['brokers'].limit == 'network'

    # Observing leaves a tenth of what a router may use.
    assert planned(16e6, flush=1).tiers['router'].limit == 'observing'


def test_sinks_that_hold_more_than_was_measured_are_said():
    plan = planned(1e6)
    rows = 1e6 / 30 * 86400 * 30 / plan.tiers['history sink'].processes
    assert warns(plan, f'after {rows / 643666 / 3600:.1f} hours of') and warns(plan, 'A history sink would hold')
    assert not warns(planned(1e4), 'A history sink')  # nine times what was measured


def test_routers_are_as_few_as_can_be():
    """Their number is the least with which each has room for its joins, its batches and what it observes."""
    plan = planned(4e6, figures_with(router_batch_us=1e-9))
    join, observing = (plan.reports * planner.FIGURES[name] / 1e6 for name in ('router.report.us', 'router.observe.us'))
    routers = plan.tiers['router'].processes
    assert join / routers + observing * (1 - 1 / routers) <= 0.5
    assert join / (routers - 1) + observing * (1 - 1 / (routers - 1)) > 0.5
    assert plan.tiers['router'].cores == pytest.approx(join + observing * (routers - 1), abs=0.01)


def test_what_no_number_of_processes_can_do_is_refused():
    load = load_of(100e6)  # each router would observe 3.3 million reports a second
    plan = planner.Plan(load)
    assert plan.refused and warns(plan, 'No number of routers')
    # What follows from the number of routers is not known then; what does not, is.
    router, brokers, edge = (plan.tiers[name] for name in ('router', 'brokers', 'edge'))
    assert all(map(math.isnan, (router.processes, brokers.processes, brokers.cores, brokers.sends, edge.broker_cores)))
    assert brokers.disk > 0 and edge.processes == 5557
    assert all(map(math.isnan, (plan.machines, plan.cores, plan.partitions, plan.batches)))
    text = planner.as_json(load, plan)
    assert '"tier":"router","cores":null,"processes":null' in text and '"cores":null,"machines":null,"tiers"' in text
    assert 'nan' not in text.lower()
    text = planner.as_text(load, plan)
    assert 'There is no plan' in text and 'nan' not in text.lower() and 'cores are busy' not in text

    plan = planned(1e4, comments=20000)  # more than a moderation process indexes in half of its core
    assert plan.refused and warns(plan, 'moderation')


def test_partitions_leave_room_to_double():
    plan = planned(1e4)
    assert plan.partitions == 16 and plan.routes == 64
    plan = planned(1e4, pages=10e6)  # 18 us each: 360 processes
    assert plan.tiers['feed'].processes == 360 and plan.partitions == 1024 and not plan.refused
    plan = planned(1e4, pages=20e6)
    assert not plan.refused and warns(plan, 'cannot be doubled')
    plan = planned(1e4, pages=40e6)
    assert plan.refused and warns(plan, '1,024 partitions')


def test_more_load_never_needs_less():
    before = dict.fromkeys(planner.TIERS, 0)
    online = 10000
    while online < 10000000:
        plan = planned(online, posts=online / 2000, pages=online / 50, comments=online / 5000)
        now = {name: tier.processes for name, tier in plan.tiers.items()}
        assert all(now[name] >= before[name] for name in now)
        before, online = now, online * 2


def test_hot_posts_are_in_each_feed_process():
    feeds = {'posts': 6000, 'pages': 300000}
    plan = planned(1e6, **feeds)
    hot_gb = 6000 * planner.hot_share(500, 1000) * 7 * 86400 * planner.FIGURES['feed.hot.bytes'] / 1e9
    assert hot_gb * 1e9 < plan.tiers['feed'].memory < (hot_gb + 0.5) * 1e9
    assert warns(plan, 'Hot posts take')
    assert not warns(planned(1e6, **feeds, push_max=100000), 'Hot posts take')


# ---- what would change it ----

def test_partitions_may_be_given():
    load = {'flush': 0.25, 'posts': 6000, 'pages': 300000}
    own, fewer = planned(10e6, **load), planned(10e6, **load, partitions=64)
    assert own.partitions == 128 and fewer.partitions == 64 and fewer.cores < own.cores
    few = planned(10e6, **load, partitions=32)  # there are 33 feed processes
    assert few.refused and warns(few, '33 processes of the tier feed cannot share 32 partitions')


def test_what_breaks_first_is_where_plans_end():
    load = load_of(10e6, flush=0.25)
    factor, reason = planner.growth(load, planner.FIGURES)
    grown = {name: getattr(load, name) * factor for name in ('online', 'users')}
    assert planner.Plan(planner.changed(load, **grown)).refusals[0] == reason
    assert not planner.Plan(planner.changed(load, **{name: value / planner.GROWTH_STEP for name, value in grown.items()})).refused
    assert factor > 1 and 'router' in reason
    assert planner.growth(load_of(1000, friends=10), planner.FIGURES) is None
    assert planner.growth(load_of(1e4, comments=8000, content_days=1), planner.FIGURES)[1].startswith('A moderation process takes all comments')


def test_each_setting_is_halved_and_doubled():
    load = load_of(10e6)
    plan = planner.Plan(load)
    rows = {name: (now, plans) for name, now, plans in planner.settings_changed(load, plan)}
    assert {name: now for name, (now, _) in rows.items()} == {
        'feed.push.max': 1000, 'edge.flush.window.ms': 1000, 'edge.max.sessions': 18000, 'partitions': plan.partitions,
        'history.retention.days': 30}
    for option, values in (('edge.flush.window.ms', (0.5, 2)), ('edge.max.sessions', (9000, 36000))):
        alone = [planned(10e6, **{planner.SETTINGS[option][0]: value}).cores for value in values]
        assert [other.cores for other in rows[option][1]] == alone and alone[0] > plan.cores > alone[1]


# ---- the program ----

def run(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=60)


def tiers(*arguments, code=0) -> dict:
    done = run(*arguments, '--format', 'json')
    assert done.returncode == code, done.stderr
    found = json.loads(done.stdout)
    assert found['refused'] == bool(code)
    return found | {tier['tier']: tier for tier in found['tiers']}


def test_the_table_has_a_line_for_each_tier_that_has_work():
    done = run('--online', 1e6, '--posts', 350, '--pages', 17000, '--comments', 100)
    assert done.returncode == 0, done.stderr
    first_words = [line.split()[0] for line in done.stdout.splitlines() if line.strip()]
    for tier in ('edge', 'router', 'ingest', 'feed', 'comments', 'history', 'moderation', 'brokers', 'edge.max.sessions'):
        assert tier in first_words, done.stdout
    assert re.search(r'^As it grows: [0-9.]+ times this load has no plan\. .+', done.stdout, re.MULTILINE), done.stdout
    assert 'feed' not in [line.split()[0] for line in run('--online', 1e6).stdout.splitlines() if line.strip()]


def test_figures_of_ones_own_change_the_plan(tmp_path):
    figures = tmp_path / 'figures.properties'
    figures.write_text(run('--list-figures').stdout)
    load = ('--online', 3e6, '--flush-ms', 1000)
    measured = tiers(*load)
    assert tiers(*load, '--figures', figures) == measured, 'what is printed is what is counted with'
    figures.write_text('router.report.us=100\n')
    assert tiers(*load, '--figures', figures)['router']['processes'] > 5 * measured['router']['processes']


def test_a_load_beyond_every_number_of_routers_is_refused():
    found = tiers('--online', 100e6, code=1)
    assert found['router']['processes'] is None
    assert any('regions' in warning for warning in found['warnings'])


def test_wrong_usage_is_explained(tmp_path):
    for arguments, said in ((('--online', 'many'), '--online many: must be a number'), (('--headroom', '1'), 'must be a number'),
                            (('--format', 'xml'), 'must be text or json'), (('--users', '5', '--online', '10'), 'no fewer users'),
                            (('--figures', tmp_path / 'none'), 'No such file'), (('more',), 'takes options only')):
        done = run(*arguments)
        assert done.returncode == 2 and said in done.stderr, (arguments, done.stderr)


def test_it_tells_its_usage_and_its_version():
    for option in '-h', '--help':
        usage = run(option)
        assert (usage.returncode, usage.stderr) == (0, '') and usage.stdout.startswith('usage: starling-plan [--online N]')
    assert all(f'--{name} ' in usage.stdout for name, *_ in planner.OPTIONS + planner.OTHERS)
    assert run('--version').stdout == f'starling-plan {planner.VERSION}\n'
