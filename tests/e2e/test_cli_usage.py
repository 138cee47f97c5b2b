"""What programs say of themselves, and what `starling` and `./dev` do without a configuration."""
import shutil
import subprocess

import pytest

from harness.broker import REPOSITORY
from harness.cluster import build_folder
from harness.processes import clean_environment

COMMANDS = ['topics', 'graph', 'follows', 'watch', 'replay', 'history', 'posts', 'feed', 'comments', 'status', 'dlq',
            'trace', 'export', 'forget', 'moderate']
DAEMONS = ['ingest', 'router', 'fanout', 'feed', 'comments', 'places', 'history-sink', 'moderation']


def run(*arguments, timeout=30, **more):
    return subprocess.run([str(part) for part in arguments], capture_output=True, text=True, timeout=timeout,
                          env=clean_environment(), **more)


@pytest.mark.parametrize('program, commands', [('starling', COMMANDS), ('starling-load', ['simulate'])])
def test_all_commands_are_here(program, commands):
    listed = run(build_folder() / program, '--help').stdout
    assert [line.split()[0] for line in listed.splitlines() if line.startswith('  ')] == commands


@pytest.mark.parametrize('program', [('starling',), *(('starling', command) for command in COMMANDS),
                                     ('starling-load',), ('starling-load', 'simulate'),
                                     *((f'starling-{daemon}',) for daemon in DAEMONS)], ids=' '.join)
def test_every_program_tells_its_usage_and_its_version(program):
    command = build_folder() / program[0], *program[1:]
    usages = [run(*command, option) for option in ('-h', '--help')]
    version = run(*command, '--version')
    for done in (*usages, version):
        assert (done.returncode, done.stderr) == (0, ''), done
    assert usages[0].stdout == usages[1].stdout and usages[0].stdout.startswith(f'usage: {" ".join(program)} ')
    name, number = version.stdout.split()
    assert name == program[0] and number == run(build_folder() / 'starling', '--version').stdout.split()[1]


@pytest.mark.parametrize('command', [('history', 'ada'), ('watch', 'ada'), ('export', 'ada'), ('forget', 'ada'), ('posts', 'ada'),
                                     ('replay', 'locations', '--user', 'ada')], ids=' '.join)
def test_a_wrong_user_is_named(command):
    assert f'starling {command[0]}: user ada: must be a number from 0\n' in run(build_folder() / 'starling', *command).stderr


@pytest.mark.parametrize('option, value', [('--city', '1'), ('--posts', 'many'), ('--authors', '1001'), ('--until', '9,8'),
                                           ('--speed', '0'), ('--every', 'x'), ('--margin', '-1')])
def test_simulate_names_what_is_wrong(option, value):
    said = run(build_folder() / 'starling-load', 'simulate', '--city', '20', option, value)
    assert said.returncode == 2 and said.stderr.startswith(f'starling-load simulate: {option} {value}: must be '), said


@pytest.mark.parametrize('command', [('history', '5'), ('replay', 'locations'), ('trace', '--latest', '1')])
def test_a_bad_time_is_answered_with_examples(command):
    for option in '--from', '--to':
        said = run(build_folder() / 'starling', *command, option, 'soon').stderr
        assert f'starling {command[0]}: {option} soon: must be a time (2026-01-31T12:00, 1790000000000, -1h)\n' in said
    said = run(build_folder() / 'starling', *command, '--from', '2026-01-31T12:00', '--to', '2026-01-31').stderr
    assert 'from 2026-01-31T12:00:00.000Z to 2026-01-31T00:00:00.000Z: --from must be before --to' in said


def test_the_broker_that_nobody_named_is_told():
    told = 'no setting is given, so the broker is 127.0.0.1:9092; ./dev starling knows the one that ./dev up started\n'
    assert run(build_folder() / 'starling', 'history', '5').stderr.startswith(f'starling history: {told}')
    named = run(build_folder() / 'starling', 'history', '5', '--set', 'kafka.bootstrap.servers=127.0.0.1:1')
    assert 'no setting is given' not in named.stderr and named.returncode == 1
    asks_none = run(build_folder() / 'starling', 'trace', 'new')
    assert (asks_none.returncode, asks_none.stderr) == (0, '')


@pytest.fixture
def checkout(tmp_path):
    """./dev with settings that ./dev up has written, and this build."""
    shutil.copy(REPOSITORY / 'dev', tmp_path)
    (tmp_path / 'tools').symlink_to(REPOSITORY / 'tools')
    (tmp_path / 'build').symlink_to(build_folder())
    (tmp_path / 'run').mkdir()
    (tmp_path / 'run/starling.properties').write_text('kafka.bootstrap.servers=127.0.0.1:1\n')
    return tmp_path


def test_dev_starling_is_the_command_with_settings(checkout):
    for word, program in ('starling', 'starling'), ('load', 'starling-load'):
        usage = run(checkout / 'dev', word)
        assert usage.returncode == 2 and usage.stderr.startswith(f'usage: {program} COMMAND')
    for words in ('--help',), ('-h',), ('help',), ('--version',), ('trace', 'new'), ('history', '--help'):
        assert run(checkout / 'dev', 'starling', *words).returncode == 0, words
    assert 'no Kafka broker answers at 127.0.0.1:1' in run(checkout / 'dev', 'starling', 'history', '5').stderr


def test_dev_tells_its_usage(checkout):
    usage = run(checkout / 'dev', '--help').stdout
    assert usage.startswith('usage: ./dev COMMAND')
    for command in 'up', 'down', 'status', 'env', 'build', 'token', 'kafka', 'test', 'check', 'fuzz', 'bench', 'package', 'compose':
        for option in '--help', '-h':
            done = run(checkout / 'dev', command, option)
            assert (done.returncode, done.stdout, done.stderr) == (0, usage, ''), command
    assert run(checkout / 'dev', 'up', '--city', '5', '--help').stdout == usage
