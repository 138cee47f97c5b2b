"""Friends, places, profile, sharing and the account over HTTP; and lists that are read to their end."""
import pytest
from test_api import comment, with_api

from starling_client import (ApiError, BadRequest, Conflict, Details, Exported, FriendOutcome, Friendship, InvalidPosition, Link, LinkPlace, NamedPlace,
                             NearbyFriend, NewLink, Page, Place, PlaceEvent, Report, Sharing, Undecided, Watcher, WholeProfile)

BIG = 2**63 - 1


def requests(server):
    return [f'{method} {path}' for method, path, *_ in server.asked]


async def collect(items):
    return [item async for item in items]


@with_api
async def test_friends_have_names_and_states(server, api):
    server.answers = [(200, {'items': [{'user': BIG, 'name': 'Ada', 'avatar_url': 'https://e.org/a', 'state': 'friends', 'since': 9,
                                        'handle': 'ada'},
                                       {'user': 7, 'name': '', 'avatar_url': '', 'state': 'requested', 'since': 0}], 'next': 7})]
    page = await api.get_friends(state='all', limit=2)
    assert page == Page([Friendship(BIG, 'Ada', 'https://e.org/a', 'friends', 9, handle='ada'), Friendship(7, None, None, 'requested', None)], 7)
    assert requests(server) == ['GET /v1/friends?state=all&limit=2']


@with_api
async def test_a_friendship_is_asked_for_ended_and_prevented(server, api):
    server.answers = [(202, {'user': 8, 'state': 'pending'}), (200, {'user': 8, 'state': 'requested'}),
                      (200, {'user': 8, 'state': 'friends', 'since': 5}), (200, {'user': 8, 'state': 'none'}),
                      (200, {'user': 8, 'state': 'blocked', 'since': 6}), (200, {'user': 8, 'state': 'none'})]
    assert await api.add_friend(8) == FriendOutcome(8, 'requested', None)
    assert await api.add_friend(8) == FriendOutcome(8, 'friends', 5)
    assert [(await call(8)).state for call in (api.remove_friend, api.block, api.unblock)] == ['none', 'blocked', 'none']
    assert requests(server) == ['PUT /v1/friends/8'] * 3 + ['DELETE /v1/friends/8', 'PUT /v1/blocks/8', 'DELETE /v1/blocks/8']


@with_api
async def test_a_link_is_made_once_listed_read_without_a_token_and_ended(server, api):
    server.answers = [(202, {'id': '5', 'url': '/link.html#abc'}), (200, {'items': [{'id': '5', 'until': 9, 'rounded': True, 'made': 2}]}),
                      (200, {'name': 'Ada', 'lat': 1.5, 'lng': 2, 'time': 3, 'until': 9}), (410, {'code': 'link_over'}), (204, {})]
    assert await api.create_link(9) == NewLink('5', '/link.html#abc')
    assert (await api.get_links()).items == [Link('5', 9, True, 2)]
    assert await api.get_link_place('https://x.example/link.html#abc') == LinkPlace('Ada', 1.5, 2, 3, 9)
    with pytest.raises(ApiError, match='410') as over:
        await api.get_link_place('abc')
    assert over.value.code == 'link_over'
    await api.end_link('5')
    assert requests(server) == ['POST /v1/links', 'GET /v1/links', 'GET /v1/links/abc/place', 'GET /v1/links/abc/place', 'DELETE /v1/links/5']


@with_api
async def test_places_of_mine_are_made_changed_listed_and_deleted_and_have_events(server, api):
    home = {'id': 'home', 'name': 'Home', 'lat': 1.5, 'lng': 2, 'radius_m': 100, 'tell': 'friends'}
    server.answers = [(202, {'id': 'home'}), (200, home), (200, {**home, 'tell': [2**63 - 1, 7]}), (200, {'items': [home], 'next': 'home'}), (200, home),
                      (204, {}), (200, {'items': [{'number': 3, 'place': 'home', 'name': 'Home', 'what': 'left', 'time': 9}], 'next': 3})]
    wish = {'name': 'Home', 'lat': 1.5, 'lng': 2.0, 'radius_m': 100}
    read = NamedPlace('home', 'Home', 1.5, 2, 100, 'friends')
    assert await api.set_place('home', **wish, tell='friends') == read
    assert (await api.set_place('home', **wish, tell={7})).tell == (2**63 - 1, 7)
    assert [body for _, _, body, _ in server.asked[1:3]] == [{**wish, 'tell': 'friends'}, {**wish, 'tell': [7]}]
    page = await api.get_places(limit=1)
    assert (page.items, page.next) == ([read], 'home') and await api.get_place('home') == read
    await api.delete_place('home')
    assert (await api.get_place_events(from_ms=1, to_ms=10)).items == [PlaceEvent(3, 'home', 'Home', 'left', 9)]
    with pytest.raises(InvalidPosition):
        await api.set_place('home', **{**wish, 'lat': 91}, tell='me')
    with pytest.raises(ValueError, match='not an id'):
        await api.get_place('../me')
    assert requests(server) == ['PUT /v1/places/home'] * 3 + ['GET /v1/places?limit=1', 'GET /v1/places/home', 'DELETE /v1/places/home',
                                                             'GET /v1/places/events?from=1&to=10']


