"""How long to wait before the next attempt: any time within a window that doubles from one second to a minute. All of the
window, not its end: the phones of an edge that died then come back as a ramp and not as a wall."""
from collections.abc import Callable

FIRST_WINDOW_S = 1.0
LONGEST_WINDOW_S = 60.0
SHORTEST_S = 0.1
"""However lucky: a server that refuses at once is not asked in a tight loop."""
OVERLOADED_S = 5.0
"""An edge that said how full it is (1013) gets at least this much rest."""


def backoff_s(failures: int, random: Callable[[], float], at_least: float = 0.0) -> float:
    """failures: attempts that failed since the last connection that held; 0 <= random() < 1."""
    window = min(LONGEST_WINDOW_S, max(at_least, FIRST_WINDOW_S * 2.0 ** min(failures, 16)))
    return max(SHORTEST_S, at_least + random() * window)


def directed_s(after: float, random: Callable[[], float]) -> float:
    """The server spreads its phones itself; a tenth on top keeps apart those that it told the same."""
    return after * (1 + random() / 10)
