"""The protocol of places, as a model: it holds in random histories, and rules that are left out show faults."""
import pytest

from models import places


def test_events_are_what_the_function_gives_and_only_who_may_is_told():
    assert places.histories(0, 1500) == {}


@pytest.mark.parametrize('rule', sorted(places.RULES))
def test_each_rule_is_needed(rule):
    assert any(places.histories(seed, 1, (rule,)) for seed in range(1000))
