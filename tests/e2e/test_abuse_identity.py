"""Attacks on who is who: by somebody on the same machine, by a page in a browser, with names that show what they are not."""
import requests


def test_being_on_the_machine_is_no_identity(make_cluster, users):
    """A page of any origin, and any user of the machine, reach the ports of loopback: neither ends a daemon, nor reads of people."""
    cluster = make_cluster().start()
    user, = users(1)
    token = {'Authorization': f'Bearer {cluster.keys.peer_token}'}
    for daemon in cluster.daemons:
        drain = f'http://{daemon.ops}/drain'
        assert requests.post(drain, timeout=5).status_code == 401
        assert requests.post(drain, timeout=5, headers={**token, 'Origin': 'http://localhost:3000'}).status_code == 403
        assert requests.post(drain, timeout=5, headers={**token, 'Host': 'rebound.example'}).status_code == 421
        assert requests.get(f'http://{daemon.ops}/metrics', timeout=5, headers={'Host': '[::1]evil'}).status_code == 421
    for base in (cluster.sinks[0].peer, cluster.routers[0].peer):
        for path in (f'/peer/history/{user}', f'/peer/friends/{user}'):
            assert requests.get(f'http://{base}{path}', timeout=5).status_code == 401
            assert requests.get(f'http://{base}{path}', timeout=5, headers={**token, 'Host': 'rebound.example'}).status_code == 421
    assert all(daemon.ready() for daemon in cluster.daemons)
    assert cluster.sinks[0].drain().status_code == 202
    assert cluster.sinks[0].wait() == 0
