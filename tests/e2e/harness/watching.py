"""A session that watches something live: what all such sessions do, by the rules that docs/PROTOCOL.md gives to clients."""
import threading
import time


class Watching:
    """
    A thread of its own takes frames, and reads again what the server says is stale. It notes in `broken` frames that break the protocol.
    A subclass says how to read (_read), how to watch (_watch), what to do with a frame (_take), and when what it has read is new enough
    (_reaches); it calls _begin when it has all that these need.
    """

    PAUSE_MAX_S = 10  # between two readings, when one was not new enough
    READINGS = float('inf')  # at most

    def __init__(self, phone, name, greeted=False):
        """greeted: the session said hello already, and is shared with others."""
        self.phone, self._greeted = phone, greeted
        self.version, self.broken, self.stales, self.rereads = None, [], 0, 0
        self._wanted = None  # [version to have, when to read, pause after that, readings left]
        self._lock, self._end = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name=name)
        if not greeted:
            phone.send({'type': 'hello', 'token': phone.token})
            phone.expect('welcome')
        self._at = len(phone.frames)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._end.set()
        self._thread.join(10)
        if not self._greeted:
            self.phone.close()

    @property
    def settled(self) -> bool:
        """Nothing that the server called stale is still to be read."""
        return self._wanted is None

    def _begin(self):
        self._watch()
        self._thread.start()

    def _want(self, version, after_ms):
        self._wanted = [version, time.monotonic() + after_ms / 1000, 0.2, self.READINGS]

    def _reread(self):
        version, _, pause, left = self._wanted
        if self._read():
            self._watch()
            left -= 1
            if self._reaches(version) or not left:
                self._wanted = None
                return
        self._wanted = [version, time.monotonic() + pause, min(2 * pause, self.PAUSE_MAX_S), left]

    def _run(self):
        while not self._end.wait(0.01):
            while self._at < len(self.phone.frames):
                frame = self.phone.frames[self._at]
                self._at += 1
                if frame['type'] == 'error':
                    self.broken.append(str(frame))
                else:
                    self._take(frame)
            if self._wanted and time.monotonic() >= self._wanted[1]:
                self._reread()
