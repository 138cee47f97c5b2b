"""Dead owners: processes that stand still (SIGSTOP) for longer than their session, and wake up when others have their work. They answer
nothing old, and write nothing: what they may have written is in what the world checks."""
import concurrent.futures
import time

import requests

from harness.http import Http
from harness.waiting import eventually

from .tiers import COMMENTS, EDGE, FEED, GATEWAY, HISTORY_SINK, MODERATION, ROUTER, drill_each

STILL_S = 15   # longer than a session (6 s)
ASKED_S = 5    # after it woke up
BEFRIENDED = 6  # pairs meanwhile: some are of its partitions
NOT_MINE = 421, 503


def friends_of(world):
    """{question: whether an answer is new} for a router: friendships that were acknowledged, and some of before."""
    friends = {a: {b} for a, b in world.friendships} | {user: world.walkers.friends[user] for user in world.walkers.people[:8]}
    return {f'/peer/friends/{user}': (lambda answer, wanted=wanted: wanted <= {item['user'] for item in answer['items']})
            for user, wanted in friends.items()}


def posts_of(world):
    known = {user: len(world.authors.feed.posts[user]) for user in world.authors.people}
    return {f'/peer/user/{user}': (lambda answer, least=least: answer['posts'] >= least) for user, least in known.items()}


def comments_of(world):
    known = {subject: len(made) for subject, made in world.talkers.under.items()}
    return {'/peer/comments/subject/' + subject.replace(':', '/'): (lambda answer, least=least: answer['total'] >= least)
            for subject, least in known.items()}


def ask(world, daemon, question):
    """The answer as JSON; None: the process says that it is not the one to ask, or it cannot be reached."""
    try:
        answer = Http(f'http://{daemon.peer}', world.cluster.keys.peer_token).get(question, timeout=60)
    except requests.ConnectionError:
        return None
    assert answer.status_code in (200, *NOT_MINE), f'{question}: {answer.status_code} {answer.text}'
    return answer.json() if answer.status_code == 200 else None


def owns_some(world, daemon, questions):
    return any(ask(world, daemon, question) is not None for question in questions)


def taken_over(world, daemon, questions):
    """Somebody else answers all of them."""
    others = [other for other in world.cluster.of(daemon.kind) if other is not daemon]
    return all(any(ask(world, other, question) is not None for other in others) for question in questions)


KNOWN = {'router': friends_of, 'feed': posts_of, 'comments': comments_of}


def stand_still(world, daemon):
    """KNOWN has questions, and what a new answer to each is. They wait in its sockets when it wakes up, and go on for some seconds."""
    known = KNOWN[daemon.kind]
    eventually(lambda: owns_some(world, daemon, known(world)), 30, every=0.5, what=f'{daemon.name} owns something')
    daemon.pause()
    try:
        time.sleep(STILL_S)
        eventually(lambda: taken_over(world, daemon, known(world)), 30, every=0.5, what='others have taken over')
        for _ in range(BEFRIENDED):
            world.befriend()
        questions = known(world)
        with concurrent.futures.ThreadPoolExecutor(len(questions)) as pool:
            asked = {question: pool.submit(ask, world, daemon, question) for question in questions}
            time.sleep(0.5)  # they are sent
            daemon.resume()
            for question, future in asked.items():
                answer = future.result()
                assert answer is None or questions[question](answer), f'an old answer to {question}: {answer}'
    finally:
        daemon.resume()
    end = time.monotonic() + ASKED_S
    while time.monotonic() < end:
        for question, new in known(world).items():
            answer = ask(world, daemon, question)
            assert answer is None or new(answer), f'an old answer to {question}: {answer}'


def still(_world, daemon):
    daemon.pause()
    time.sleep(STILL_S)
    daemon.resume()


FAULT = '{} stands still for 15 s, and wakes up'
drill_each('pause', FAULT, [ROUTER, FEED, COMMENTS], stand_still)
drill_each('pause', FAULT, [
    EDGE._replace(notice='phones of that edge find out when they ask whether it is there', within=(40, 10, 10)),
    GATEWAY._replace(notice='requests are answered late', within=(10, 20, 20)), HISTORY_SINK, MODERATION], still)
