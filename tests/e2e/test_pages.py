"""Commands of README's "Five minutes", docs/CLI.md and others, taken from the pages and run as they stand there (tests/pages.txt)."""
import gzip
import json
import pathlib
import re
import shutil
import subprocess
import sys

import pages
import pytest
from harness.broker import REPOSITORY
from harness.certificate import Certificate
from harness.cluster import build_folder
from harness.jwks import Provider
from harness.people import People, settings_of
from harness.processes import clean_environment
from harness.waiting import eventually

SAMPLES = pathlib.Path(__file__).parent / 'samples'
README, CLI, SCALING, OPERATIONS = 'README.md', 'docs/CLI.md', 'docs/SCALING.md', 'docs/OPERATIONS.md'
MARK = '### block '
# `./dev` and the programs, against a cluster of the tests. What goes on until somebody interrupts it is interrupted.
PROGRAMS = r'''
starling() {
    local endless=()
    case " $* " in *' watch '* | *' --follow '*) endless=(timeout --preserve-status -s INT 6) ;; esac
    "${endless[@]}" "$BUILD/starling" "$@" --config "$SETTINGS"
}
starling-comments-convert() { "$TOOLS/starling-comments-convert" "$@"; }
dev() {
    case $1 in
    env) printf '%s\n' page="$HTTP" api="$HTTP/v1" ws="$WS" ;;
    token) cat "$TOKENS/$2" ;;
    starling) starling "${@:2}" ;;
    *) return 9 ;;
    esac
}
# A person needs a moment between two commands, and others get to see a change in that time.
trap 'command sleep 0.5' DEBUG
'''


class Shell:
    """Runs blocks of a page in one shell, in a folder of its own."""

    def __init__(self, cluster, folder, tokens):
        self.cluster, self.folder = cluster, folder
        cluster.command_settings.update({'api.url': cluster.http_url, 'ws.url': cluster.ws_url})
        cluster.starling('topics', 'check')  # writes the command's settings
        (folder / 'tokens').mkdir()
        for user, token in tokens.items():
            (folder / 'tokens' / str(user)).write_text(token + '\n')
        self.environment = {**clean_environment(), 'BUILD': str(build_folder()), 'TOOLS': str(REPOSITORY / 'tools'), 'TOKENS': str(folder / 'tokens'),
                            'HTTP': cluster.http_url, 'WS': cluster.ws_url, 'SETTINGS': str(cluster.folder / 'starling.properties')}

    def run(self, *blocks, before='', **variables):
        """-> what each block prints. A command that fails fails the test."""
        script = PROGRAMS + before + ''.join(f'\necho "{MARK}"\n{block}\n' for block in blocks)
        done = subprocess.run(['bash', '-euc', 'set -o pipefail\n' + script.replace('./dev ', 'dev ')], cwd=self.folder, capture_output=True,
                              text=True, env={**self.environment, **variables})
        assert done.returncode == 0, f'{done.returncode}\n{done.stdout}\n{done.stderr}'
        printed = done.stdout.split(MARK + '\n')[1:]
        assert len(printed) == len(blocks)
        return printed


MINUTES = 10


def first_minutes(cluster, shell, number, change=lambda block: block):
    """All but the last block of "Five minutes", for people with those numbers: 279, 1001, 1002 and 1003 there."""
    blocks = pages.section(README, 'Five minutes')
    assert len(blocks) == MINUTES, 'a block was added: say here what it must print'
    # A minute is the longest that it takes: one asks again until the other one is there.
    wait = 'sleep() { for ((i = 0; i < $1; i++)); do as 1002 $api/discover | grep -q 1003 && return; command sleep 1; done; }\n'
    *first, records = map(change, blocks[:-1])
    said = shell.run(*first, before=change(wait).replace(f'-q {change("1003")}', f'-q {number[1003]}'))
    eventually(lambda: cluster.starling('status', check=False).returncode == 0, timeout=30, what='all is healthy')
    said += shell.run(records)
    assert not [answer for answer in said if '"status":4' in answer or '"status":5' in answer], said
    assert re.fullmatch(rf'{cluster.http_url}/#token=[\w.-]+&at=52.52,13.405\n', said[1])
    assert said[3].count('Good morning') == 3 and str(number[279]) in said[3].splitlines()[-1]
    assert 'And to you' in said[4] and '"text":"Good evening"' in said[4]
    visibility, request, requests, accepted, posts = map(json.loads, said[5].splitlines())
    assert (visibility, accepted) == ({'posts': 'followers'}, {'user': number[1002], 'follower': True})
    assert request == {'user': number[279], 'following': False, 'state': 'requested'}
    assert [item['user'] for item in requests['items']] == [number[1002]] and [item['text'] for item in posts['items']] == ['Good evening']
    assert f'"items":[{{"user":{number[1003]}' in said[6]
    assert re.search(rf' near {number[1001]} 14\d\.\d m Mira Sund$', said[7], re.MULTILINE), said[7]
    assert all(part in said[8] for part in (f'"value":{{"user": {number[1001]}', f'"key":[{number[1001]},{number[279]}]',
                                            f'{{"user":{number[279]},', '\nhealthy\n')), said[8]


