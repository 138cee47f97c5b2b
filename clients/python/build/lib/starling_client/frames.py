"""Frames, one JSON object each."""
from __future__ import annotations

import json
import math
from typing import Any

_LISTS = ('items', 'near', 'gone')  # members that must be lists, where they are


def parse_frame(text: str | bytes) -> dict[str, Any]:
    """ValueError: not text, not JSON, not an object, or not the shape of its type."""
    if not isinstance(text, str):
        raise ValueError('not a text frame')
    frame = json.loads(text)
    if not isinstance(frame, dict):
        raise ValueError('not a JSON object')
    if any(not isinstance(frame.get(name, []), list) for name in _LISTS):
        raise ValueError('no list')
    if frame.get('type') == 'nearby' and 'items' not in frame:
        raise ValueError('a page without items')
    if frame.get('type') == 'welcome' and type(frame.get('user')) is not int:
        raise ValueError('a welcome to nobody')
    return frame


def number(value: Any, otherwise: float) -> float:
    """The value if it is a finite number."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return value if good else otherwise
