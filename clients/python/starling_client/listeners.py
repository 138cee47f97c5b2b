"""Events, and the functions and iterators that listen to them."""
from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Generic, List, TypeVar

_Event = TypeVar('_Event')


class Teller(Generic[_Event]):
    """A source of events for functions and for iterators."""

    def __init__(self) -> None:
        self._listeners: List[Callable[[_Event], object]] = []

    def on_event(self, listener: Callable[[_Event], object]) -> Callable[[], None]:
        """Listens to all events; the returned function removes the listener."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def events(self) -> AsyncIterator[_Event]:
        """Events from now on, for as long as somebody iterates."""
        queue: asyncio.Queue[_Event] = asyncio.Queue()
        stop = self.on_event(queue.put_nowait)
        try:
            while True:
                yield await queue.get()
        finally:
            stop()

    def _emit(self, event: _Event) -> None:
        for listener in list(self._listeners):
            listener(event)
