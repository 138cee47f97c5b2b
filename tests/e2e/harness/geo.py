"""Distance as docs/PROTOCOL.md defines it, written anew here rather than taken from the code under test."""
import math

EARTH_RADIUS_M = 6_371_008.8
RADIUS_M = 8_046.72
HOME = 39.9847, 116.3184  # where tests happen if it does not matter


def e7(degrees: float) -> int:
    return round(degrees * 1e7)


def distance_m(lat1: float, lng1: float, lat2: float, lng2: float) -> float:
    """Haversine between two positions in degrees (rounded to 1e-7 first, as reports are), in metres."""
    p1, l1, p2, l2 = (math.radians(e7(x) / 1e7) for x in (lat1, lng1, lat2, lng2))
    h = math.sin((p2 - p1) / 2) ** 2 + math.cos(p1) * math.cos(p2) * math.sin((l2 - l1) / 2) ** 2
    return 2 * EARTH_RADIUS_M * math.asin(min(1.0, math.sqrt(h)))


def north_of(lat: float, lng: float, metres: float) -> tuple[float, float]:
    """The position that many metres to the north."""
    return lat + math.degrees(metres / EARTH_RADIUS_M), lng


def at(metres: float) -> tuple[float, float]:
    """The position that many metres to the north of HOME."""
    return north_of(*HOME, metres)
