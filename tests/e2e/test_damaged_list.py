"""A friend list that is damaged on the disk ends no router and holds up no command: its partition is read anew."""
import subprocess

import pytest

from harness.cluster import build_folder
from harness.waiting import eventually
from test_router import Stage

DAMAGED = 'state is read anew: a value is damaged on the disk'


def friends(stage, user):
    answer = stage.peer(f'/peer/friends/{user}?limit=500')
    assert answer.status_code == 200, answer.text
    return [item['user'] for item in answer.json()['items']]


@pytest.mark.parametrize('reader', ['a report', 'a command', 'a page'])
def test_a_damaged_list_is_read_anew(make_cluster, users, reader):
    cluster = make_cluster()
    cluster.create_topics()
    router = cluster.add('router')
    stage = Stage(cluster)
    people = sorted(users(6))
    hub, late = people[0], people[-1]
    stage.share(*people)
    stage.befriend(*((hub, other) for other in people[1:-1]))
    router.stop()
    store = router.folder / 'data' / 'friends'
    subprocess.run([build_folder() / 'test-damage', store, f'friends-{stage.partition(hub)}', str(hub)], check=True)
    router.start()
    if reader == 'a report':
        stage.join(hub)
    elif reader == 'a command':
        stage.command('BEFRIEND', hub, late)
    else:
        stage.peer(f'/peer/friends/{hub}')
    router.wait_for_log(DAMAGED)
    wanted = people[1:] if reader == 'a command' else people[1:-1]
    eventually(lambda: friends(stage, hub) == wanted, 20)
    assert router.alive()
    assert router.log().count(DAMAGED) == 1
    # And it goes on: what is commanded now is decided.
    stage.command('REMOVE', hub, people[1])
    eventually(lambda: friends(stage, hub) == wanted[1:], 20)
