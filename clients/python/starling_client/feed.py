"""My home timeline, kept up to date: read over HTTP from the newest post down to the oldest that somebody asked for, and from
then on changed by what the edge says.

    newest |------------ list ------------| cursor -> older()
    page         version v1                          read over HTTP
    posts        v1 -> v2: new ones on top, gone ones off     said by the edge; if it is not from the version that we have,
    stale        v3 after so many ms                          or is told to be, everything listed is read again

After each reading, and on each new connection, the edge is told the version that we have: it names another one at once.
"""
from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, List

from .api import StarlingApi
from .errors import ApiError
from .backoff import backoff_s
from .frames import number
from .listeners import Teller
from .post_list import PostList
from .posts import FeedPage, Post, read_posts
from .timers import Timers

_PAGE_SIZE = 20
_LARGEST_PAGE = 100
_SOON_S = 0.5  # the first pause of those that double
_LONGEST_PAUSE_S = 60.0
_READINGS_FOR_A_VERSION = 8  # some two minutes; after that the edge names it again if it must
_FILLED_AT_ONCE = 10
_MOST_NEW = 200  # posts above the listed ones; more of them push the oldest ones off the list


@dataclass(frozen=True)
class FeedChange:
    cause: str
    """page: everything listed was read again. posts: the server said what came and went. older: older() is done. filled: posts
    that were unavailable are there, or gone. gone: drop() was called."""
    came: List[Post] = field(default_factory=list)
    """Posts that were not listed before, newest first; with page and posts."""
    gone: List[str] = field(default_factory=list)
    """The ids of posts that are not listed any more."""


FeedEvent = FeedChange | ApiError
"""ApiError: a page could not be read. It is read again after `retry_after`, if that is not None."""


@dataclass
class _Named:
    """The version that the edge named and no page has had. before: the one that we had then."""
    version: str
    before: str | None
    readings: int = 0


