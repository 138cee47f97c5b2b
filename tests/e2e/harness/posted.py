"""A receiver of posts: what daemons send to a URL of somebody else."""
import threading

from .answering import Answering


class Posted(Answering):
    """
    with Posted('/near') as receiver:      # an HTTP server on a free port
        make_cluster(settings={'router:notify.url': receiver.url})
        receiver.posts                     # [(body, headers)] so far
        receiver.answers = [503, 503]      # what the next posts are answered; 200 after that
    """

    def __init__(self, path):
        self._lock, self._posts, self.answers = threading.Lock(), [], []
        super().__init__(lambda method, path, headers, body: (self.take(body, dict(headers)), b'{}'))
        self.url += path

    def take(self, body: bytes, headers: dict) -> int:
        """Notes a post; the status of its answer."""
        with self._lock:
            self._posts.append((body, headers))
            return self.answers.pop(0) if self.answers else 200

    @property
    def posts(self) -> list[tuple[bytes, dict]]:
        with self._lock:
            return list(self._posts)
