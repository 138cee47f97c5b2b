"""Fixtures. README.md beside this file is the guide."""
import collections
import itertools
import os
import pathlib
import shutil
import signal

import pytest

from harness.broker import REPOSITORY, Broker
from harness.brokers import Brokers
from harness.cluster import KINDS, Cluster, build_folder
from harness.machines import Network, why_there_are_none
from harness.secured import SecuredBroker
from harness.waiting import PATIENCE

# A broker here lives for some minutes and has little to do: compiling itself well would cost more than it gains.
Broker.java_options = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC']

_clusters: list[Cluster] = []


def _jars() -> pathlib.Path:
    given = os.environ.get('STARLING_KAFKA_LIB')
    found = [pathlib.Path(given)] if given else sorted((REPOSITORY / '.cache').glob('kafka-*[0-9]'))
    if not found:
        pytest.exit('no Kafka: run the tests by `./dev test e2e`, which fetches it', 2)
    return found[-1]


def _tools() -> pathlib.Path:
    """Kafka's own commands."""
    given = os.environ.get('STARLING_KAFKA_TOOLS_LIB')
    found = [pathlib.Path(given)] if given else sorted((REPOSITORY / '.cache').glob('kafka-*-tools'))
    assert found, 'no commands of Kafka: run the tests by `./dev test e2e`, which fetches them'
    return found[-1]


def pytest_collection_modifyitems(items):
    """Files with many slow tests come first: one that began last would run alone at the end."""
    slow = collections.Counter(item.path for item in items if item.get_closest_marker('slow'))
    items.sort(key=lambda item: -slow[item.path])
    for item in items:
        if limit := item.get_closest_marker('timeout'):
            item.add_marker(pytest.mark.timeout(PATIENCE * limit.args[0]), append=False)


def pytest_sessionstart(session):
    if not session.config.option.collectonly and not (build_folder() / 'starling').exists():
        pytest.exit(f'{build_folder()}/starling is not built: run the tests by `./dev test e2e`', 2)
    # What a shell starts in the background ignores interrupts, and so would all processes that the tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope='session')
def broker(tmp_path_factory):
    """The tests' own Kafka broker. A test that stops it must start it again."""
    broker = Broker(tmp_path_factory.mktemp('kafka'), _jars()).start()
    yield broker
    broker.kill()


@pytest.fixture(scope='module')
def secured_broker(tmp_path_factory):
    """A broker with TLS, a password for each program, and no ACLs yet."""
    broker = SecuredBroker(tmp_path_factory.mktemp('secured'), _jars(), _tools(),
                           ['starling', 'nobody', *(f'starling-{kind}' for kind in KINDS)]).start()
    yield broker
    broker.kill()


@pytest.fixture(scope='module')
def network():
    """Five machines, that is: network namespaces."""
    missing = why_there_are_none()
    if missing:
        pytest.skip(missing)
    with Network(5) as network:
        yield network


@pytest.fixture(scope='module')
def brokers(network, tmp_path_factory):
    """Three brokers of one cluster, on the first three machines. `broker` has nothing to do with them."""
    brokers = Brokers(tmp_path_factory.mktemp('brokers'), _jars(), network.machines[:3]).start()
    yield brokers
    brokers.kill()


def _maker(broker, tmp_path_factory):
    made = []

    def make(**options) -> Cluster:
        cluster = Cluster(broker, tmp_path_factory.mktemp('cluster'), **options)
        made.append(cluster)
        _clusters.append(cluster)
        return cluster

    yield make
    try:
        for cluster in made:
            cluster.stop()
        problems = [problem for cluster in made for problem in cluster.problems()]
        assert not problems, '\n'.join(problems)
    finally:
        for cluster in made:
            cluster.kill()
            if broker.alive():
                cluster.topics.remove_all()
            _clusters.remove(cluster)


@pytest.fixture
def make_cluster(broker, tmp_path_factory):
    """make_cluster(partitions=4, settings={...}): a Cluster with topics of its own, not started. Stopped at the test's end."""
    yield from _maker(broker, tmp_path_factory)


@pytest.fixture(scope='module')
def make_module_cluster(broker, tmp_path_factory):
    """The same, for clusters that all tests of a module share."""
    yield from _maker(broker, tmp_path_factory)


@pytest.fixture(scope='module')
def make_secured_cluster(secured_broker, tmp_path_factory):
    """The same on the secured broker, each program with the user of its own name."""
    yield from _maker(secured_broker, tmp_path_factory)


@pytest.fixture(scope='module')
def make_spread_cluster(brokers, tmp_path_factory):
    """The same on the three brokers; `add(kind, place=machine)` starts daemons on the other machines."""
    yield from _maker(brokers, tmp_path_factory)


@pytest.fixture
def cluster(make_cluster):
    """One of each daemon, for this test alone: it may kill, pause, restart."""
    return make_cluster().start()


@pytest.fixture(scope='module')
def shared_cluster(make_module_cluster):
    """One of each daemon, shared by the module's tests: leave it as it was, and take users from `users`."""
    return make_module_cluster().start()


@pytest.fixture
def sinks(make_cluster):
    """sinks(2, settings): a cluster of history sinks alone, with files every second."""
    def start(count=1, settings=None, **options):
        cluster = make_cluster(settings={'history-sink:history.roll.s': 1, **(settings or {})}, **options)
        return cluster.start(ingests=0, routers=0, fanouts=0, sinks=count)

    return start


@pytest.fixture(scope='session')
def browser():
    """Debian's Chromium, headless, driven by Playwright: browser.new_page()."""
    from playwright.sync_api import sync_playwright
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which('chromium') or '/usr/bin/chromium',
                                             args=['--no-sandbox', '--disable-dev-shm-usage'])
        yield browser
        browser.close()


_next_user = itertools.count(1_000_000)


@pytest.fixture
def users():
    """users(3): three user ids, rising, that no other test has."""
    return lambda count: list(itertools.islice(_next_user, count))


@pytest.fixture
def user(users):
    """The id of the one user that a test is about; where others are named, too, she is called `ada`."""
    return users(1)[0]


ada = user


@pytest.fixture(autouse=True)
def _daemons_are_well():
    """In every test no daemon may have died by itself, and no sanitizer may have reported."""
    yield
    problems = [problem for cluster in _clusters for problem in cluster.problems()]
    assert not problems, '\n'.join(problems)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """A failure shows the ends of all logs."""
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        for cluster in _clusters:
            for daemon in cluster.daemons:
                report.sections.append((f'{daemon.name} of {cluster.prefix} ({daemon.log_path})', daemon.tail()))
