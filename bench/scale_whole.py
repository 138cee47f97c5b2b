"""Whole deployments at small parts of the headline load, and the CPU of each tier beside what starling-plan says of just that load.

All tiers run, as many processes as the plan wants, with one broker and one copy of each record: phones on sockets that report, posts by HTTP,
pages of home timelines, and a subject that everybody reads. People report, post and read as often as at the headline load; there are only
fewer of them. CPU is user and system time of the processes, less that of the broker's compilers; nothing is measured before these have
compiled nearly all that they will."""
import contextlib
import importlib.machinery
import importlib.util
import json
import random
import subprocess
import sys
import time

import edge_world
from harness.cluster import REPOSITORY, build_folder
from harness.waiting import eventually
from machine import compiler_s, cpu_s

HEADLINE = {'online': 10e6, 'posts': 6000, 'pages': 300_000, 'hot-reads': 1e6}
FRIENDS, AUTHORS, FOLLOWERS, POSTS_BEFORE = 40, 400, 500, 3000
WARM_S = 60
PHONES_MOST, CONNECTIONS, PREPARING = 17_000, 16, 200  # connections, while nothing is measured
READERS, IDLE_S = 5000, 20
FEED = '/v1/feed?limit=20'
TIERS = {'edge': 'fanout', 'router': 'router', 'ingest': 'ingest', 'feed': 'feed', 'comments': 'comments', 'history sink': 'history-sink'}


