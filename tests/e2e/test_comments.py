"""starling-comments: commands in, pages out, whatever dies. Covers comments/commands.c, comments/comments.c and comments/topology.c."""
import random
import shutil

import pytest

from harness.comments import Comments, Thread, plain
from harness.waiting import eventually

SESSION = {'kafka.session.timeout.ms': 6000, 'kafka.heartbeat.interval.ms': 500}


@pytest.fixture
def start(make_cluster):
    def started(count=1):
        cluster = make_cluster(settings={f'comments:{key}': value for key, value in SESSION.items()})
        cluster.start(ingests=0, routers=0, fanouts=0, sinks=0, comments=count)
        return cluster, Comments(cluster)
    return started


def check_thread(comments, subject, model):
    """Every page in every order is what the model says."""
    roots = model.roots()
    expected = [model.shown(c) for c in roots]
    for limit in (3, 1000):
        assert [plain(c) for c in comments.thread(subject, 'floor', limit=limit)] == expected
        assert [plain(c) for c in comments.thread(subject, 'newest', limit=limit)] == expected[::-1]
        heat = comments.thread(subject, 'heat', limit=limit)
        assert sorted(c['floor'] for c in heat) == [c['floor'] for c in roots]
    for comment in comments.thread(subject, limit=1000, replies=2):
        assert [c['id'] for c in comment['replies']] == [c['id'] for c in model.under(comment['id'])][:2]
    for root in roots:
        replies = comments.all(f'replies/{subject.replace(":", "/")}/{root["id"]}', limit=2)
        assert [plain(c) for c in replies] == [model.shown(c) for c in model.under(root['id'])]
    _status, page = comments.ask(f'page/{subject.replace(":", "/")}', limit=1)
    assert (page['total'], page['likes']) == (model.total(), len(model.likers))
    likers = comments.all(f'likers/{subject.replace(":", "/")}', limit=2)
    assert [one['user'] for one in likers] == sorted(model.likers)


def do_something(comments, subject, model, chance):
    visible = [c for c in model.comments.values() if c['state'] == 'visible']
    what, user = chance.random(), chance.randrange(2, 12)
    if what < 0.4 or not visible:
        text = f'comment {chance.random()} ü'
        model.made(user, text, comments.tell('POST', subject, user, text=text, owner=1)['comment'])
        return
    about = chance.choice(visible)
    if what < 0.7:
        told = comments.tell('REPLY', subject, user, text='a reply', owner=1, comment=about['id'])
        model.made(user, 'a reply', told['comment'], about['id'])
    elif what < 0.9:
        kind = 'LIKE' if user not in about['likers'] else 'UNLIKE'
        told = comments.tell(kind, subject, user, comment=about['id'])
        about['likers'] ^= {user}
        assert told['comment']['likes'] == len(about['likers'])
    elif what < 0.93:
        told = comments.tell('UNLIKE' if user in model.likers else 'LIKE', subject, user, owner=1)
        model.likers ^= {user}
        assert told['subject']['likes'] == len(model.likers)
    elif what < 0.96:
        comments.tell('DELETE', subject, about['user'], comment=about['id'])
        about['state'] = 'deleted'
    else:
        comments.tell('HIDE', subject, 99, role='MODERATOR', comment=about['id'])
        about['state'] = 'hidden'


def test_threads_are_right_whatever_dies(start):
    cluster, comments = start(2)
    chance = random.Random(5)
    models = {f'post:{i}': Thread() for i in range(3)}
    for round_ in range(3):
        for _ in range(40):
            subject = chance.choice(list(models))
            do_something(comments, subject, models[subject], chance)
        daemon = chance.choice(cluster.of('comments'))
        daemon.kill()
        if round_ > 0:
            shutil.rmtree(daemon.folder / 'data')
        daemon.start(wait=False)
    for subject, model in models.items():
        eventually(lambda: check_thread(comments, subject, model) is None, 20)
    for daemon in cluster.of('comments'):
        daemon.wait_ready()