class LiveFeed(Teller[FeedEvent]):
    """Made by StarlingClient.watch_feed."""

    def __init__(self, api: StarlingApi, say: Callable[[dict[str, Any]], None], rand: Callable[[], float]):
        super().__init__()
        self._api, self._say, self._random = api, say, rand
        self._timers = Timers()
        self._tasks: set[asyncio.Task[None]] = set()
        self._posts = PostList()
        self._closed = False
        self._reading: asyncio.Task[None] | None = None
        self._again = False  # what is being read may be old already
        self._unread: List[dict[str, Any]] = []  # what the edge said while a page was on its way
        self._older: asyncio.Task[None] | None = None
        self._complete = False
        self._version: str | None = None
        self._named: _Named | None = None
        self._failures = self._incomplete = self._fillings = 0
        self._failure: ApiError | None = None

    @property
    def list(self) -> List[Post]:
        """Newest first, without gaps from the newest one down."""
        return self._posts.list()

    @property
    def has_more(self) -> bool:
        """older() would list more."""
        return self._posts.cursor is not None

    @property
    def complete(self) -> bool:
        """False: posts may be missing; the list is read again until none are."""
        return self._complete

    @property
    def version(self) -> str | None:
        """None: nothing was read yet."""
        return self._version

    @property
    def failure(self) -> ApiError | None:
        """The error of the last reading; None: it did not fail."""
        return self._failure

    @property
    def retry_after(self) -> float | None:
        """Seconds until a reading that failed is tried again; None: refresh() must be called."""
        return self._timers.due_in('read') if self._failure else None

    def refresh(self) -> None:
        """Reads everything listed again, now."""
        if not self._closed:
            self._failures = 0
            self._read()

    async def older(self) -> None:
        """Lists twenty older posts. Returns when there are more, or no more; ApiError: they cannot be read."""
        if self._closed:
            return
        if self._older is None:
            self._older = self._start(self._read_older())
            self._older.add_done_callback(self._older_done)
        await asyncio.shield(self._older)

    def drop(self, unwanted: Callable[[Post], bool]) -> None:
        """Takes posts off the list of which the application knows that they go: before the server says so."""
        gone = self._posts.drop(unwanted)
        if gone:
            self._changed(FeedChange('gone', [], gone))

    def close(self) -> None:
        """Ends it. The list stays as it is."""
        if self._closed:
            return
        self._closed = True
        self._timers.clear_all()
        for task in list(self._tasks):
            task.cancel()
        self._say({'type': 'unwatch', 'what': 'feed'})

    # what the client tells us

    def connected(self) -> None:
        """A new connection is open, which watches nothing yet."""
        if not self._closed and self._version is not None:
            self._say({'type': 'watch', 'what': 'feed', 'version': self._version})

    def posted(self, frame: dict[str, Any]) -> None:
        """`posts`"""
        if self._closed:
            return
        if self._reading:
            self._unread.append(frame)
        elif self._version not in (frame.get('since'), frame.get('version')):
            self._read_in(0.0)
        else:
            self._changed(FeedChange('posts', *self._apply(frame)))

    def stale(self, frame: dict[str, Any]) -> None:
        """`stale`"""
        version = str(frame.get('version'))
        if self._closed or version == self._version:
            return
        if self._named is None or self._named.version != version:
            self._named = _Named(version, self._version)
        wait = max(0.0, number(frame.get('after_ms'), 0) / 1000)
        self._read_in(max(wait, self._pause(self._named.readings)) if self._named.readings else wait)

    def _apply(self, frame: dict[str, Any]) -> tuple[List[Post], List[str]]:
        """Applies only the deletions of a frame whose version the page has already."""
        items = read_posts(frame.get('items')) if frame.get('since') == self._version else []
        change = self._posts.merge(items, frame.get('gone', []))
        self._version = str(frame.get('version'))
        if self._named and self._complete and not self._failure:
            self._timers.clear('read')
        self._named = None  # what was named is older than this
        return change.came, change.gone

    # reading

    def _read_in(self, after: float) -> None:
        """Sooner than it would be otherwise; but a server that cannot answer just now is left alone."""
        due = self._timers.due_in('read')
        if due is None or (due > after and not self._failure):
            self._timers.set('read', after, self._read)

    def _read(self) -> None:
        self._timers.clear('read')
        if self._reading:
            self._again = True
        else:
            self._again = False
            self._reading = self._start(self._reading_once())

    async def _reading_once(self) -> None:
        try:
            page = await self._read_listed()
        except ApiError as error:
            self._was_not_read(error)
        except Exception as error:  # the application's token function may raise what it likes
            self._was_not_read(ApiError(0, 'no_token', f'{type(error).__name__}: {error}'))
        else:
            self._was_read(page)

    async def _read_listed(self) -> FeedPage:
        """The newest page, and as many more as it takes to the oldest post that is listed, unless that is too far."""
        most = len(self._posts) + _MOST_NEW
        page = first = await self._api.get_feed(limit=_page_for(len(self._posts)))
        items, complete = list(first.items), first.complete
        while (left := self._posts.count_beyond(page.next)) and len(items) < most:
            page = await self._api.get_feed(after=page.next, limit=_page_for(left))
            items += page.items
            complete = complete and page.complete
        return FeedPage(items, page.next, complete, first.version)

    def _was_read(self, page: FeedPage) -> None:
        self._reading = None
        self._failures, self._failure = 0, None
        change = self._posts.replace(page.items, page.next)
        self._version, self._complete = page.version, page.complete
        self._incomplete = 0 if page.complete else self._incomplete + 1
        self._compare_with_named()
        if not page.complete:
            self._read_in(self._pause(self._incomplete))
        if not self._apply_unread() or self._again:
            self._read_in(_SOON_S)
        self.connected()
        self._changed(FeedChange('page', change.came, change.gone))

    def _compare_with_named(self) -> None:
        """Reads again, later each time, while the page is what it was when the edge named another version."""
        named = self._named
        if named is None:
            return
        named.readings += 1
        if self._version == named.version or self._version != named.before or named.readings >= _READINGS_FOR_A_VERSION:
            if self._version == named.version:
                self._timers.clear('read')  # named while the page was on its way
            self._named = None  # if the page is not what it should be even so, `watch` lets the edge say it
        else:
            self._read_in(self._pause(named.readings))

    def _apply_unread(self) -> bool:
        """Applies those frames that come after the page that was read. Returns: nothing is missing between the two."""
        unread, self._unread = self._unread, []
        known = [i for i, frame in enumerate(unread) if frame.get('version') == self._version]
        next_ones = [i for i, frame in enumerate(unread) if frame.get('since') == self._version]
        start = known[-1] + 1 if known else next_ones[0] if next_ones else 0
        for frame in unread[:start]:
            self._posts.merge([], frame.get('gone', []))
        for frame in unread[start:]:
            if frame.get('since') != self._version:
                return False
            self._apply(frame)
        return True

    def _was_not_read(self, error: ApiError) -> None:
        self._reading = None
        self._failure = error
        if error.passing:
            pause = backoff_s(self._failures, self._random)
            self._failures += 1
            self._read_in(max(pause, error.retry_after or 0.0))
        self._emit(error)

    async def _read_older(self) -> None:
        came = 0
        while came == 0 and self._posts.cursor is not None:
            if self._reading:
                await asyncio.wait([self._reading])  # it moves the cursor
                continue
            cursor = self._posts.cursor
            page = await self._api.get_feed(after=cursor, limit=_PAGE_SIZE)
            if cursor != self._posts.cursor:
                continue  # read again meanwhile: nobody knows what lies between
            came = self._posts.append(page.items, page.next)
            if not page.complete:
                self._read_in(self._pause(1))
        self._changed(FeedChange('older'))

    def _older_done(self, task: asyncio.Task[None]) -> None:
        self._older = None
        if not task.cancelled():
            task.exception()  # whoever asked has it

    # posts that could not be shown

    def _fill_soon(self) -> None:
        if not any(post.unavailable for post in self._posts.list()):
            self._fillings = 0
            self._timers.clear('fill')
        elif 'fill' not in self._timers:
            self._fillings += 1
            self._timers.set('fill', self._pause(self._fillings + 1), lambda: self._start(self._fill()))

    async def _fill(self) -> None:
        wanted = [post.id for post in self._posts.list() if post.unavailable][:_FILLED_AT_ONCE]
        found = await asyncio.gather(*map(self._api.get_post, wanted), return_exceptions=True)
        gone = [post for post, answer in zip(wanted, found) if isinstance(answer, ApiError) and answer.status == 404]
        self._posts.merge([post for post in found if isinstance(post, Post) and post.id in self._posts], gone)
        self._changed(FeedChange('filled', [], gone))

    # small things

    def _start(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _pause(self, times: int) -> float:
        """Half a second, doubled with each time, some of it by chance."""
        return min(_LONGEST_PAUSE_S, _SOON_S * 2.0 ** min(times, 16)) * (0.75 + self._random() / 4)

    def _changed(self, change: FeedChange) -> None:
        if not self._closed:
            self._fill_soon()
            self._emit(change)


def _page_for(count: int) -> int:
    """The limit to ask for, for so many posts: at least a page, at most the server's largest page."""
    return min(_LARGEST_PAGE, max(_PAGE_SIZE, count))