@pytest.mark.slow
def test_the_five_minutes_of_the_readme(make_cluster, tmp_path):
    cluster = make_cluster(settings={'history-sink:history.roll.s': 1}).start(feeds=1, comments=1, places=1, moderators=1)
    cluster.http(279).ok('PUT', '/v1/profile', json={'name': 'Ole Berg'})
    cluster.share(279)
    cluster.report_http(279, 52.52, 13.405)
    users = (279, 1001, 1002, 1003)
    shell = Shell(cluster, tmp_path, {user: cluster.token(user) for user in users})
    first_minutes(cluster, shell, {user: user for user in users})

    (tmp_path / 'run/venv/bin').mkdir(parents=True)
    for name, target in ('python', sys.executable), ('pip', shutil.which('true')):
        (tmp_path / 'run/venv/bin' / name).write_text(f'#!/bin/sh\nexec {target} "$@"\n')
        (tmp_path / 'run/venv/bin' / name).chmod(0o755)
    for sink in cluster.sinks:
        assert sink.stop() == 0
    (tmp_path / 'run/history').symlink_to(cluster.history)
    rows, = shell.run(pages.section(README, 'Five minutes')[-1], before='dev() { :; }\npython3() { :; }\n')
    assert 'rows, the last:' in rows and "'user'" in rows


@pytest.mark.slow
def test_the_five_minutes_with_the_ids_of_a_provider(make_cluster, tmp_path):
    """The API takes texts; what it answers, and what operators' commands take, are numbers. `watch` is given the user's token."""
    names = {279: 'ole', 1001: 'mira.sund', 1002: 'noor', 1003: 'waad-x_3'}
    with Provider() as provider:
        provider.publish('one')
        cluster = make_cluster(settings=settings_of(provider)).start(feeds=1, comments=1, places=1, moderators=1)
        people = People(cluster, provider)
        number = {user: people.me(name)['user'] for user, name in names.items()}
        people.http('ole').ok('PUT', '/v1/sharing', json={'mode': 'friends'})

        def change(block):
            def line(text):
                known = number if text.startswith('./dev starling') else names
                text = re.sub(r'\b(279|100[123])\b', lambda match: str(known[int(match[1])]), text)
                return text.replace(' --at ', ' --token "$(./dev token ole)" --at ') if ' watch ' in text else text
            return ''.join(map(line, block.splitlines(keepends=True)))

        first_minutes(cluster, Shell(cluster, tmp_path, {name: people.token(name) for name in names.values()}), number, change)


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_the_examples_of_the_commands(make_cluster, tmp_path):
    cluster = make_cluster(partitions=16, delivery_partitions=64, settings={'history-sink:history.roll.s': 1})
    cluster.start(feeds=1, comments=1, places=1, moderators=1)
    shell = Shell(cluster, tmp_path, {7: cluster.token(7)})
    cluster.share(7, 8)
    cluster.befriend((7, 8))
    cluster.report_http(7, 39.98, 116.31)
    cluster.report_http(8, 39.981, 116.31)
    cluster.http(7).ok('PUT', '/v1/follows/8')
    post = cluster.http(8).ok('POST', '/v1/posts', json={'text': 'from eight'})['id']
    cluster.http(7).ok('POST', '/v1/posts', json={'text': 'from seven'})
    cluster.http(7).ok('POST', f'/v1/comments/post/{post}', json={'text': 'a comment'})
    eventually(lambda: 'from eight' in cluster.starling('feed', 7, check=False).stdout)
    for name in 'friends', 'follows':
        with gzip.open(tmp_path / f'{name}.txt.gz', 'wt') as file:
            file.write('21 22\n22 23\n')
    shutil.copy(SAMPLES / 'wordpress.xml', tmp_path / 'site.xml')
    (tmp_path / 'authors').write_text('')

    def of(*headings):
        """The blocks under those headings, for this cluster."""
        text = [block.replace('post:123', f'post:{post}').replace('yesterday.', f'{cluster.prefix}copy.').replace('http://127.0.0.1:8080', '$HTTP')
                for block in pages.section(CLI, *headings)]
        assert len(text) == len(headings), headings
        return text

    eventually(lambda: cluster.starling('status', check=False).returncode == 0, timeout=30, what='all is healthy')
    status, watch, replay, _, history, posts, thread = shell.run(
        *of('status', 'watch', 'replay', 'Copying topics', 'history', 'posts and feed', 'comments'))
    assert status.startswith('healthy') and 'fanout' in status
    assert re.search(r' near 8 11\d\.\d m *$', watch, re.MULTILINE), watch
    assert {line.split(',')[0] for line in replay.split()} == {'7', '8'}
    assert '<gpx' in history and '39.98' in history
    assert [line.split()[-2:] for line in posts.splitlines()][:2] == [['"from', 'seven"'], ['"from', 'eight"']], posts
    assert 'a comment' in thread

    _, _, topics, letters, trace, _ = shell.run(
        *of('Moving comments', 'graph and follows', 'topics', 'dlq', 'trace', 'starling-comments-convert'), TOKEN=cluster.token(7), SECRET='salt')
    assert gzip.decompress((tmp_path / 'comments.jsonl.gz').read_bytes()).count(b'"a comment"') == 1
    assert cluster.friends_of(22) == {21, 23}
    assert sorted(cluster.starling('follows', 'export').stdout.split('\n')) == ['', '21 22', '22 23', '7 8']
    assert 'kafka-acls' in topics and 'User:starling-router' in topics
    assert 'post-commands' in trace and ' posts ' in trace, trace
    assert '{' not in letters and '0 records' in letters, letters
    exported, = shell.run(*of('export and forget'))
    assert '"account"' in exported and re.search(r'^.*friends.*8', exported, re.MULTILINE)
    assert cluster.friends_of(7) == set()


