"""What phones say beside the place."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Details:
    """None: the phone does not say."""
    battery: float | None = None
    """0 to 1."""
    charging: bool | None = None
    speed: float | None = None
    """Metres a second."""
    course: float | None = None
    """Degrees, clockwise from north."""
    activity: str | None = None
    """still, walking, running, cycling, driving, transit or unknown."""
    vertical_accuracy: float | None = None
    """Metres."""


NO_DETAILS = Details()
_WIRE = {'speed': 'speed_mps', 'vertical_accuracy': 'vertical_accuracy_m'}
_NAMES = 'battery', 'charging', 'speed', 'course', 'activity', 'vertical_accuracy'


def read_details(item: dict[str, Any]) -> Details:
    return Details(*(item.get(_WIRE.get(name, name)) for name in _NAMES))


def write_details(details: Details) -> dict[str, Any]:
    return {_WIRE.get(name, name): value for name in _NAMES if (value := getattr(details, name)) is not None}
