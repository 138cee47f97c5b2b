"""The protocol of notices, as a model: it holds in random histories, and rules that are left out show faults."""
import pytest

from models import notices


def test_lists_marks_and_screens_are_those_of_brute_force():
    assert notices.histories(0, 1500) == {}


@pytest.mark.parametrize('rule', sorted(notices.RULES))
def test_each_rule_is_needed(rule):
    assert any(notices.histories(seed, 1, (rule,)) for seed in range(1000))
