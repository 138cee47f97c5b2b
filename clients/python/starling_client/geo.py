"""Positions are (lat, lng) in degrees, as sent: multiples of 1e-7. Distances are metres on a sphere."""
import math
from typing import Any

from .errors import InvalidPosition

EARTH_RADIUS_M = 6_371_008.8


def distance_m(lat1: float, lng1: float, lat2: float, lng2: float) -> float:
    """Great-circle distance by the haversine formula."""
    p1, l1, p2, l2 = map(math.radians, (lat1, lng1, lat2, lng2))
    h = math.sin((p2 - p1) / 2) ** 2 + math.cos(p1) * math.cos(p2) * math.sin((l2 - l1) / 2) ** 2
    return 2 * EARTH_RADIUS_M * math.asin(math.sqrt(min(1.0, h)))


def round_position(lat: float | None, lng: float | None) -> tuple[float, float]:
    """As it goes over the wire: both ends then compute with the same numbers. InvalidPosition: it is none."""
    return round(_checked('lat', lat, 90) * 1e7) / 1e7, round(_checked('lng', lng, 180) * 1e7) / 1e7


def _checked(name: str, value: Any, limit: int) -> float:
    if value is None:
        raise InvalidPosition(f'not a position: {name} is missing')
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise InvalidPosition(f'not a position: {name} is the {type(value).__name__} {value!r}, and must be a number')
    if not abs(value) <= limit:  # not a number is neither
        raise InvalidPosition(f'not a position: {name} is {value}, and must be from -{limit} to {limit}')
    return value
