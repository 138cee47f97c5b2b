"""Texts that people read, in the languages of the page (web/public/lang)."""
from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

DEFAULT = 'en'
_MANY = 16  # starling tells of the first likes one by one, and later only whenever they have doubled: from here on nobody can count them

# Of one who has done so, and of several.
_WORDS = {
    'en': {
        'follow': ('{who} follows you', '{who} follow you'),
        'request': ('{who} asks to follow you', '{who} ask to follow you'),
        'accepted': ('{who} accepted your request to follow', '{who} accepted your requests to follow'),
        'mention': ('{who} mentions you', '{who} mention you'),
        'reply': ('{who} answers you', '{who} answer you'),
        'like': ('{who} likes your post', '{who} like your post'),
        'like comment': ('{who} likes your comment', '{who} like your comment'),
        'like subject': ('{who} likes what you shared', '{who} like what you shared'),
        'approach': ('{who} is near you', '{who} are near you'),
        'arrived': ('{who} arrived at {place}', '{who} arrived at {place}'),
        'left': ('{who} left {place}', '{who} left {place}'),
        'arrived myself': 'You arrived at {place}',
        'left myself': 'You left {place}',
        'one other': '{who} and 1 other',
        'others': '{who} and {count} others',
        'many': '{who} and many others',
        'unknown': 'User {user}',
    },
    'zh': {
        'follow': ('{who}关注了你', '{who}关注了你'),
        'request': ('{who}请求关注你', '{who}请求关注你'),
        'accepted': ('{who}接受了你的关注请求', '{who}接受了你的关注请求'),
        'mention': ('{who}提到了你', '{who}提到了你'),
        'reply': ('{who}回复了你', '{who}回复了你'),
        'like': ('{who}赞了你的动态', '{who}赞了你的动态'),
        'like comment': ('{who}赞了你的评论', '{who}赞了你的评论'),
        'like subject': ('{who}赞了你的分享', '{who}赞了你的分享'),
        'approach': ('{who}在你附近', '{who}在你附近'),
        'arrived': ('{who}到达了{place}', '{who}到达了{place}'),
        'left': ('{who}离开了{place}', '{who}离开了{place}'),
        'arrived myself': '你到达了{place}',
        'left myself': '你离开了{place}',
        'one other': '{who}和另外1人',
        'others': '{who}和另外{count}人',
        'many': '{who}和许多人',
        'unknown': '用户 {user}',
    },
}
LANGUAGES: Sequence[str] = tuple(_WORDS)


def language_for(asked: object) -> str:
    """The language of a page's locale, such as zh-CN."""
    word = re.split('[-_]', asked)[0].lower() if isinstance(asked, str) else ''
    return word if word in _WORDS else DEFAULT


def sentence(language: str, what: str, subject: str | None, comment: str | None, user: int, name: str | None, people: int,
             place: str | None = None, myself: bool = False) -> str:
    """user, name: who did it last; people: how many did it, at least one. place: where. myself: whoever is told did it."""
    words = _WORDS[language]
    where = _isolated(place or '')
    if myself and f'{what} myself' in words:
        return str(words[f'{what} myself']).format(place=where)
    if what == 'like' and comment is not None:
        what = 'like comment'
    elif what == 'like' and not (subject or '').startswith('post:'):
        what = 'like subject'
    who = _isolated(name) if name else str(words['unknown']).format(user=user)
    if people > 1:
        form = 'many' if what.startswith('like') and people >= _MANY else 'one other' if people == 2 else 'others'
        who = str(words[form]).format(who=who, count=people - 1)
    return words[what][people > 1].format(who=who, place=where)


def _isolated(name: str) -> str:
    """A name that is written from right to left does not turn the sentence around."""
    right_to_left = any(unicodedata.bidirectional(letter) in ('R', 'AL') for letter in name)
    return f'\u2068{name}\u2069' if right_to_left else name
