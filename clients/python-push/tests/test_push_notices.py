"""Posts to notify.url: which are believed, and how they are read."""
import hashlib
import hmac
import json

import pytest

from starling_push.notices import MOST_LATE_MS, Refused, check_signature, read_post

KEY = b'k' * 40
NOW = 1_785_500_003_000
FOLLOW = {'id': '1785500000000.1.9', 'user': 7, 'what': 'follow', 'from': 9, 'subject': None, 'comment': None, 'time': 1785500000000}


def post(*items, sent=NOW):
    return json.dumps({'sent': sent, 'items': items}).encode()


def read(*items, **more):
    return read_post(post(*items, **more), NOW)


def test_a_signature_is_of_the_whole_body():
    body = post(FOLLOW)
    good = 'sha256=' + hmac.new(KEY, body, hashlib.sha256).hexdigest()
    check_signature(body, good, KEY)
    for wrong in '', good[:-1], good.upper(), good.removeprefix('sha256='), 'sha256=é':
        with pytest.raises(Refused):
            check_signature(body, wrong, KEY)
    with pytest.raises(Refused):
        check_signature(body + b' ', good, KEY)
    with pytest.raises(Refused):
        check_signature(body, good, KEY + b'k')


@pytest.mark.parametrize('age', [MOST_LATE_MS, -MOST_LATE_MS, 0])
def test_a_post_of_the_last_minutes_is_read(age):
    assert len(read(FOLLOW, sent=NOW - age)[0]) == 1


@pytest.mark.parametrize('age', [MOST_LATE_MS + 1, -MOST_LATE_MS - 1])
def test_an_old_post_is_refused(age):
    with pytest.raises(Refused, match='ago'):
        read(FOLLOW, sent=NOW - age)


@pytest.mark.parametrize('body', [b'', b'{', b'[]', b'{"items":[]}', b'{"sent":1785500003000}', b'{"sent":true,"items":[]}', b'{"sent":"1","items":[]}',
                                  b'{"sent":1785500003000,"items":{}}', b'\xff'])
def test_other_bodies_are_refused(body):
    with pytest.raises(Refused):
        read_post(body, NOW)


def test_every_kind_of_the_contract_is_read():
    notices, unknown = read(
        FOLLOW, {**FOLLOW, 'id': 'b', 'what': 'mention', 'subject': 'post:123'}, {**FOLLOW, 'id': 'c', 'what': 'reply', 'subject': 'post:123', 'comment': '12'},
        {'id': '1785500000000.7.9', 'user': 7, 'what': 'approach', 'from': 9, 'subject': None, 'comment': None,
         'friend': 9, 'distance_m': 431.5, 'time': 1785500000000},
        {**FOLLOW, 'id': 'd', 'what': 'arrived', 'place': 'Home'}, {**FOLLOW, 'id': 'e', 'what': 'left', 'place': 'Home'})
    assert unknown == 0
    assert [(notice.what, notice.user, notice.sender, notice.subject, notice.comment) for notice in notices] == [
        ('follow', 7, 9, None, None), ('mention', 7, 9, 'post:123', None), ('reply', 7, 9, 'post:123', '12'), ('approach', 7, 9, None, None),
        ('arrived', 7, 9, None, None), ('left', 7, 9, None, None)]
    assert [notice.place for notice in notices] == [None] * 4 + ['Home'] * 2


@pytest.mark.parametrize('change', [{'what': 'poke'}, {'id': ''}, {'id': 'x' * 101}, {'id': 7}, {'user': -1}, {'user': 2**63}, {'user': True}, {'user': '7'},
                                    {'from': None}, {'time': -1}, {'time': 1.5}, {'subject': 5}, {'comment': 'x' * 201},
                                    {'what': []}, {'what': 'arrived'}, {'what': 'left', 'place': 5}, {'what': 'left', 'place': ''},
                                    {'subject': '\ud800'}, {'id': '\udfff'}])
def test_an_item_that_cannot_be_read_spoils_no_other(change):
    notices, unknown = read({**FOLLOW, **change}, FOLLOW, 'no item')
    assert len(notices) == 1 and unknown == 2


def topic(**change):
    return read({**FOLLOW, **change})[0][0].topic


def test_what_is_told_as_one():
    day = 86_400_000
    assert topic() == topic(id='other', **{'from': 10}) != topic(time=FOLLOW['time'] + day)
    like = {'what': 'like', 'subject': 'post:1'}
    assert topic(**like) == topic(**like, id='other') != topic(**{**like, 'subject': 'post:2'})
    assert topic(**like) != topic(**like, comment='5') and topic(**like) != topic()
    assert topic(what='reply') != topic(what='reply', id='other')