@with_api
async def test_places_of_friends_of_mine_and_who_sees_me(server, api):
    server.answers = [
        (200, {'items': [{'user': 7, 'name': 'Ada', 'avatar_url': '', 'lat': 1.5, 'lng': 2, 'time': 9, 'distance_m': 12.5, 'accuracy': 4,
                         'charging': True}], 'next': None, 'time': 8}),
        (200, {'items': [{'user': 7, 'near': True}, {'user': 8, 'near': False}], 'next': 8, 'mode': 'friends', 'visible': True}),
        (200, {'items': [{'lat': 1, 'lng': 2, 'time': 3, 'accuracy': None, 'received': 4, 'battery': 0.5}], 'next': 'c'})]
    near = await api.get_nearby(since=8)
    assert (near.items, near.next, near.time) == ([NearbyFriend(7, 'Ada', None, 1.5, 2, 12.5, 9, accuracy=4, details=Details(charging=True))], None, 8)
    audience = await api.get_audience(after=3)
    assert (audience.items, audience.mode, audience.visible) == ([Watcher(7, True), Watcher(8, False)], 'friends', True)
    history = await api.get_history(from_ms=1, to_ms=9, limit=1)
    assert (history.items, history.next) == ([Place(1, 2, 3, None, 4, Details(battery=0.5))], 'c')
    assert requests(server) == ['GET /v1/nearby?since=8', 'GET /v1/audience?after=3', 'GET /v1/history?from=1&to=9&limit=1']


@with_api
async def test_a_bad_report_is_left_out_and_the_others_are_taken(server, api):
    def bad(index):
        return 400, {'code': 'bad_time', 'detail': f'locations[{index}]', 'index': index}

    first, second, third = Report(1, 2, 3), Report(1, 2, 4), Report(1, 2, 5)
    server.answers = [bad(1), bad(1), (200, {'accepted': 1, 'sharing_off': 0}), bad(0), bad(0)]
    done = await api.report([first, second, third])
    assert (done.accepted, done.refused) == (1, [second, third])
    assert [[one['time'] for one in asked[2]['locations']] for asked in server.asked] == [[3, 4, 5], [3, 5], [3]]
    with pytest.raises(BadRequest):
        await api.report([first, second])


@with_api
async def test_reports_carry_their_times_the_same_ones_when_they_are_said_again(server, api):
    server.answers = [(503, {}), (200, {'accepted': 1, 'sharing_off': 0}), (200, {'accepted': 2, 'sharing_off': 1})]
    assert (await api.report(Report(39.98470001, 116))).accepted == 1
    first, second = (asked[2]['locations'] for asked in server.asked)
    assert first == second and first[0]['lat'] == 39.9847 and first[0]['time'] > 1_700_000_000_000
    assert (await api.report([Report(1, 2, 3, 5.0, Details(charging=False, vertical_accuracy=3)), Report(1, 2, 4)])).sharing_off == 1
    first = {'lat': 1, 'lng': 2, 'time': 3, 'accuracy': 5.0, 'charging': False, 'vertical_accuracy_m': 3}
    assert server.asked[2][2] == {'locations': [first, {'lat': 1, 'lng': 2, 'time': 4}]}


