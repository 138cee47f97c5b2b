#!/usr/bin/env python3
"""Does the deployment of compose/compose.yaml keep its promises while parts of it are killed? `./dev compose check` starts it, and this.

    check.py docker|podman PROJECT PEOPLE PROMETHEUS

A city moves, posts and comments in the container PEOPLE. Meanwhile a broker is killed and stays away, and one of each daemon is killed
and started again. Afterwards lists are compared with brute force over what the topics hold; `starling-load simulate --check` does the same
with pages and threads. Prometheus must reach all daemons, and SIGTERM must end each of them with exit code 0.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'e2e'))
from harness.cluster import Metrics
from harness.truth import caught_up, compare, read_lists, settle
from harness.waiting import eventually, now_ms

OPS = {'ingest': 9110, 'router': 9120, 'fanout': 9130, 'feed': 9150, 'comments': 9160, 'places': 9180, 'history-sink': 9140, 'moderation': 9170}
INSTANCES = (1, 2)
BROKER = 'kafka-2'
CITY = 60
# A partition may be without an owner for as long as a killed process and a killed broker take to be missed.
MARGIN_S = 90


def say(text):
    print(f'    {text}', flush=True)


class Engine:
    def __init__(self, program, project, people):
        self.program, self.project, self.people = program, project, people

    def run(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True)
        assert done.returncode == 0, f'{self.program} {" ".join(map(str, arguments))}: {done.stdout[-500:]}{done.stderr[-2000:]}'
        return done.stdout

    def container(self, service):
        labels = [f'label=com.docker.compose.project={self.project}', f'label=com.docker.compose.service={service}']
        identity, = self.run('ps', '-aq', '--filter', labels[0], '--filter', labels[1]).split()
        return identity

    def inside(self, *command):
        """Runs a command in the people's container, and returns what it prints."""
        return self.run('exec', self.people, *command)


class Daemon:
    def __init__(self, engine, kind, instance):
        self.engine, self.kind, self.name, self.port = engine, kind, f'{kind}-{instance}', OPS[kind]
        self.container = engine.container(self.name)

    def kill(self):
        self.engine.run('kill', '--signal', 'KILL', self.container)

    def start(self):
        self.engine.run('start', self.container)

    def ready(self):
        return subprocess.run([self.engine.program, 'exec', self.container, 'healthy'], capture_output=True).returncode == 0

    def metrics(self):
        request = 'exec 3<>"/dev/tcp/$0/$1"; printf "GET /metrics HTTP/1.1\\r\\nHost: $0\\r\\nConnection: close\\r\\n\\r\\n" >&3; cat <&3'
        return Metrics.parse(self.engine.inside('bash', '-c', request, self.name, self.port).partition('\n\n')[2])

    def ends(self):
        """Asks it to end, and returns its exit code."""
        self.engine.run('stop', '-t', 60, self.container)
        return int(self.engine.run('inspect', '--format', '{{.State.ExitCode}}', self.container))


class City:
    """`starling-load simulate` in the people's container. It settles when the file GO is there, and for as long as GOING is."""

    GO, GOING, LISTS = '/tmp/go', '/tmp/going', '/tmp/lists.csv'

    def __init__(self, engine, log):
        self.engine, self.log = engine, log
        engine.inside('touch', self.GOING)
        self.process = subprocess.Popen(
            [engine.program, 'exec', engine.people, 'starling-load', 'simulate', f'--city={CITY}', '--every=0.5', '--for=5',
             f'--wait-for={self.GO}', f'--settle-while={self.GOING}', '--settle=2', f'--lists={self.LISTS}',
             '--ws=ws://fanout-1:8081/,ws://fanout-2:8081/', '--http=http://ingest-1:8080,http://ingest-2:8080',
             '--check', '--posts=2', '--follows=2', '--reads=4', '--comments=4', '--fire=60', f'--margin={MARGIN_S}',
             '--patience=240'], stdout=log.open('wb'), stderr=subprocess.STDOUT)

    def said(self):
        return self.log.read_text()

    def rounds(self):
        return self.said().count('every phone repeats its place')

    def lives(self):
        assert self.process.poll() is None, f'the simulation ended by itself:\n{self.said()[-3000:]}'
        return True

    def number(self, what):
        """The last one that it said in front of these words."""
        found = [line for line in self.said().splitlines() if f' {what}' in line]
        return int(found[-1].split(f' {what}')[0].split()[-1]) if found else 0

    def unlink(self):
        """So that it may be what settle() calls `going`."""
        self.engine.inside('rm', self.GOING)


