"""Comments under load while processes stand still or are killed: nothing is lost or there twice, and floors, orders and counters are what
one counts."""
import collections
import random
import time

import pytest

from harness.commenters import Commenters
from harness.commenting import Commenting
from harness.waiting import eventually

SESSION = {'kafka.session.timeout.ms': 6000, 'kafka.heartbeat.interval.ms': 500}
STILL_S = 20
PEOPLE, SUBJECTS = 24, 3


@pytest.fixture
def start(make_cluster, users):
    """-> (Commenters, their ids): the cluster with those daemons, and some subjects."""
    def started(settings=SESSION, **daemons):
        cluster = make_cluster(settings={'comments:comments.user.rate': 0,
                                         **{f'comments:{key}': value for key, value in settings.items()}})
        cluster.start(fanouts=0, sinks=0, feeds=1, **daemons)
        site, *people = users(1 + PEOPLE)
        comments = Commenting(cluster)
        return Commenters(cluster, {(comments.new_subject if n else comments.new_post)(site): site for n in range(SUBJECTS)}), people
    return started


def draw(people, count, *kinds):
    """Each user's deeds, drawn from (what, weight)."""
    chance = random.Random(7)
    return {user: chance.choices([what for what, _ in kinds], [weight for _, weight in kinds], k=count) for user in people}


def check_threads(crowd):
    comments = Commenting(crowd.cluster)
    comments.threads = crowd.threads()
    for subject in crowd.owners:
        eventually(lambda name=subject: comments.check(name, limit=100) is None, 20)
    crowd.check_order()
    return comments.threads


def check_records(crowd, threads):
    """The topics hold each like once and each key once, and the counters equal what one counts there."""
    comments = {id: comment for known in threads.subjects.values() for id, comment in known.comments.items()}
    likes = collections.Counter(int.from_bytes(key[-16:-8]) for key, record in crowd.cluster.topics.latest('reactions').items()
                                if record['likes'])
    of_subjects = sum(len(known.likes) for known in threads.subjects.values())  # under 0
    assert of_subjects and likes == {0: of_subjects, **{id: len(comment.likes) for id, comment in comments.items() if comment.likes}}
    texts = crowd.cluster.topics.latest('comment-texts')
    assert sorted(int.from_bytes(key[-8:]) for key in texts) == sorted(comments)
    written = [(record['user'], record['key']) for record in texts.values()]
    assert len(set(written)) == len(written)


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize('processes', [1, 2])
def test_writers_are_acknowledged_while_the_owner_stands_still(start, processes):
    """With two processes the other one takes over, and the one that stood still finds itself fenced."""
    crowd, people = start(settings=SESSION if processes == 2 else {}, comments=processes)
    crowd.hurry = True
    crowd.run(draw(people, 10, ('post', 3), ('like', 2)))
    owner = crowd.cluster.comments[0]
    acknowledged = []

    def stand_still():
        crowd.answers.clear()
        owner.pause()
        try:
            time.sleep(STILL_S)  # that long nobody answers
        finally:
            acknowledged.append(crowd.answers.copy())
            owner.resume()

    crowd.run(draw(people, 50, ('post', 3), ('like', 2)), [(0.1, stand_still)])
    crowd.run(draw(people, 10, ('post', 3), ('like', 2)))  # the former owner is only waking up
    told, = acknowledged
    assert {status for _, status in told} <= {200, 201, 202}, told
    least = PEOPLE if processes == 1 else 0
    assert told['write', 202] > least and told['like', 202] > least, told
    threads = check_threads(crowd)
    assert len(crowd.made) > 500
    check_records(crowd, threads)


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_nothing_is_lost_or_twice_when_owner_gateway_and_moderation_are_killed(start):
    crowd, people = start(comments=1, moderators=1)
    cluster = crowd.cluster

    def killed(daemon):
        return lambda: (daemon.kill(), daemon.start())

    deeds = draw(people, 160, ('post', 25), ('reply', 15), ('like', 45), ('unlike', 5), ('delete', 5), ('hide', 2))
    crowd.run(deeds, [(0.15, killed(cluster.comments[0])), (0.35, killed(cluster.ingest)), (0.5, killed(cluster.moderators[0])),
                      (0.6, killed(cluster.ingest)), (0.75, killed(cluster.comments[0]))])
    assert any(status == 'lost' for _, status in crowd.answers), crowd.answers
    threads = check_threads(crowd)
    check_records(crowd, threads)
    moderator = cluster.http(crowd.moderator, scope='moderator')

    def found(subject):
        kind, id = subject.split(':')
        return {int(item['id']): (item['user'], item['text'], item['state'])
                for item in moderator.items('/v1/moderation/comments', type=kind, id=id, limit=1000)}

    for subject, known in threads.subjects.items():
        wanted = {c.id: (c.user, None if c.state == 'deleted' else c.text, c.state) for c in known.comments.values()}
        eventually(lambda name=subject, all=wanted: found(name) == all, 20, what=f'all of {subject} is found')
