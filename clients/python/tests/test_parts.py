"""The list, the back-off, the tokens and the frames, without a socket or a clock."""
import base64
import json
import math

import pytest

from starling_client import distance_m
from starling_client.backoff import backoff_s, directed_s
from starling_client.frames import parse_frame
from starling_client.geo import round_position
from starling_client.nearby import NearbyList
from starling_client.tokens import TokenSource, expiry_of

NOW = 1_700_000_000_000
HERE = 39.9847, 116.3184


def item(user, metres, time=NOW, **more):
    return {'user': user, 'name': f'Friend {user}', 'avatar_url': '', 'lat': round(HERE[0] + metres / 111195.0797, 7),
            'lng': HERE[1], 'distance_m': metres, 'time': time, **more}


def page(*users, total=None, next=None):
    return {'type': 'nearby', 'items': [item(user, user * 10) for user in users], 'total': total or len(users), 'next': next}


@pytest.fixture
def nearby():
    made = NearbyList()
    made.configure(8046.72, 600_000, 120_000)
    made.place(*HERE)
    return made


def users(friends):
    return [friend.user for friend in friends]


def test_the_first_page_is_the_list_nearest_first(nearby):
    nearby.restart(page(3, 1, 2), NOW)
    assert users(nearby.list()) == [1, 2, 3] and nearby.total == 3 and not nearby.has_more
    assert nearby.list()[0].distance == pytest.approx(10, abs=0.02)


def test_pages_are_asked_for_until_they_cover_what_is_wanted(nearby):
    nearby.restart(page(*range(20), total=45, next='a'), NOW)
    assert nearby.next_request() is None and nearby.total == 45 and nearby.has_more
    nearby.more()
    assert nearby.next_request() == 'a' and nearby.next_request() is None
    nearby.page(page(*range(20, 40), total=45, next='b'), NOW)
    assert len(nearby.list()) == 40
    assert nearby.next_request(everything=True) == 'b'
    nearby.page(page(*range(40, 45), total=45), NOW)
    assert nearby.complete and len(nearby.list()) == 40 and len(nearby.known()) == 45


def test_a_server_that_goes_round_in_circles_is_not_asked_for_ever(nearby):
    nearby.restart(page(1, total=9, next='a'), NOW)
    assert nearby.next_request(everything=True) == 'a'
    nearby.page(page(1, total=9, next='a'), NOW)
    assert nearby.next_request(everything=True) is None


def test_a_page_that_does_not_come_is_given_up_until_more_is_wanted(nearby):
    nearby.restart(page(*range(20), total=45, next='a'), NOW)
    nearby.more()
    assert nearby.next_request() == 'a'
    nearby.give_up_request()
    assert nearby.next_request() is None
    nearby.more()
    assert nearby.next_request() == 'a'


def test_a_new_connection_asks_for_as_much_as_was_known(nearby):
    nearby.restart(page(*range(20), total=40, next='a'), NOW)
    nearby.more()
    nearby.next_request()
    nearby.page(page(*range(20, 40), total=40), NOW)
    nearby.disconnected()
    assert len(nearby.known()) == 40
    nearby.restart(page(*range(20), total=40, next='b'), NOW)
    assert nearby.next_request() == 'b'


def test_updates_say_who_came_and_went(nearby):
    nearby.restart(page(1, 2), NOW)
    came, gone = nearby.update({'near': [item(9, 5), item(1, 15)], 'gone': [2, 77]}, NOW)
    assert (users(came), gone, users(nearby.known())) == ([9], [2], [9, 1])


def test_a_move_of_mine_sorts_anew_and_hides_who_is_outside_until_i_turn_back(nearby):
    nearby.restart({'items': [item(1, 100), item(2, 8000)], 'total': 2, 'next': None}, NOW)
    nearby.place(HERE[0] - 0.001, HERE[1])
    assert users(nearby.known()) == [1]
    nearby.place(HERE[0] + 0.06, HERE[1])
    assert users(nearby.known()) == [2, 1]


def test_stale_then_gone_at_that_very_millisecond(nearby):
    nearby.restart({'items': [item(1, 1, NOW), item(2, 2, NOW - 130_000)], 'total': 2, 'next': None}, NOW)
    assert [friend.stale for friend in nearby.known()] == [False, True]
    assert nearby.next_expiry() == NOW + 120_000
    assert nearby.expire(NOW + 119_999) == ([], False)
    assert nearby.expire(NOW + 120_000) == ([], True)
    assert nearby.next_expiry() == NOW + 470_000
    assert nearby.expire(NOW + 470_000) == ([2], False)
    nearby.update({'near': [item(1, 1, NOW + 471_000)]}, NOW + 471_000)
    assert not nearby.known()[0].stale and nearby.total == 1


def test_unusable_items_are_left_out(nearby):
    broken = [None, 7, {}, {'user': 1}, item(True, 1), item('2', 1), item(3, 1, 'now'), {**item(4, 1), 'lat': 91},
              {**item(5, 1), 'lng': math.nan}]
    nearby.restart({'items': [*broken, item(6, 1, name='', avatar_url=7)], 'total': 'many', 'next': None}, NOW)
    assert [(friend.user, friend.name, friend.avatar_url) for friend in nearby.known()] == [(6, None, None)]


@pytest.mark.parametrize('text', ['', '{', '[]', 'null', '7', b'{}', '{"type":"nearby"}', '{"type":"nearby","items":7}',
                                  '{"type":"update","gone":"0"}', '{"type":"welcome"}', '{"type":"welcome","user":"7"}'])
def test_what_is_no_frame_is_refused(text):
    with pytest.raises(ValueError):
        parse_frame(text)


def test_back_off_is_any_time_within_a_window_that_doubles_to_a_limit():
    assert backoff_s(0, lambda: 0) == 0.1
    assert backoff_s(0, lambda: 0.5) == 0.5
    assert backoff_s(3, lambda: 0.5) == 4
    assert backoff_s(1000, lambda: 0.5) == 30
    assert backoff_s(0, lambda: 0, 5) == 5
    assert backoff_s(0, lambda: 0.5, 5) == 7.5
    assert directed_s(2, lambda: 0.5) == pytest.approx(2.1)


def test_a_position_is_checked_and_rounded():
    assert round_position(1.00000004, -1.00000006) == (1.0, -1.0000001)
    for bad in (91, 0), (0, 181), (math.nan, 0), (0, math.inf):
        with pytest.raises(ValueError):
            round_position(*bad)
    assert distance_m(0, 0, 0, 180) == pytest.approx(math.pi * 6_371_008.8)


def token(end):
    body = base64.urlsafe_b64encode(json.dumps({'sub': '7', 'exp': end}).encode()).decode().rstrip('=')
    return f'x.{body}.y'


def test_a_token_function_is_asked_before_the_token_ends():
    assert expiry_of(token(1234)) == 1234
    assert expiry_of('x.y.z') is None and expiry_of('') is None
    assert TokenSource(token(NOW / 1000 + 600)).renew_in(token(NOW / 1000 + 600), NOW) is None
    source = TokenSource(lambda: 'jwt')
    assert source.renew_in('jwt', NOW) is None
    assert source.renew_in(token(NOW / 1000 + 600), NOW) == pytest.approx(540)
    assert source.renew_in(token(NOW / 1000 + 10), NOW) == pytest.approx(8)
    assert source.renew_in(token(NOW / 1000 - 10), NOW) == 1


def test_a_refused_token_is_replaced_once():
    source = TokenSource(lambda: 'jwt')
    assert source.refused() and not source.refused()
    source.trust()
    assert source.refused()
    assert not TokenSource('jwt').refused()
