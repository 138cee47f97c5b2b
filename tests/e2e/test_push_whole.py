"""Web Push from end to end: feed processes post to clients/python-push, and a browser that has subscribed is told, while nothing is lost or repeated."""
import pytest

from harness.commenting import Commenting
from harness.feed import Feed
from harness.geo import at
from harness.push_receiver import PushReceiver
from harness.push_service import Browser, PushService
from harness.waiting import eventually


@pytest.fixture(scope='module')
def service():
    with PushService() as service:
        yield service
        assert service.complaints == []


@pytest.fixture(scope='module')
def town(make_module_cluster):
    return make_module_cluster(settings={'ingest:ingest.outcome.wait.ms': 8000, 'router:notify.approaches': 'true'}).start(sinks=0, comments=1)


@pytest.fixture(scope='module')
def receiver(town, service, tmp_path_factory):
    receiver = PushReceiver(tmp_path_factory.mktemp('push') / 'receiver', town.http_url, town.token('push', 'gateway'), service.url)
    receiver.start()
    service.key = receiver.vapid
    yield receiver
    receiver.kill()


@pytest.fixture(scope='module')
def feed(town, receiver):
    town.add('feed', settings={'notify.url': f'{receiver.url}/notify', 'notify.key.file': receiver.key_file})
    return Feed(town)


@pytest.fixture
def subscribed(town, receiver, service):
    def subscribe(user):
        browser = Browser(service, f'of-{user}')
        receiver.page(town.token(user)).ok('POST', '/push/subscriptions', json=browser.subscription)
        return browser

    return subscribe


def named(town, user, name):
    town.http(user).ok('PUT', '/v1/profile', json={'name': name})
    eventually(lambda: town.http(user).ok('GET', f'/v1/users?ids={user}')['items'][0]['name'] == name, what='the name is known')


def has(browser, *titles):
    eventually(lambda: sorted(browser.titles()) == sorted(titles), 60, what=f'{titles}, not {browser.titles()}')


def test_what_others_do_is_told(feed, town, subscribed, users):
    ada, ben = users(2)
    named(town, ben, 'Ben')
    handle = f'ada_{ada}'
    eventually(lambda: town.http(ada).put('/v1/handle', json={'handle': handle}).status_code == 200, 30, what='a handle')
    phone = subscribed(ada)
    post = feed.post(ada, 'hello')
    subject = f'post:{post["id"]}'
    feed.follow(ben, ada)
    mention = feed.post(ben, f'@{handle}')
    eventually(lambda: town.http(ben).put(f'/v1/posts/{post["id"]}/like').status_code == 200)
    reply = Commenting(town).write(subject, ben, 'well', owner=ada)
    has(phone, 'Ben follows you', 'Ben mentions you', 'Ben likes your post', 'Ben answers you')
    opens = {text['title']: text['opens'] for text in phone.pushed()}
    assert opens == {'Ben follows you': {'user': str(ben)}, 'Ben mentions you': {'post': str(mention['id']), 'comment': None},
                     'Ben likes your post': {'post': str(post['id']), 'comment': None},
                     'Ben answers you': {'post': str(post['id']), 'comment': str(reply['id'])}}


def test_a_receiver_that_dies_loses_and_repeats_nothing(feed, town, receiver, subscribed, users):
    ada, *others = users(6)
    phone = subscribed(ada)
    for other in others:
        named(town, other, f'Number {other}')
    for number, other in enumerate(others):
        post = feed.post(ada, str(number))
        if number in (1, 3):
            receiver.kill()
        eventually(lambda post=post, other=other: town.http(other).put(f'/v1/posts/{post["id"]}/like').status_code == 200)
        if number in (2, 3):
            receiver.launch()
    has(phone, *(f'Number {other} likes your post' for other in others))


def test_a_friend_who_comes_near_is_told(feed, town, subscribed, users):
    ada, ben = users(2)
    named(town, ben, 'Ben')
    town.acquaint(ada, ben)
    phone = subscribed(ada)
    assert town.report_http(ada, *at(0)).ok

    def comes():  # again and again: until the router has read who shares, it tells nobody
        for metres in 20_000, 100:
            assert town.report_http(ben, *at(metres)).ok
        return phone.titles() == ['Ben is near you']

    eventually(comes, 60, every=0.5)
