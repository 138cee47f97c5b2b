"""The harness itself, where a mistake in it would make other tests pass that should not."""
import contextlib
import pathlib
import socket
import subprocess
import sys
import time

import pytest

from harness.cluster import Metrics
from harness.geo import distance_m, north_of
from harness.ports import BLOCK, free_port
from harness.processes import Process
from harness.records import Topics, decode, encode, key_users, pair_key, user_key
from harness.waiting import eventually


def test_records_survive_the_wire(broker):
    topics = Topics(broker.bootstrap, 'harness.')
    topics.create('profiles', 3)
    for user in range(10):
        topics.produce('profiles', user, ('profile', {'name': f'user {user}', 'avatar_url': ''}))
    topics.produce('profiles', 3, None)
    assert len(topics.read('profiles')) == 11
    assert sum(topics.ends('profiles').values()) == 11
    table = topics.latest('profiles')
    assert {key_users(key)[0] for key in table} == set(range(10)) - {3}
    assert table[user_key(7)] == {'name': 'user 7', 'avatar_url': '', 'bio': '', 'url': ''}


def test_delivery_items_keep_their_kind():
    batch = {'stream_time': 1, 'oldest_received': 2, 'items': [
        ('starling.Parted', {'recipient': 1, 'friend': 2}), ('starling.Superseded', {'user': 3, 'session': 4}),
        ('starling.Left', {'user': 5, 'recipients': [6, 7]})]}
    assert decode(encode('delivery-batch', batch))['items'] == [
        ('Parted', {'recipient': 1, 'friend': 2}), ('Superseded', {'user': 3, 'session': 4}),
        ('Left', {'user': 5, 'recipients': [6, 7]})]
    envelope = {'kind': 1000, 'recipients': [1], 'payload': b'x'}
    assert decode(encode('delivery-batch', {**batch, 'items': [envelope]}))['items'] == [envelope]


def test_keys_are_big_endian():
    assert user_key(258) == b'\0\0\0\0\0\0\1\2'
    assert key_users(pair_key(1, 2**63 - 1)) == (1, 2**63 - 1)


def test_metrics_are_summed_by_label():
    page = Metrics.parse('# HELP a x\na_total{topic="l",partition="1"} 2\na_total{topic="l",partition="2"} 3\na_total_b 9\n')
    assert page.total('a_total') == 5
    assert page.total('a_total', partition=2) == 3
    with pytest.raises(KeyError):
        page.total('a_total', partition=7)


def test_distance_is_the_way_north():
    assert distance_m(40, 116, *north_of(40, 116, 1234.5)) == pytest.approx(1234.5, abs=0.02)


TAKES_PORTS = """
import sys
from harness.ports import free_port
print(*(free_port() for _ in range(120)), flush=True)
sys.stdin.read()
"""


def test_processes_beside_each_other_have_ports_of_their_own():
    with contextlib.ExitStack() as stack:
        others = [stack.enter_context(subprocess.Popen(
            [sys.executable, '-c', TAKES_PORTS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            cwd=pathlib.Path(__file__).parent)) for _ in range(4)]
        ports = [int(port) for other in others for port in other.stdout.readline().split()]
        ports += [free_port() for _ in range(120)]
        for other in others:
            other.stdin.close()
    assert len(ports) == len(set(ports)) == 5 * 120  # and nobody has bound any of them


def test_a_port_that_somebody_else_has_is_passed_over():
    while (following := free_port() + 1) % BLOCK == 0:  # another block's
        pass
    with socket.socket() as somebody:
        somebody.bind(('127.0.0.1', following))
        assert following not in {free_port() for _ in range(60)}


@pytest.mark.parametrize('script, problem', [
    ('exit 3', 'ended by itself with 3'),
    ('echo "x.c:1:2: runtime error: signed integer overflow" >&2; sleep 60', 'runtime error'),
    ('echo "==1==ERROR: AddressSanitizer: heap-use-after-free" >&2; sleep 60', 'AddressSanitizer'),
])
def test_a_process_in_trouble_is_noticed(tmp_path, script, problem):
    process = Process('victim', ['sh', '-c', script], tmp_path / 'log')
    process.launch()
    assert problem in eventually(process.problem, 5)
    process.kill()


def test_a_process_that_was_told_to_end_is_well(tmp_path):
    process = Process('sleeper', ['sleep', '60'], tmp_path / 'log')
    process.launch()
    assert process.stop() == -15
    assert process.problem() is None


def test_the_browser_runs_a_page(browser):
    page = browser.new_page()
    page.set_content('<p id=x></p><script>document.getElementById("x").textContent = 6 * 7</script>')
    assert page.text_content('#x') == '42'
    page.close()


def test_a_paused_process_stands_still(tmp_path):
    spin = 'import threading\nfor _ in range(4): threading.Thread(target=lambda: [0 for _ in iter(int, 1)]).start()'
    process = Process('spinner', [sys.executable, '-c', spin], tmp_path / 'log')

    def used_ns() -> list[str]:
        return [path.read_text().split()[0] for path in pathlib.Path(f'/proc/{process.pid}/task').glob('*/schedstat')]

    process.launch()
    try:
        for _ in range(20):
            process.pause()
            used = used_ns()
            time.sleep(0.03)
            assert used_ns() == used
            process.resume()
            time.sleep(0.02)
    finally:
        process.kill()