def starling_plan():
    loader = importlib.machinery.SourceFileLoader('starling_plan', str(REPOSITORY / 'tools/starling-plan'))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader('starling_plan', loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


def plan_of(part):
    """All friends of a user are online and near: those of the other nine tenths cost routers alone. Nobody comes or goes, or watches a feed."""
    module = starling_plan()
    given = {'friends': FRIENDS, 'near': 1, 'replication': 1, 'stay': 1e9, 'followers': FOLLOWERS}
    given |= {name: value / part for name, value in HEADLINE.items()}
    return module.Plan(module.load_of({name: f'{value:.6f}' for name, value in given.items()}, sys.exit))


def user(number):
    """As bench/people.h."""
    return 10_000_000 + number * 37


def answer_of(program) -> dict:
    return json.loads(program.communicate()[0])


class Deployment:
    def __init__(self, world, plan, chance):
        self.world, self.plan, self.cluster, self.people = world, plan, world.cluster, world.sessions
        self.gateway = self.hot = None
        self.chance = chance

    def start(self):
        for tier, kind in TIERS.items():
            for _ in range(max(1, int(self.plan.tiers[tier].processes))):
                own = self.world.edge_settings if kind == 'fanout' else {'log.level': 'warn'}
                self.cluster.add(kind, settings={**own, 'edge.flush.window.ms': 1000} if kind == 'fanout' else own)
        self.gateway = self.cluster.ingest.settings['ingest.listen'].split(':')

    def prepare(self):
        """Who follows whom, as many as bench/feed_model.py says; posts that pages show; and what everybody reads."""
        authors, follows = [user(number) for number in range(AUTHORS)], self.cluster.folder / 'follows'
        with open(follows, 'w') as file:
            for author in authors:
                wanted = FOLLOWERS * .3 * ((1 - self.chance.random()) ** (-1 / 1.3) - 1)
                for number in self.chance.sample(range(self.people), min(self.people, round(wanted))):
                    if user(number) != author:
                        file.write(f'{user(number)} {author}\n')
        self.cluster.starling('follows', 'import', follows, '--wait', 300, timeout=400)
        for name, users in (('authors', authors), ('readers', [user(number) for number in range(min(self.people, READERS))])):
            (self.cluster.folder / name).write_text(''.join(self.cluster.token(one) + '\n' for one in users))
        (self.cluster.folder / 'post').write_text(json.dumps({'text': 'x' * 140}))
        # One after the other: inboxes begin with the first pages, which are whole once there are posts.
        for begin in (lambda: self.posts(POSTS_BEFORE / 10, 10, PREPARING)), (lambda: self.pages(FEED, READERS / 10, 10, PREPARING)):
            answer = answer_of(begin())
            assert answer['bad'] == 0, answer
        self.hot = '/v1/comments/post/' + self.cluster.http(authors[0]).ok('POST', '/v1/posts', json={'text': 'x' * 140})['id']
        for number in range(40):
            one = self.cluster.http(user(number))
            eventually(lambda one=one: one.post(self.hot, json={'text': 'x' * 140}).status_code == 201, 60, every=.5)

    def http(self, *words):
        return subprocess.Popen([build_folder() / 'bench-http', *map(str, words)], stdout=subprocess.PIPE, text=True)

    def posts(self, rate, seconds, connections=CONNECTIONS):
        return self.http('post', *self.gateway, '/v1/posts', self.cluster.folder / 'authors', connections, rate, seconds,
                         self.cluster.folder / 'post', 'application/json')

    def pages(self, path, rate, seconds, connections=CONNECTIONS):
        return self.http('read', *self.gateway, path, self.cluster.folder / 'readers', connections, rate, seconds)

    def phones(self, processes, seconds):
        """They have their first pages when they begin to report."""
        each, load = self.people // processes, self.plan.load
        return [subprocess.Popen([build_folder() / 'bench-edge_live', *map(str, (
            'latency', '--key-file', self.cluster.keys.secret_file, '--listen', self.cluster.fanouts[0].settings['edge.listen'], '--sessions', each,
            '--of', self.people, '--first', number * each, '--friends', FRIENDS, '--source', 1 + number, '--seconds', seconds, '--rates',
            each / load.every))], stdout=subprocess.PIPE, text=True) for number in range(processes)]

    def sessions(self):
        return sum(edge.metrics().total('starling_edge_sessions') for edge in self.cluster.fanouts)

    def cpu(self):
        found = {tier: sum(cpu_s(daemon.pid) for daemon in self.cluster.of(kind)) for tier, kind in TIERS.items()}
        broker = self.world.broker.pid
        return found | {'brokers': cpu_s(broker) - compiler_s(broker)}, compiler_s(broker)


def busy_cores(deployment, seconds):
    """Of each tier, and of the broker's compilers."""
    (before, compiling), began = deployment.cpu(), time.monotonic()
    time.sleep(seconds)
    (after, compiled), took = deployment.cpu(), time.monotonic() - began
    return {tier: (after[tier] - before[tier]) / took for tier in after}, (compiled - compiling) / took


def measure(deployment, processes, seconds) -> dict:
    """Cores of each tier, and before there is any load; how quickly reports reach friends; how many of the pages and posts were refused."""
    load, total = deployment.plan.load, WARM_S + seconds + 5
    idle, _ = busy_cores(deployment, IDLE_S)
    phones = deployment.phones(processes, total)
    try:
        eventually(lambda: deployment.sessions() >= deployment.people // processes * processes, 300, every=1, what='all phones are there')
        with contextlib.ExitStack() as stack:
            readers = {'pages': deployment.pages(FEED, load.pages, total), 'hot': deployment.pages(deployment.hot + '?limit=20', load.hot_reads, total),
                       'posts': deployment.posts(load.posts, total)}
            for process in readers.values():
                stack.callback(process.kill)
            time.sleep(WARM_S)
            busy, compilers = busy_cores(deployment, seconds)
            answers = {name: answer_of(process) for name, process in readers.items()}
        seen = [answer_of(process) for process in phones]
    finally:
        for process in phones:
            process.kill()
    return {'idle': idle, 'cores': busy, 'compilers': compilers, 'phones': seen, 'answers': answers}


def run_part(part, options) -> dict:
    plan = plan_of(part)
    processes = -(-int(plan.load.online) // PHONES_MOST)
    people = int(plan.load.online) // processes * processes
    with edge_world.World(people, friends=FRIENDS, partitions=int(plan.partitions), routes=int(plan.routes), processes=processes) as world:
        deployment = Deployment(world, plan, random.Random(options.seed))
        deployment.start()
        deployment.prepare()
        found = measure(deployment, processes, options.seconds)
    return {'part': part, 'plan': {tier: plan.tiers[tier].cores for tier in found['cores']}, **found}


def show(row):
    print(f"1/{row['part']} of the headline load; the broker's compilers took {row['compilers']:.3f} cores more")
    print(f"{'tier':14} {'plan, cores':>12} {'measured':>9} {'measured / plan':>16} {'idle':>7}")
    for tier, cores in row['cores'].items():
        print(f"{tier:14} {row['plan'][tier]:12.4f} {cores:9.4f} {cores / row['plan'][tier] if row['plan'][tier] else 0:16.2f} {row['idle'][tier]:7.4f}")
    for phones in row['phones']:
        print(f"report to a friend's screen: p50 {phones['p50_us'] / 1000:.0f} ms, p99 {phones['p99_us'] / 1000:.0f} ms")
    for name, answer in row['answers'].items():
        print(f"{name}: {answer['per_s']:.0f}/s, {answer['bad']} refused, p99 {answer['p99_ms']:.1f} ms", flush=True)


def run(options, result):
    result['whole'] = []
    for part in map(int, options.parts.split(',')):
        result['whole'].append(run_part(part, options))
        show(result['whole'][-1])
