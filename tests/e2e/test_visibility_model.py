"""The protocol of who may see a post, as a model: it holds in random histories, and rules that are left out show faults."""
import pytest

from models import visibility


def test_no_text_is_given_too_late_and_each_reader_who_may_see_one_gets_it():
    assert visibility.histories(0, 200) == {}


@pytest.mark.parametrize('rule', sorted(visibility.RULES))
def test_each_rule_is_needed(rule):
    assert any(visibility.histories(seed, 1, (rule,)) for seed in range(1000))
