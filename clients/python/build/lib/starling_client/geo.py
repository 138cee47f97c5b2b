"""Positions are (lat, lng) in degrees, as sent: multiples of 1e-7. Distances are metres on a sphere."""
import math

EARTH_RADIUS_M = 6_371_008.8


def distance_m(lat1: float, lng1: float, lat2: float, lng2: float) -> float:
    """Great-circle distance by the haversine formula."""
    p1, l1, p2, l2 = map(math.radians, (lat1, lng1, lat2, lng2))
    h = math.sin((p2 - p1) / 2) ** 2 + math.cos(p1) * math.cos(p2) * math.sin((l2 - l1) / 2) ** 2
    return 2 * EARTH_RADIUS_M * math.asin(math.sqrt(min(1.0, h)))


def round_position(lat: float, lng: float) -> tuple[float, float]:
    """As it goes over the wire: both ends then compute with the same numbers. ValueError: not a position."""
    if not (abs(lat) <= 90 and abs(lng) <= 180):  # not a number is neither
        raise ValueError(f'not a position: {lat}, {lng}')
    return round(lat * 1e7) / 1e7, round(lng * 1e7) / 1e7
