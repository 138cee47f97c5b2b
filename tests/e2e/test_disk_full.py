"""A full disk under the router's store: it ends with the reason, whoever starts it again is told the same, and when there is room
it goes on, with nothing lost."""
import contextlib
import os
import subprocess

import pytest
from harness.waiting import eventually


@pytest.fixture
def small_disk(tmp_path):
    if os.geteuid() != 0:
        pytest.skip('only root can mount a small disk')
    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=32m', 'none', tmp_path], check=True)
    yield tmp_path
    subprocess.run(['umount', '--lazy', tmp_path], check=True)


def fill(disk):
    with contextlib.suppress(OSError), open(disk / 'filler', 'wb', buffering=0) as file:
        while file.write(b'x' * 4096) == 4096:
            pass


def test_a_router_on_a_full_disk_ends_with_a_reason_and_comes_back(make_cluster, users, small_disk):
    cluster = make_cluster()
    cluster.start(routers=0, sinks=0)
    router = cluster.add('router', settings={'data.dir': small_disk / 'router', 'store.memory.mb': 16})
    ada, ben = users(2)
    cluster.befriend((ada, ben))
    pairs, file = [(user, user + 1) for user in users(40_000)], small_disk.parent / 'pairs.txt'
    file.write_text(''.join(f'{a} {b}\n' for a, b in pairs))
    fill(small_disk)
    cluster.starling('graph', 'import', file)
    assert router.wait(60) == 1
    assert 'No space left on device' in router.log() and str(small_disk) in router.log()
    before = len(router.log())
    fill(small_disk)  # its end left some room
    router.start(wait=False)
    assert router.wait(60) == 1
    assert 'No space left on device' in router.log()[before:]
    (small_disk / 'filler').unlink()
    router.start()
    cluster.starling('graph', 'import', file, '--wait', 100, timeout=120)
    eventually(lambda: cluster.friends_of(ada) == {ben})
    for a, b in pairs[:3] + pairs[-3:]:
        assert b in cluster.friends_of(a) and a in cluster.friends_of(b)
    assert 'Assertion' not in router.log()
