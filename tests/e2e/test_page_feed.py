"""The page's feed, in headless Chromium, against the real pipeline: writing, following, reading, new posts as they come."""
import pytest

from harness.feed import Feed
from harness.geo import HOME
from harness.screen import PHONE, WIDE, Screen
from harness.waiting import eventually

FORBIDDEN = r'^Failed to load resource: the server responded with a status of (403|503)'  # 503: an owner's word came too late to count
UNAVAILABLE = r'^Failed to load resource: the server responded with a status of 503|^WebSocket connection to .* failed: '


@pytest.fixture(scope='module')
def feed(make_module_cluster):
    return Feed(make_module_cluster(settings={'ingest:ingest.outcome.wait.ms': 8000, 'fanout:edge.drain.s': 1}).start(
        sinks=0, feeds=1, comments=1, places=1))


@pytest.fixture(params=[WIDE, PHONE], ids=['wide', 'phone'])
def screen(request, feed, browser):
    with Screen(browser, feed.cluster.http_url, request.param, luck=0.1) as screen:
        yield screen


def signed_in(screen, feed, user):
    feed.cluster.share(user)
    feed.http(user).ok('PUT', '/v1/profile', json={'name': 'Mira'})
    eventually(lambda: feed.http(user).get(f'/v1/profiles/{user}').ok, what='my profile')
    screen.open(feed.cluster.token(user), HOME)
    screen.wait_state('online')
    screen.show_feed()


def test_new_posts_wait_and_deleted_ones_go(feed, screen, users):
    me, ben = users(2)
    feed.http(ben).ok('PUT', '/v1/profile', json={'name': 'Ben <b>Ö</b>'})
    feed.follow(me, ben)
    for number in range(45):
        feed.post(ben, f'post {number}')
    feed.wait_home(me)
    signed_in(screen, feed, me)
    screen.wait_posts(lambda: feed.expected(me))
    eventually(lambda: screen.page.text_content('#home article .name') == 'Ben <b>Ö</b>', what='the name is text')
    made = [feed.post(ben, f'new 😀 {number}') for number in range(2)]
    eventually(lambda: screen.text('#news') == '2 new posts', what='the new posts are announced')
    assert screen.posts()[0] == feed.expected(me)[2]
    screen.page.click('#news')
    screen.wait_posts(lambda: feed.expected(me))
    eventually(lambda: screen.page.text_content('#home article .text') == 'new 😀 1', what='the post is whole')
    feed.delete(ben, made[1]['id'])
    screen.wait_posts(lambda: feed.expected(me))
    while len(screen.posts()) < 46:
        shown = len(screen.posts())
        screen.page.evaluate("document.getElementById('older').scrollIntoView()")
        eventually(lambda before=shown: len(screen.posts()) > before, what='older posts come by themselves')
    screen.page.wait_for_selector('#older', state='hidden')
    assert screen.posts() == feed.expected(me)


def test_i_write_follow_unfollow_and_delete(feed, screen, users):
    me, ben = users(2)
    feed.post(ben, 'of Ben')
    eventually(lambda: feed.http(ben).put('/v1/handle', json={'handle': f'ben_{ben}'}).status_code == 200, 30, what='a handle')
    signed_in(screen, feed, me)
    eventually(lambda: 'Follow somebody' in screen.text('#feed-end'), what='nobody is followed')
    screen.page.fill('#person', f'@Ben_{ben}')
    screen.page.click('#find')
    screen.page.click('#follow[data-follow="none"]')
    screen.page.wait_for_selector('#follow[data-follow="following"]')
    feed.following[me].add(ben)
    feed.wait_home(me)
    screen.page.click('#show-home')
    screen.wait_posts(lambda: feed.expected(me))
    screen.page.click('#home article .menu summary')
    screen.page.click('#home article .menu button')
    eventually(lambda: feed.listed(me, 'following', 20) == [], what='I do not follow any more')
    eventually(lambda: screen.posts() == [], what='no post is shown')
    screen.page.click('#feed-undo')
    eventually(lambda: feed.listed(me, 'following', 20) == [ben], what='I follow again')

    screen.page.fill('#text', 'Hello 😀')
    screen.page.click('#post')
    eventually(lambda: 'Posted' in screen.text('#feed-note'), what='it is posted')
    mine = feed.http(me).ok('GET', f'/v1/users/{me}/posts')['items']
    assert [post['text'] for post in mine] == ['Hello 😀']
    screen.page.click('#show-mine')
    screen.page.wait_for_selector(f'#mine article[data-post="{mine[0]["id"]}"]')
    screen.page.click('#mine article .menu summary')
    screen.page.click('#mine article .menu button:last-of-type')
    screen.page.click('#mine article .danger')
    screen.page.wait_for_selector('#mine article', state='detached')
    assert feed.http(me).ok('GET', f'/v1/users/{me}/posts')['items'] == []


