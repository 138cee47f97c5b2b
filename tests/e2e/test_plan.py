"""`starling plan` as an operator uses it: a table, JSON, figures of one's own, and a load for which there is no plan. It needs no broker."""
import json
import subprocess

from harness.cluster import build_folder


def plan(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run([build_folder() / 'starling', 'plan', *map(str, arguments)], capture_output=True, text=True, timeout=60)


def tiers(*arguments, code=0) -> dict:
    done = plan(*arguments, '--format', 'json')
    assert done.returncode == code, done.stderr
    found = json.loads(done.stdout)
    assert found['refused'] == bool(code)
    return found | {tier['tier']: tier for tier in found['tiers']}


def test_the_table_has_a_line_for_each_tier_that_has_work():
    done = plan('--online', 1e6, '--posts', 350, '--pages', 17000, '--comments', 100)
    assert done.returncode == 0, done.stderr
    first_words = [line.split()[0] for line in done.stdout.splitlines() if line.strip()]
    for tier in ('edge', 'router', 'ingest', 'feed', 'comments', 'history', 'moderation', 'brokers'):
        assert tier in first_words, done.stdout
    assert 'feed' not in [line.split()[0] for line in plan('--online', 1e6).stdout.splitlines() if line.strip()]


def test_figures_of_ones_own_change_the_plan(tmp_path):
    figures = tmp_path / 'figures.properties'
    figures.write_text(plan('--list-figures').stdout)
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
        done = plan(*arguments)
        assert done.returncode == 2 and said in done.stderr, (arguments, done.stderr)
