"""Timers by name on the event loop: a new timer takes the place of the old one of that name."""
from __future__ import annotations

import asyncio
from collections.abc import Callable


class Timers:
    def __init__(self) -> None:
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def set(self, name: str, after: float, run: Callable[[], object]) -> None:
        self.clear(name)

        def fire() -> None:
            self._timers.pop(name, None)
            run()

        self._timers[name] = asyncio.get_running_loop().call_later(after, fire)

    def __contains__(self, name: str) -> bool:
        return name in self._timers

    def __len__(self) -> int:
        return len(self._timers)

    def due_in(self, name: str) -> float | None:
        """Seconds; None: there is none of that name."""
        handle = self._timers.get(name)
        return None if handle is None else max(0.0, handle.when() - asyncio.get_running_loop().time())

    def clear(self, name: str) -> None:
        handle = self._timers.pop(name, None)
        if handle:
            handle.cancel()

    def clear_all(self) -> None:
        for name in list(self._timers):
            self.clear(name)