def test_posts_for_followers_are_asked_for_on_one_page_and_granted_on_another(feed, screen, browser, users):
    me, ada = users(2)
    screen.allowed = FORBIDDEN
    post = feed.post(ada, 'for those whom I accept')['id']
    with Screen(browser, feed.cluster.http_url, WIDE) as hers:
        signed_in(hers, feed, ada)
        with hers.panel():
            hers.page.wait_for_selector('#visibility[data-posts="everybody"]')
            hers.page.click('#visibility label:has([value="followers"])')
            eventually(lambda: 'Only your followers' in hers.text('#audience'), what='it is decided')
        hers.page.reload()
        hers.page.wait_for_selector('#visibility[data-posts="followers"]', state='attached')
        assert feed.http(ada).ok('GET', '/v1/visibility') == {'posts': 'followers'}

        signed_in(screen, feed, me)
        find(screen, ada)
        eventually(lambda: screen.text('#person-closed') == 'Only followers see Mira\u2019s posts.', what='the page says so')
        for state in 'requested', 'none', 'requested':
            screen.page.click('#follow')
            screen.page.wait_for_selector(f'#follow[data-follow="{state}"]')
        assert [item['user'] for item in requests(feed, ada)] == [me]
        hers.page.click('#notices summary')
        hers.page.click(f'#request-list > li[data-user="{me}"] [data-act="accept"]')
        hers.page.wait_for_selector('#requests', state='hidden')
        assert requests(feed, ada) == []
        hers.page.keyboard.press('Escape')

        eventually(lambda: sees(screen, ada, 'following', f'#of-person article[data-post="{post}"]'), 60, what='the post is there', every=1)

        hers.page.click('#show-mine')
        hers.page.click('#person-followers')
        for _ in 'Remove', 'Really?':
            hers.page.click(f'#person-people > li[data-user="{me}"] [data-act="remove"]')
        hers.page.wait_for_selector('#no-people')
        assert feed.http(ada).ok('GET', f'/v1/users/{ada}/followers')['items'] == []

        eventually(lambda: sees(screen, ada, 'none', '#person-closed'), 60, what='the post is not seen any more', every=1)


def test_the_bell_is_told_and_what_is_read_is_read_on_all_devices(feed, screen, users):
    me, ben, cleo = users(3)
    post = feed.post(me, 'what do you think?')['id']
    feed.follow(ben, me)

    def likes(user):
        eventually(lambda: feed.http(user).put(f'/v1/posts/{post}/like').status_code == 200)

    def bell(count):
        eventually(lambda: screen.text('#notice-count') == count, 60, what=f'the bell says {count}')

    signed_in(screen, feed, me)
    bell('1')
    likes(ben)
    bell('2')
    newest = feed.http(me).ok('GET', '/v1/notices')['items'][0]['id']
    assert feed.http(me).ok('PUT', '/v1/notices/read', json={'until': newest}) == {'unread': 0}
    bell('')
    likes(cleo)
    bell('1')
    screen.page.click('#notices summary')
    eventually(lambda: screen.page.text_content('#notice-list > li.new .what') == f'User {cleo} and User {ben} like your post', what='both')
    bell('')
    assert feed.http(me).ok('GET', '/v1/notices')['unread'] == 0
    screen.page.keyboard.press('Escape')
    with screen.panel():
        screen.page.click('#told summary')
        screen.page.click('#told input[name="like-live"]:enabled')
        eventually(lambda: feed.http(me).ok('GET', '/v1/notices/preferences')['like'] == {'live': False, 'push': True}, what='it is chosen')


def find(screen, user):
    screen.page.fill('#person', str(user))
    screen.page.click('#find')
    screen.page.wait_for_selector(f'#person-card[data-user="{user}"]')


def sees(screen, user, follow, shown):
    find(screen, user)
    return screen.page.is_visible(f'#follow[data-follow="{follow}"]') and screen.page.is_visible(shown)


def requests(feed, user):
    return feed.http(user).ok('GET', '/v1/followers/requests')['items']


def test_the_owner_is_away_and_comes_back(feed, screen, users):
    me, ben = users(2)
    screen.allowed = UNAVAILABLE
    feed.follow(me, ben)
    feed.post(ben, 'before')
    feed.wait_home(me)
    signed_in(screen, feed, me)
    screen.wait_posts(lambda: feed.expected(me))
    owner = feed.cluster.feeds[0]
    owner.kill()
    screen.page.reload()
    screen.wait_state('online')
    screen.show_feed()  # a phone begins with the map
    screen.page.wait_for_selector('#feed-problem', state='attached')
    eventually(lambda: 'cannot be read' in screen.text('#feed-problem'), what='the page says so')
    owner.start()
    feed.post(ben, 'after', timeout=60)
    eventually(lambda: screen.take_news() or screen.posts() == feed.expected(me), 60, what='the feed is back')
    screen.page.wait_for_selector('#feed-problem', state='hidden')
