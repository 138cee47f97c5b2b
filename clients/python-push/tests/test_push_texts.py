"""Texts that people read."""
import pathlib
import re

import pytest

from starling_push.notices import KINDS
from starling_push.texts import LANGUAGES, language_for, sentence

PAGE = pathlib.Path(__file__).parents[3] / 'web/public/lang'


def english(what='follow', subject=None, comment=None, name='Mira', people=1):
    return sentence('en', what, subject, comment, 9, name, people)


def test_one_and_several():
    assert english() == 'Mira follows you'
    assert english(people=2) == 'Mira and 1 other follow you'
    assert english(people=3) == 'Mira and 2 others follow you'
    assert sentence('zh', 'follow', None, None, 9, 'Mira', 3) == 'Mira和另外2人关注了你'


def test_what_is_liked():
    assert english('like', 'post:1') == 'Mira likes your post'
    assert english('like', 'post:1', '5') == 'Mira likes your comment'
    assert english('like', 'photo:1') == 'Mira likes what you shared'


def test_likes_that_starling_does_not_tell_one_by_one_are_not_counted():
    assert english('like', 'post:1', people=15) == 'Mira and 14 others like your post'
    assert english('like', 'post:1', people=16) == 'Mira and many others like your post'
    assert english(people=16) == 'Mira and 15 others follow you'


def test_where_somebody_is():
    assert sentence('en', 'arrived', None, None, 9, 'Mira', 1, 'Home {who}') == 'Mira arrived at Home {who}'
    assert sentence('en', 'left', None, None, 9, None, 1, 'Home') == 'User 9 left Home'
    assert sentence('en', 'arrived', None, None, 7, 'Ada', 1, 'Home', myself=True) == 'You arrived at Home'
    assert sentence('zh', 'left', None, None, 7, 'Ada', 1, 'Home', myself=True) == '你离开了Home'
    assert sentence('en', 'follow', None, None, 9, 'Mira', 1, myself=True) == 'Mira follows you'


def test_names_as_they_come():
    assert english(name=None) == 'User 9 follows you' == english(name='')
    assert english(name='{who}') == '{who} follows you'
    hebrew = '\u05de\u05d9\u05e8\u05d4'
    assert english(name=hebrew) == f'\u2068{hebrew}\u2069 follows you'


@pytest.mark.parametrize('language', LANGUAGES)
def test_every_kind_has_a_text(language):
    for what in KINDS:
        for people in 1, 2, 3, 20:
            text = sentence(language, what, 'post:1', None, 9, 'Mira', people)
            assert 'Mira' in text and not re.search('[{}]', text)


def test_the_languages_are_those_of_the_page():
    assert set(LANGUAGES) == {file.stem for file in PAGE.glob('*.js')}


@pytest.mark.parametrize('asked, language', [('zh-CN', 'zh'), ('en', 'en'), ('EN-ie', 'en'), ('fr', 'en'), (None, 'en'), (7, 'en'), ('', 'en')])
def test_the_language_of_a_locale(asked, language):
    assert language_for(asked) == language
