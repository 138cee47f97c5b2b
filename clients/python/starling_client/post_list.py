"""Posts newest first, from the newest one of a timeline down to a cursor. No network and no clock in here."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, List

from .posts import Post


@dataclass(frozen=True)
class Difference:
    came: List[Post]
    """Newest first."""
    gone: List[str]


class PostList:
    def __init__(self) -> None:
        self._posts: dict[str, Post] = {}
        self._sorted: List[Post] | None = None
        self._deleted: set[str] = set()
        """A page that was under way meanwhile may still have them."""
        self.cursor: str | None = None
        """The cursor of the next older page; None: there is none."""

    def __len__(self) -> int:
        return len(self._posts)

    def __contains__(self, post: object) -> bool:
        return post in self._posts

    def list(self) -> List[Post]:
        if self._sorted is None:
            self._sorted = _newest_first(self._posts.values())
        return list(self._sorted)

    def count_beyond(self, cursor: str | None) -> int:
        """The number of listed posts that a page which begins at that cursor could have."""
        return sum(_is_beyond(cursor, post) for post in self._posts)

    def replace(self, items: Iterable[Post], cursor: str | None) -> Difference:
        """All of it was read anew."""
        before = self._posts
        self._posts = {post.id: _fuller(post, before.get(post.id)) for post in items if post.id not in self._deleted}
        self.cursor = cursor
        self._sorted = None
        return Difference(_newest_first(post for post in self._posts.values() if post.id not in before),
                          [post for post in before if post not in self._posts])

    def append(self, items: Iterable[Post], cursor: str | None) -> int:
        """The next older page; how many are new."""
        self.cursor = cursor
        return len(self.merge(items, ()).came)

    def merge(self, items: Iterable[Post], gone: Iterable[Any]) -> Difference:
        """items: posts that came, or came once more; those beyond the cursor wait for their page. gone: ids of posts that
        were deleted."""
        ids = [post for post in gone if isinstance(post, str)]
        self._deleted.update(ids)
        came = []
        for post in items:
            if _is_beyond(self.cursor, post.id) or post.id in self._deleted:
                continue
            if post.id not in self._posts:
                came.append(post)
            self._posts[post.id] = _fuller(post, self._posts.get(post.id))
        went = [post for post in ids if self._posts.pop(post, None)]
        self._sorted = None
        return Difference(_newest_first(came), went)

    def drop(self, unwanted: Callable[[Post], bool]) -> List[str]:
        """The ids of those that went."""
        gone = [post.id for post in self._posts.values() if unwanted(post)]
        for post in gone:
            del self._posts[post]
        self._sorted = None
        return gone


def _newest_first(posts: Iterable[Post]) -> List[Post]:
    return sorted(posts, key=lambda post: int(post.id), reverse=True)


def _is_beyond(cursor: str | None, post: str) -> bool:
    return cursor is not None and int(post) < int(cursor)


def _fuller(post: Post, before: Post | None) -> Post:
    """Keeps the text of a post that was read before and is unavailable now."""
    return before if post.unavailable and before else post