def trouble(engine, city, daemons):
    broker = engine.container(BROKER)
    engine.run('kill', '--signal', 'KILL', broker)
    say(f'{BROKER} is killed, and stays away')
    for number, kind in enumerate(OPS):
        daemon = daemons[kind][number % 2]
        city.lives()
        daemon.kill()
        time.sleep(1)  # the other one notices what it would notice of a machine that is gone
        daemon.start()
        say(f'{daemon.name} was killed and started again')
    eventually(lambda: all(daemon.ready() for both in daemons.values() for daemon in both), 300, every=1,
               what=f'all daemons are ready without {BROKER}')
    say(f'all daemons are ready without {BROKER}')
    engine.run('start', broker)
    say(f'{BROKER} is started again')
    eventually(lambda: all(caught_up(router) for router in daemons['router']), 120, every=1, what='both routers have caught up')


def truth(engine):
    """Last reports and friendships as the topics have them."""
    last = {}
    for line in engine.inside('starling', 'replay', 'locations', '--raw').splitlines():
        report = json.loads(line)['value']
        if report['kind'] in ('REPORT', 'JOIN') and report['time'] >= last.get(report['user'], (-1,))[0]:
            last[report['user']] = report['time'], (report['lat'], report['lng'])
    pairs = {tuple(map(int, line.split())) for line in engine.inside('starling', 'graph', 'export').splitlines() if line[0] != '#'}
    return last, pairs


def check_lists(engine, folder):
    lists = folder / 'lists.csv'
    lists.write_text(engine.inside('cat', City.LISTS))
    last, pairs = truth(engine)
    compared = compare('    lists', read_lists(lists), last, pairs, now_ms())
    assert len(last) == CITY and compared > 50, (len(last), compared)


def check_pages(city):
    for what in ('posts,', 'follows,', 'ended,', 'pages read,', 'comments,'):
        assert city.number(what) > 5, f'{city.number(what)} {what}'
    assert city.number('pages were wrong') == 0
    say(f'pages: {city.number("pages read,")} read, {city.number("posts,")} posts, {city.number("comments,")} comments, none wrong')


def check_prometheus(address):
    def reached():
        query = urllib.parse.urlencode({'query': 'up{job=~"starling-.+"}'})
        with urllib.request.urlopen(f'{address}/api/v1/query?{query}', timeout=10) as answer:
            found = json.load(answer)['data']['result']
        return len(found) == len(OPS) * len(INSTANCES) and all(series['value'][1] == '1' for series in found)
    eventually(reached, 60, every=1, what='Prometheus reaches two of every daemon')
    say('Prometheus reaches two of every daemon')


def main():
    program, project, people, prometheus = sys.argv[1:]
    engine = Engine(program, project, people)
    daemons = {kind: [Daemon(engine, kind, instance) for instance in INSTANCES] for kind in OPS}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        city = City(engine, folder / 'city.log')
        eventually(lambda: city.lives() and f' {CITY} online' in city.said() and city.number('comments,') > 5, 240, every=1,
                   what='a city that moves and talks')
        say(f'{CITY} people move, post and comment')
        trouble(engine, city, daemons)
        engine.inside('touch', City.GO)
        settle(city, daemons['router'], city, timeout=240)
        assert city.process.wait(600) == 0, city.said()[-3000:]
        check_lists(engine, folder)
        check_pages(city)
    engine.inside('starling', 'graph', 'verify')
    say('each half of a friendship and of a follow has its mirror')
    check_prometheus(prometheus)
    for both in daemons.values():
        for daemon in both:
            code = daemon.ends()
            assert code == 0, f'{daemon.name} ended with {code}:\n{engine.run("logs", "--tail", 20, daemon.container)}'
    say('each daemon ended in order at SIGTERM')
    return 0


if __name__ == '__main__':
    sys.exit(main())