def commands_of(page, beginning):
    return [command for _, _, lines in pages.blocks((REPOSITORY / page).read_text()) for command in pages.commands(lines)
            if command.startswith(beginning)]


@pytest.mark.parametrize('page', (CLI, SCALING))
def test_plans(page):
    found = commands_of(page, 'starling-plan')
    assert found
    for command in found:
        words = re.sub(r' \[[^\]]*\]|\b[NPQ]\b', lambda match: '' if match[0].startswith(' ') else '1000', command).split()
        done = subprocess.run([REPOSITORY / 'tools' / words[0], *words[1:]], capture_output=True, text=True)
        assert done.returncode == 0 and 'router' in done.stdout, done


def test_metrics_that_operators_look_for(make_cluster, tmp_path):
    """Those of a deployment with the packages' ports, whose edge has a certificate."""
    settings = {f'fanout:{key}': value for key, value in Certificate().write(tmp_path).items()}
    cluster = make_cluster(settings=settings).start(sinks=0)
    ops = {'9120': cluster.routers[0].ops, '9130': cluster.fanouts[0].ops}
    found = commands_of(OPERATIONS, 'curl -s http')
    assert len(found) == 2
    for command in found:
        command, changed = re.subn(r'[0-9.]+:(\d+)/metrics', lambda match: f'{ops[match[1]]}/metrics', command)
        assert changed == 1
        subprocess.run(['bash', '-euc', f'set -o pipefail; {command}'], check=True, stdout=subprocess.DEVNULL)


def test_certificates_of_a_secured_broker(tmp_path):
    recipe = pages.section(OPERATIONS, 'A secured cluster')[0]
    subprocess.run(['bash', '-euc', recipe], cwd=tmp_path, check=True, capture_output=True)
    assert 'broker.pem: OK' in subprocess.run(['openssl', 'verify', '-CAfile', 'authority.pem', 'broker.pem'], cwd=tmp_path, check=True,
                                              capture_output=True, text=True).stdout
    text = subprocess.run(['openssl', 'x509', '-in', 'broker.pem', '-noout', '-text'], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert 'DNS:kafka-1.example, IP Address:10.0.0.1' in text