def test_refusals_and_repeats(start):
    _, comments = start()
    assert comments.tell('POST', 'page:a', 5, text='x')['refused'] == 'no_subject'
    told = comments.tell('REGISTER', 'page:a', 0, role='SERVICE', owner=1, level=-1, review='BEFORE', who_may='FOLLOWERS')
    assert told['refused'] is None
    assert told['subject'] | {'version': 0} == {'owner': 1, 'closed': False, 'who_may': 'followers', 'review': 'before',
                                                'level': 0, 'total': 0, 'roots': 0, 'held': 0, 'likes': 0,
                                                'version': 0, 'counters': 0}
    assert comments.tell('POST', 'page:a', 5, text='x', owner=1, who_may='FOLLOWERS')['refused'] == 'not_allowed'
    passing = comments.write('POST', 'page:a', 5, text='x', owner=1, who_may='EVERYONE')  # who did not ask for follows
    assert comments.outcome('page:a', 5, *passing)[1]['refused'] == 'old_facts'
    assert comments.outcome('page:a', 5, passing[0])[0] == 404  # nobody remembers it
    key, offset = comments.write('POST', 'page:a', 5, text='held', owner=1, follows=True)
    _status, told = comments.outcome('page:a', 5, key, offset)
    held = told['comment']
    assert (held['state'], held['text'], held['floor']) == ('held', 'held', 1)  # its author sees it
    assert comments.tell('POST', 'page:a', 5, key=key, text='again', owner=1, follows=True)['comment'] == held
    assert comments.outcome('page:a', 5, key)[1]['comment'] == held
    assert comments.outcome('page:a', 5, 'nobody knows it')[0] == 404
    _, page = comments.ask('page/page/a')
    assert [(c['id'], c['text'], c['state']) for c in page['items']] == [(held['id'], None, 'held')]
    assert comments.tell('APPROVE', 'page:a', 5, comment=held['id'])['refused'] == 'not_yours'
    told = comments.tell('APPROVE', 'page:a', 9, role='MODERATOR', comment=held['id'])
    assert told['comment']['state'] == 'visible' and told['subject']['total'] == 1
    assert comments.tell('PIN', 'page:a', 1, comment=held['id'])['pinned']
    _, page = comments.ask('page/page/a')
    assert [c['id'] for c in page['pinned']] == [held['id']]
    comments.tell('LIKE', 'page:a', 6, comment=held['id'])
    assert comments.ask('likes/page/a', user=6, ids=f'{held["id"]},5')[1] == {'liked': [held['id']]}
    assert comments.tell('LIKE', 'page:b', 6, comment=held['id'])['refused'] == 'no_subject'
    comments.tell('CLOSE', 'page:a', 1)
    refused = comments.write('POST', 'page:a', 1, text='late', owner=1)
    assert comments.outcome('page:a', 1, *refused)[1]['refused'] == 'closed'
    comments.tell('OPEN', 'page:a', 1)
    assert comments.outcome('page:a', 1, refused[0])[1]['refused'] == 'closed'  # the first answer stays


def test_banned_users_do_not_write(start):
    cluster, comments = start()
    cluster.topics.produce('bans', 5, ('comment-ban', {'until': 0, 'moderator': 9, 'reason': 'spam', 'time': 1}))
    eventually(lambda: comments.tell('POST', 'post:1', 5, text='x', owner=1)['refused'] == 'banned', 20)
    assert comments.tell('LIKE', 'post:1', 5, owner=1)['refused'] == 'banned'
    assert comments.tell('POST', 'post:1', 6, text='x', owner=1)['refused'] is None
    assert comments.tell('LIKE', 'post:1', 6, owner=1)['subject']['likes'] == 1


def test_questions_that_cannot_be_answered(start):
    cluster, comments = start()
    told = comments.tell('POST', 'post:1', 5, text='x', owner=1)
    assert comments.ask('page/post/2')[1] == {'items': [], 'next': None, 'total': 0, 'version': 0, 'counters': 0, 'likes': 0,
                                              'closed': False, 'owner': None, 'pinned': [], 'complete': True}
    assert comments.ask('subject/post/2')[0] == 404
    assert comments.ask(f'one/post/2/{told["comment"]["id"]}')[0] == 404
    assert comments.ask(f'one/post/1/{told["comment"]["id"]}')[1]['item'] == told['comment']
    for query in ({'limit': 0}, {'limit': 1001}, {'sort': 'best'}, {'replies': 21}):
        assert comments.ask('page/post/1', **query)[0] == 400
    for after in ('newest-3', 'floor', 'floor-x', 'heat-1'):
        status, problem = comments.ask('page/post/1', after=after)
        assert (status, problem['code']) == (400, 'wrong-cursor')
    partition = cluster.topics.produce('comment-commands', b'post:1', b'no command').partition
    assert comments.ask(f'counts/{partition}', subjects='post:1')[1] == {'items': [{'total': 1, 'version': 2, 'likes': 0}]}
    eventually(lambda: len(cluster.topics.read('comment-commands.dlq')) == 1, 20)
