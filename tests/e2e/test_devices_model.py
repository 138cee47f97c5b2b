"""The protocol of several devices, as a model: it holds in random histories, and rules that are left out show faults."""
import pytest

from models import devices


def test_all_devices_of_a_user_show_the_exact_list_and_only_delete_ends_one():
    assert devices.histories(0, 1500) == {}


@pytest.mark.parametrize('rule', sorted(devices.RULES))
def test_each_rule_is_needed(rule):
    assert any(devices.histories(seed, 1, (rule,)) for seed in range(1000))
