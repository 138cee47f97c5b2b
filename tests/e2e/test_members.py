"""Members of consumer groups: what a process does whose place is taken."""
import pytest

from harness.waiting import eventually


@pytest.mark.parametrize('kind', ['router', 'fanout', 'history-sink'])
def test_whose_name_another_takes_ends_and_says_why(make_cluster, kind):
    """Two processes with one group.instance.id, by mistake; or one that was away for longer than its session. librdkafka
    gives up for good. The process must not stay behind, ready but with nothing to do."""
    counts = {'routers': 0, 'fanouts': 0, 'sinks': 0}
    cluster = make_cluster().start(ingests=0, **counts)
    first = cluster.add(kind, settings={'group.instance.id': 'the-one'})
    second = cluster.add(kind, settings={'group.instance.id': 'the-one'})
    assert first.wait(30) == 1
    assert 'event=failed' in first.log() and 'group.instance.id' in first.log()
    eventually(second.ready, what='the second one has the place')
    assert second.alive()