@with_api
async def test_profile_and_sharing(server, api):
    server.answers = [(200, {'user': 7, 'name': 'Ada', 'avatar_url': '', 'bio': 'Hi', 'url': ''}), (200, {'user': 8, 'name': 'Ben', 'avatar_url': 'https://e.org/b'}),
                      (503, {}), (200, {'user': 7, 'name': 'Eve', 'avatar_url': ''}), (200, {'user': 7, 'mode': 'off'}),
                      (200, {'user': 7, 'mode': 'friends', 'until': 99})]
    assert await api.get_profile() == WholeProfile(7, 'Ada', None, 'Hi', None) and (await api.get_profile_of(8)).avatar_url == 'https://e.org/b'
    assert (await api.set_profile('Eve', bio='B', url='https://e')).name == 'Eve'
    assert server.asked[-1][2] == {'name': 'Eve', 'bio': 'B', 'url': 'https://e'}
    assert [await api.get_sharing(), await api.set_sharing('friends', 99)] == [Sharing('off', None), Sharing('friends', 99)]
    assert server.asked[-1][2] == {'mode': 'friends', 'until': 99}
    assert requests(server) == ['GET /v1/profile', 'GET /v1/profiles/8', 'PUT /v1/profile', 'PUT /v1/profile', 'GET /v1/sharing',
                                'PUT /v1/sharing']


@with_api
async def test_my_own_comments_know_their_subjects(server, api):
    server.answers = [(200, {'items': [comment(5, subject='post:3')], 'next': '5'})]
    page = await api.get_comments_of(7, limit=1)
    assert (page.items[0].subject, page.items[0].text, page.next) == ('post:3', 'comment 5', '5')


@with_api
async def test_a_list_is_read_to_its_end_with_the_same_question(server, api):
    def page(users, after):
        return 200, {'items': [{'user': user, 'state': 'invited', 'since': 1} for user in users], 'next': after}

    server.answers = [page([1], 1), (503, {'code': 'owner_unavailable'}), page([], 5), page([9], None)]
    assert [one.user for one in await collect(api.all(api.get_friends(state='invited', limit=1)))] == [1, 9]
    assert requests(server) == ['GET /v1/friends?state=invited&limit=1', 'GET /v1/friends?state=invited&after=1&limit=1',
                                'GET /v1/friends?state=invited&after=1&limit=1', 'GET /v1/friends?state=invited&after=5&limit=1']
    server.answers = [(200, {'items': [comment(1)], 'next': 'c', 'total': 2, 'version': 1, 'pinned': []}, {'ETag': 'e'}),
                      (200, {'items': [comment(2)], 'next': None, 'total': 2, 'version': 1, 'pinned': []})]
    assert [one.id for one in await collect(api.all(await api.get_comments('post:5', limit=1)))] == ['1', '2']


@with_api
async def test_a_list_that_cannot_be_read_to_its_end_raises(server, api):
    server.answers = [(200, {'items': [{'user': 1}], 'next': 2, 'total': 9}), (409, {'code': 'no_position'})]
    with pytest.raises(Conflict):
        await collect(api.all(api.get_followers(7)))
    server.answers = [(503, {})]
    with pytest.raises(ApiError):
        await collect(api.all(api.get_followers(7)))  # the first page is asked for once
    with pytest.raises(TypeError):
        await collect(api.all(Page([], 'x')))


@with_api
async def test_an_export_says_of_each_item_what_it_is(server, api):
    account, friend = {'user': 7, 'name': None}, {'user': BIG, 'state': 'friends', 'since': 3}
    server.answers = [(200, {'user': 7, 'kind': 'account', 'items': [account], 'next': 'friends'}),
                      (200, {'user': 7, 'kind': 'friends', 'items': [friend], 'next': 'history'}),
                      (200, {'user': 7, 'kind': 'history', 'items': [], 'next': None})]
    assert await collect(api.all(api.get_export(limit=1000))) == [Exported('account', account), Exported('friends', friend)]
    assert requests(server)[2] == 'GET /v1/export?after=history&limit=1000'


@with_api
async def test_forgetting_is_said_again_until_nothing_is_left(server, api):
    pending = 202, {'user': 7, 'state': 'forgetting', 'removed': {}, 'at': 'posts'}
    server.answers = [pending, (200, {'user': 7, 'state': 'forgotten', 'removed': {'posts': 3}, 'at': None})]
    assert await api.forget_me() == {'posts': 3}
    server.answers = [(*pending, {'Retry-After': '60'})]
    with pytest.raises(Undecided) as raised:
        await api.forget_me()
    assert raised.value.retry_after == 60 and set(requests(server)) == {'DELETE /v1/me'}


@with_api
async def test_friends_are_told_details_if_i_choose_so(server, api):
    server.answers = [(200, {'user': 7, 'mode': 'friends', 'details': True}), (200, {'user': 7, 'mode': 'friends'})]
    assert (await api.set_sharing('friends', details=True)).details
    assert not (await api.set_sharing('friends')).details
    assert [asked[2] for asked in server.asked] == [{'mode': 'friends', 'details': True}, {'mode': 'friends'}]
