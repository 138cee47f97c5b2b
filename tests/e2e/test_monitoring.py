"""Dashboards and alerts of operators: every panel of the dashboards has data, rules hold, alerts are explained. Covers router/metrics.c and
feed/feed_metrics.c."""
import contextlib
import json
import re
import subprocess
import sys

import pytest

from harness.broker import REPOSITORY
from harness.commenting import Commenting
from harness.feed import Feed
from harness.prometheus import JOBS, MONITORING, Prometheus, promtool
from harness.truth import Simulation
from harness.waiting import eventually
from harness.watcher import Watcher

RULES = sorted((MONITORING / 'rules').glob('*.yml'))
# An edge without a certificate, as all edges are here, does not say when it ends.
NOT_HERE = {'starling_edge_certificate_end_seconds'}


def test_rules_and_alerts_hold():
    promtool('check', 'config', MONITORING / 'prometheus.yml')
    promtool('check', 'rules', *RULES)
    promtool('test', 'rules', MONITORING / 'tests/alerts.yml')


def test_every_alert_is_tested_and_has_an_entry_in_the_runbook():
    alerts = re.findall(r'- alert: (\w+)', (MONITORING / 'rules/alerts.yml').read_text())
    runbook = re.findall(r'^### (Starling\w+)$', (REPOSITORY / 'docs/OPERATIONS.md').read_text(), re.MULTILINE)
    fired = re.findall(r'alertname: (\w+)\n *exp_alerts', (MONITORING / 'tests/alerts.yml').read_text())
    assert alerts and sorted(alerts) == sorted(runbook) == sorted(set(fired))


def test_dashboards_are_what_the_program_writes():
    subprocess.run([sys.executable, MONITORING / 'dashboards.py', '--check'], check=True)


@pytest.fixture(scope='module')
def city(make_module_cluster, tmp_path_factory):
    """All daemons at work, with a Prometheus that reads them."""
    cluster = make_module_cluster(settings={'feed:notify.url': 'http://127.0.0.1:1/notices'}).start(routers=2, feeds=2, comments=1, places=1, moderators=1)
    feed, comments = Feed(cluster), Commenting(cluster)
    prometheus = Prometheus(cluster, tmp_path_factory.mktemp('prometheus') / 'home')
    prometheus.launch()
    simulation = Simulation(cluster, '--city', 40, '--every', 1, '--posts', 2, '--follows', 1, '--reads', 5,
                            '--http', cluster.http_url)
    with contextlib.ExitStack() as stack:
        stack.callback(prometheus.stop)
        stack.callback(simulation.process.kill)
        yield cluster, prometheus, feed, comments
        assert simulation.process.poll() is None, simulation.said()


def expressions():
    """(dashboard, panel, expression), as they are when everything is chosen."""
    for file in sorted((MONITORING / 'dashboards').glob('*.json')):
        dashboard = json.loads(file.read_text())
        for panel in dashboard['panels']:
            for target in panel['targets']:
                expression = target['expr'].replace('$job', '.+').replace('$instance', '.+').replace('$__rate_interval', '20s')
                yield file.name, panel['title'], expression


def test_every_panel_has_data_while_the_city_lives(city, users):
    cluster, prometheus, feed, comments = city
    ada, ben = users(2)
    feed.follow(ada, ben)
    comments.register('site:monitoring', owner=ada)
    wanted = list(expressions())
    with Watcher(feed, ada):
        def at_work():
            """Something of each kind, as long as it is looked at."""
            feed.post(ben, 'hello')
            comments.check('site:monitoring')
            comments.like('site:monitoring', ben, comments.write('site:monitoring', ada, 'hello')['id'])
            cluster.http(ada, scope='moderator').ok('GET', '/v1/moderation/comments', params={'text': 'hello'})
            cluster.starling('history', ada)
            wanted[:] = [panel for panel in wanted if not prometheus.query(panel[2])]
            assert not wanted, 'no data: ' + '\n'.join(map(str, wanted))
            return True
        eventually(at_work, 90, every=0.5)
    up = {(series['metric']['job'], series['value'][1]) for series in prometheus.query('up')}
    assert up == {(f'starling-{job}', '1') for job in JOBS}


def test_rules_name_metrics_that_exist(city):
    _, prometheus, _, _ = city
    known = set(prometheus.get('label/__name__/values'))
    text = '\n'.join(file.read_text() for file in RULES)
    named = set(re.findall(r'\b((?:starling|process)_[a-z_]+?)(?:_bucket)?\b', text)) - NOT_HERE
    # One that ends with _ is the beginning of a pattern.
    missing = {name for name in named if not name.endswith('_') and not known & {name, f'{name}_bucket'}}
    assert not missing


def test_rules_are_evaluated(city):
    _, prometheus, _, _ = city
    def healthy():
        groups = prometheus.get('rules')['groups']
        rules = [rule for group in groups for rule in group['rules']]
        assert rules and all(rule['health'] == 'ok' for rule in rules), [r for r in rules if r['health'] != 'ok']
        return True
    eventually(healthy, 60)
    firing = [alert for alert in prometheus.get('alerts')['alerts'] if alert['state'] == 'firing']
    assert not firing, firing
