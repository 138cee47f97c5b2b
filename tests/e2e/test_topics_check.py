"""`starling topics check`: what it finds, and that `topics create` mends what it says that it does."""
import struct

from harness.records import encode
from harness.waiting import eventually


def check(cluster):
    done = cluster.starling('topics', 'check', check=False)
    return done.returncode, done.stdout




def test_what_is_missing_or_differs_is_said_and_mended(make_cluster):
    cluster = make_cluster(partitions=3)
    code, said = check(cluster)
    assert code == 1 and f'{cluster.prefix}locations: is missing' in said and 'create --partitions 16' in said
    cluster.create_topics()
    code, said = check(cluster)
    assert code == 0 and said.startswith('Nothing to do'), said

    cluster.topics.set('locations', 'retention.ms', 5000)
    cluster.topics.set('posts', 'min.insync.replicas', 2)
    name = cluster.topics.name('bans')
    cluster.topics.admin.delete_topics([name])[name].result(30)

    def told():
        code, said = check(cluster)
        assert code == 1
        assert f'{cluster.prefix}locations: retention.ms is 5000, not 86400000\n' in said, said
        assert f'{cluster.prefix}bans: is missing\n' in said, said
        assert f'{cluster.prefix}posts: min.insync.replicas is 2, and there are 1 copies: nothing can be written' in said, said
        assert 'starling topics create --partitions 3 --delivery-partitions 4' in said, said
        return True

    eventually(told, 20, every=0.5)
    cluster.create_topics()
    cluster.topics.set('posts', 'min.insync.replicas', 1)
    eventually(lambda: check(cluster)[0] == 0, 20, every=0.5)


def test_records_of_a_newer_version_are_found(make_cluster):
    cluster = make_cluster(partitions=3)
    cluster.create_topics()
    cluster.topics.produce('profiles', 7, ('profile', {'name': 'Ada', 'avatar_url': ''}))
    assert check(cluster)[0] == 0
    newer = struct.pack('>bI', 0, 4_000_000) + encode('profile', {'name': 'Ben', 'avatar_url': ''})[5:]
    cluster.topics.produce_all('profiles', [(8, newer), (9, newer)])
    code, said = check(cluster)
    assert code == 1
    assert f'{cluster.prefix}profiles: 2 of the newest records have a schema that this version does not know (the last one: 4000000)' in said


def test_topics_that_do_not_fit_together_have_a_way_out(make_cluster):
    cluster = make_cluster(partitions=3)
    cluster.create_topics()
    cluster.topics.grow('sharing', 5)

    def told():
        code, said = check(cluster)
        assert code == 1 and f'{cluster.prefix}profiles: has 3 partitions, and other topics of users have 5' in said, said
        return '"More partitions"' in said and 'topics create' not in said

    eventually(told, 20, every=0.5)
