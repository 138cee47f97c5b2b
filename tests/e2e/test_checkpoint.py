"""A router that has lost its disk starts from a checkpoint of its friend lists and reads only what followed."""
import os
import shutil

import pytest

from harness.waiting import eventually
from test_router import Stage

APPLIED = 'starling_router_friendships_applied_total'


def friends(stage, user):
    return [item['user'] for item in stage.peer(f'/peer/friends/{user}?limit=500').json()['items']]


@pytest.mark.parametrize('same_disk', [True, False], ids=['links', 'copied to another machine'])
def test_a_lost_disk_is_replaced_by_a_checkpoint(make_cluster, users, tmp_path, same_disk):
    cluster = make_cluster()
    checkpoints = tmp_path / 'checkpoints'
    cluster.create_topics()
    router = cluster.add('router', settings={'checkpoint.dir': checkpoints, 'checkpoint.every.s': 1, 'checkpoint.keep': 2})
    stage = Stage(cluster)
    people = users(40)
    hub, parted, late = people[0], people[1], people[-1]
    stage.befriend(*((hub, other) for other in people[1:-1]))

    # One that was begun after all that was applied.
    made = router.total('starling_router_checkpoints_total', result='made')
    eventually(lambda: router.total('starling_router_checkpoints_total', result='made') >= made + 2, 20)
    assert len([path for path in checkpoints.iterdir() if '.' not in path.name]) <= 2
    router.kill()
    shutil.rmtree(router.folder / 'data')
    settings = {'checkpoint.every.s': 3600}
    if not same_disk:  # hard links of the old machine's do not count there
        shutil.copytree(checkpoints, tmp_path / 'copied')
        shutil.rmtree(checkpoints)
        settings['checkpoint.dir'] = tmp_path / 'copied'

    # Records that have come since are read from the topic.
    stage.command('REMOVE', hub, parted)
    stage.command('BEFRIEND', hub, late)
    before = sum(stage.topics.ends('friendships').values())
    assert before >= 2 * len(people[1:-1])
    router.start(**settings)
    stage.wait_applied()
    eventually(lambda: friends(stage, hub) == sorted(people[2:]), 20)
    assert friends(stage, parted) == []
    assert friends(stage, late) == [hub]
    for other in people[2:-1]:
        assert friends(stage, other) == [hub]
    # The two commands' halves, and not the others, which the checkpoint had.
    assert router.total(APPLIED) == 4
    assert 'the store begins with a checkpoint' in router.log()


@pytest.mark.parametrize('ends', [False, True], ids=['goes on', 'ends'])
def test_it_lives_while_a_checkpoint_is_copied(make_cluster, tmp_path, ends):
    """From another filesystem that takes its time; here a file of it has no end until the test says so."""
    checkpoints = tmp_path / 'checkpoints'
    cluster = make_cluster()
    cluster.create_topics()
    router = cluster.add('router', settings={'checkpoint.dir': checkpoints, 'checkpoint.every.s': 3600})
    eventually(lambda: router.total('starling_router_checkpoints_total', result='made') == 1, 20)
    router.kill()
    shutil.rmtree(router.folder / 'data')
    slow = next(checkpoints.iterdir()) / 'zz-slow'
    os.mkfifo(slow)
    router.start(wait=False)
    router.wait_for_log('a checkpoint is being copied')
    assert router.get('/healthz').status_code == 200
    assert router.get('/readyz').status_code == 503
    assert router.get('/metrics').status_code == 200
    if ends:
        router.terminate()
        eventually(lambda: 'draining' in router.log(), 10)
        assert router.alive()
    with slow.open('wb') as file:
        file.write(b'x')
    if ends:
        assert router.wait() == 0
        assert not (router.folder / 'data/friends').exists()
    else:
        router.wait_ready()
        assert 'the store begins with a checkpoint' in router.log()


def test_an_end_waits_for_the_checkpoint_under_way(make_cluster, tmp_path):
    """The router first sweeps what an earlier process was about to make: so many files that a SIGTERM comes in the middle of it."""
    checkpoints = tmp_path / 'checkpoints'
    left = checkpoints / 'checkpoint-0000000000001.tmp'
    left.mkdir(parents=True)
    for i in range(100_000):
        os.mknod(left / str(i))
    cluster = make_cluster()
    cluster.create_topics()
    router = cluster.add('router', settings={'checkpoint.dir': checkpoints, 'checkpoint.every.s': 3600})
    eventually(lambda: not left.exists(), 20, every=0.01, what='it is being swept')
    swept = checkpoints / f'{left.name}.gone'
    assert swept.exists()
    assert router.stop() == 0
    assert not swept.exists()
    assert 'checkpoint made' in router.log()
    assert 'was left open' not in router.log()
