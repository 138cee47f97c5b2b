"""compose/compose.yaml without any container: it has two of every daemon, Prometheus looks for them where they listen, and each
daemon takes its settings. `./dev compose check` tries the real thing."""
import json
import re
import subprocess

import pytest
import yaml

from harness.broker import REPOSITORY
from harness.cluster import KINDS, build_folder
from harness.processes import clean_environment

COMPOSE = REPOSITORY / 'compose'
INSTANCES = [f'{kind}-{number}' for kind in KINDS for number in (1, 2)]


@pytest.fixture(scope='module')
def deployment():
    return yaml.safe_load((COMPOSE / 'compose.yaml').read_text())


def test_two_of_every_daemon_and_three_brokers(deployment):
    services = deployment['services']
    assert [name for name in services if re.fullmatch(r'.+-\d', name)] == [f'kafka-{number}' for number in (1, 2, 3)] + INSTANCES
    for name in INSTANCES:
        assert services[name]['command'] == [f'starling-{name[:-2]}']
        advertised = services[name]['environment'].get('STARLING_PEER_ADVERTISE')
        assert advertised is None or advertised.startswith(f'{name}:')


def test_nobody_shares_a_volume_but_the_sinks(deployment):
    mounts = [volume.partition(':')[0] for service in deployment['services'].values() for volume in service.get('volumes', ())]
    named = [mount for mount in mounts if not mount.startswith('.')]
    assert set(named) == set(deployment['volumes'])
    assert sorted(mount for mount in set(named) if named.count(mount) > 1) == ['history']


def test_prometheus_looks_where_they_listen(deployment):
    for kind in KINDS:
        (group,) = yaml.safe_load((COMPOSE / f'targets/starling-{kind}.yml').read_text())
        ports = {deployment['services'][f'{kind}-{number}']['environment']['STARLING_OPS_LISTEN'].rpartition(':')[2] for number in (1, 2)}
        assert len(ports) == 1
        assert group['targets'] == [f'{kind}-{number}:{port}' for number in (1, 2) for port in ports]


@pytest.mark.parametrize('name', INSTANCES)
def test_daemons_take_their_settings(deployment, tmp_path, name):
    for secret in deployment['secrets']:
        (tmp_path / secret).write_text('00' * 32)
    settings = json.dumps(deployment['services'][name]['environment'])
    for folder in ('/run/secrets', '/usr/share/starling/web', '/var/lib/starling'):
        settings = settings.replace(folder, str(tmp_path))
    done = subprocess.run([build_folder() / f'starling-{name[:-2]}', '--check'], env={**clean_environment(), **json.loads(settings)},
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_dashboards_and_rules_are_there(deployment):
    """Files that are mounted from this repository exist."""
    for service in deployment['services'].values():
        for volume in service.get('volumes', ()):
            if volume.startswith('.'):
                assert (COMPOSE / volume.split(':')[0]).exists(), volume
