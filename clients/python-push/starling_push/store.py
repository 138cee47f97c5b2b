"""One SQLite file keeps who is to be told where, which notices the receiver has taken of late, and what is still to be sent.
Any thread may call. A method that has returned has written to the disk. Times are milliseconds since the epoch."""
from __future__ import annotations

import pathlib
import sqlite3
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from .notices import KINDS, Notice

MOST_SUBSCRIPTIONS = 10  # of a user: whoever takes another browser loses the one that was not used for longest
MOST_NOTICES = 1000  # of a user: the oldest go
MOST_WAITING = 100  # messages to a browser: the oldest go
UNUSED_MS = 60 * 86_400_000  # a browser in which the page was not opened for so long is told no more
KEPT_MS = 86_400_000  # notices: nothing older is taken, so nothing is told twice
GATHER_MS = 30_000  # of a topic that was told, more are gathered for so long
_VERSION = 2
_FORGOTTEN_AFTER = 2  # looks at which a user who had a name has none

_SCHEMA = '''
CREATE TABLE subscriptions (endpoint TEXT PRIMARY KEY, service TEXT NOT NULL, user INTEGER NOT NULL, p256dh TEXT NOT NULL, auth TEXT NOT NULL,
                            language TEXT NOT NULL, renewed INTEGER NOT NULL, named INTEGER NOT NULL);
CREATE INDEX subscriptions_of_user ON subscriptions (user);
CREATE TABLE notices (user INTEGER, id TEXT, topic TEXT NOT NULL, what TEXT NOT NULL, sender INTEGER NOT NULL, subject TEXT, comment TEXT,
                      time INTEGER NOT NULL, place TEXT, PRIMARY KEY (user, id)) WITHOUT ROWID;
CREATE INDEX notices_of_topic ON notices (user, topic, time);
CREATE INDEX notices_by_time ON notices (time);
CREATE TABLE queue (endpoint TEXT REFERENCES subscriptions ON DELETE CASCADE, topic TEXT, service TEXT NOT NULL, due INTEGER NOT NULL,
                    tries INTEGER NOT NULL, version INTEGER NOT NULL, PRIMARY KEY (endpoint, topic)) WITHOUT ROWID;
CREATE INDEX queue_by_time ON queue (service, due);
'''


class Full(Exception):
    """Too much waits to be sent already."""


@dataclass(frozen=True)
class Subscription:
    endpoint: str
    service: str  # by which name the settings allow it
    p256dh: str
    auth: str
    language: str


@dataclass(frozen=True)
class Message:
    """Something to be sent. version: which of the topic's; more may come while it is sent."""

    subscription: Subscription
    topic: str
    tries: int
    version: int
    newest: Notice | None  # None: it is no news any more
    people: int  # who did that, in all


class Store:
    def __init__(self, path: pathlib.Path | str, most_queued: int = 1_000_000):
        self._lock, self._most_queued = threading.Lock(), most_queued
        self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        for pragma in 'journal_mode=WAL', 'synchronous=FULL', 'foreign_keys=ON':
            self._db.execute(f'PRAGMA {pragma}')
        version = self._db.execute('PRAGMA user_version').fetchone()[0]
        if version == 0:
            self._db.executescript(f'BEGIN; {_SCHEMA} PRAGMA user_version={_VERSION}; COMMIT;')
        elif version != _VERSION:
            raise ValueError(f'{path} is of version {version}, and this program knows {_VERSION} only')

    def close(self) -> None:
        with self._lock:
            self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._db.execute('BEGIN IMMEDIATE')
            try:
                yield self._db
            except BaseException:
                self._db.execute('ROLLBACK')
                raise
            self._db.execute('COMMIT')

    # subscriptions

    def subscribe(self, user: int, subscription: Subscription, named: bool, now: int) -> None:
        """Of a browser that is known already, it is the user and the keys of this one from now on."""
        with self._transaction() as db:
            owner = db.execute('SELECT user FROM subscriptions WHERE endpoint = ?', (subscription.endpoint,)).fetchone()
            if owner and owner[0] != user:  # what waits is another user's
                self._drop(db, 'endpoint = ?', subscription.endpoint)
            db.execute('INSERT INTO subscriptions VALUES (?,?,?,?,?,?,?,?) ON CONFLICT (endpoint) DO UPDATE SET p256dh = excluded.p256dh, '
                       'auth = excluded.auth, language = excluded.language, renewed = excluded.renewed, named = excluded.named',
                       (subscription.endpoint, subscription.service, user, subscription.p256dh, subscription.auth, subscription.language, now,
                        _FORGOTTEN_AFTER if named else 0))
            self._drop(db, 'endpoint IN (SELECT endpoint FROM subscriptions WHERE user = ? ORDER BY renewed DESC, endpoint = ? DESC LIMIT -1 OFFSET ?)',
                       user, subscription.endpoint, MOST_SUBSCRIPTIONS)

    def unsubscribe(self, user: int, endpoint: str | None = None) -> None:
        """One browser of the user; None: all."""
        with self._transaction() as db:
            if endpoint is None:
                self._drop(db, 'user = ?', user)
            else:
                self._drop(db, 'user = ? AND endpoint = ?', user, endpoint)

    def gone(self, endpoint: str) -> None:
        """The push service does not know that browser any more."""
        with self._transaction() as db:
            self._drop(db, 'endpoint = ?', endpoint)

    def subscriptions(self, user: int) -> list[Subscription]:
        with self._lock:
            return [Subscription(*row) for row in self._db.execute(
                'SELECT endpoint, service, p256dh, auth, language FROM subscriptions WHERE user = ? ORDER BY renewed', (user,))]

    def _drop(self, db: sqlite3.Connection, condition: str, *values: object) -> None:
        """Subscriptions, with what waits for them; of a user who has none any more nothing is kept."""
        users = [row[0] for row in db.execute(f'DELETE FROM subscriptions WHERE {condition} RETURNING user', values)]
        for user in set(users):
            db.execute('DELETE FROM notices WHERE user = ? AND NOT EXISTS (SELECT 1 FROM subscriptions WHERE user = ?)', (user, user))

    # notices

    def take(self, notices: Sequence[Notice], now: int) -> int:
        """Stores what is to be sent, all or nothing; returns how many were new, and of somebody who is to be told. Raises Full."""
        taken = 0
        with self._transaction() as db:
            if notices and db.execute('SELECT count(*) FROM queue').fetchone()[0] >= self._most_queued:
                raise Full
            told_before: dict[tuple[int, str], bool] = {}
            endpoints: dict[int, list[tuple[str, str, int, int]]] = {}
            for notice in notices:
                user, topic = notice.user, notice.topic
                if notice.time <= now - KINDS[notice.what].keeps_ms:
                    continue
                if user not in endpoints:
                    endpoints[user] = db.execute(
                        'SELECT endpoint, service, coalesce((SELECT max(tries) FROM queue WHERE queue.endpoint = subscriptions.endpoint), 0), '
                        'coalesce((SELECT max(due) FROM queue WHERE queue.endpoint = subscriptions.endpoint AND tries > 0), 0) '
                        'FROM subscriptions WHERE user = ?', (user,)).fetchall()
                if not endpoints[user]:
                    continue
                if (user, topic) not in told_before:
                    told_before[user, topic] = bool(
                        db.execute('SELECT 1 FROM notices WHERE user = ? AND topic = ? LIMIT 1', (user, topic)).fetchone())
                if not db.execute('INSERT OR IGNORE INTO notices VALUES (?,?,?,?,?,?,?,?,?)',
                                  (user, notice.id, topic, notice.what, notice.sender, notice.subject, notice.comment, notice.time,
                                   notice.place)).rowcount:
                    continue
                taken += 1
                due = now + GATHER_MS if told_before[user, topic] else now
                db.executemany('INSERT INTO queue VALUES (?,?,?,?,?,1) ON CONFLICT (endpoint, topic) DO UPDATE SET version = version + 1',
                               [(endpoint, topic, service, max(due, paused), tries) for endpoint, service, tries, paused in endpoints[user]])
            for user, found in endpoints.items():
                db.execute('DELETE FROM notices WHERE user = ? AND id IN '
                           '(SELECT id FROM notices WHERE user = ? ORDER BY time DESC, id DESC LIMIT -1 OFFSET ?)', (user, user, MOST_NOTICES))
                for endpoint, *_ in found:
                    db.execute('DELETE FROM queue WHERE endpoint = ? AND topic IN '
                               '(SELECT topic FROM queue WHERE endpoint = ? ORDER BY due DESC LIMIT -1 OFFSET ?)', (endpoint, endpoint, MOST_WAITING))
        return taken

    # sending

    def next(self, service: str, now: int, busy: Collection[str]) -> Message | None:
        """The message that is due first at that push service, but for browsers that are being sent something."""
        with self._lock:
            for endpoint, topic, tries, version in self._db.execute(
                    f'SELECT endpoint, topic, tries, version FROM queue WHERE service = ? AND due <= ? AND endpoint NOT IN ({",".join("?" * len(busy))}) '
                    'ORDER BY due LIMIT 1', (service, now, *busy)):
                user, *keys = self._db.execute('SELECT user, endpoint, service, p256dh, auth, language FROM subscriptions WHERE endpoint = ?',
                                               (endpoint,)).fetchone()
                row = self._db.execute('SELECT id, user, what, sender, subject, comment, time, place FROM notices WHERE user = ? AND topic = ? '
                                       'ORDER BY time DESC, id DESC LIMIT 1', (user, topic)).fetchone()
                people = self._db.execute('SELECT count(DISTINCT sender) FROM notices WHERE user = ? AND topic = ?', (user, topic)).fetchone()[0]
                return Message(Subscription(*keys), topic, tries, version, Notice(*row) if row else None, people)
        return None

    def due(self, service: str) -> int | None:
        """When something is due there next."""
        with self._lock:
            found: int | None = self._db.execute('SELECT min(due) FROM queue WHERE service = ?', (service,)).fetchone()[0]
            return found

    def sent(self, message: Message, now: int) -> None:
        """Or given up. A notice that has come to the topic meanwhile is sent later."""
        key = message.subscription.endpoint, message.topic
        with self._transaction() as db:
            db.execute('DELETE FROM queue WHERE endpoint = ? AND topic = ? AND version = ?', (*key, message.version))
            db.execute('UPDATE queue SET tries = 0, due = min(due, ?) WHERE endpoint = ? AND tries > 0', (now, key[0]))
            db.execute('UPDATE queue SET tries = 0, due = ? WHERE endpoint = ? AND topic = ?', (now + GATHER_MS, *key))

    def put_off(self, message: Message, due: int) -> None:
        """It could not be made yet."""
        with self._transaction() as db:
            db.execute('UPDATE queue SET due = ? WHERE endpoint = ? AND topic = ?', (due, message.subscription.endpoint, message.topic))

    def later(self, message: Message, due: int) -> None:
        """It failed, and nothing is sent to that browser until then."""
        with self._transaction() as db:
            db.execute('UPDATE queue SET tries = max(tries, ?), due = max(due, ?) WHERE endpoint = ?',
                       (message.tries + 1, due, message.subscription.endpoint))

    # what ends by itself

    def tidy(self, now: int) -> None:
        with self._transaction() as db:
            db.execute('DELETE FROM notices WHERE time <= ?', (now - KEPT_MS,))
            self._drop(db, 'renewed <= ?', now - UNUSED_MS)

    def named_users(self, after: int, limit: int) -> list[int]:
        """Users who had a name when they were last looked at, by their numbers."""
        with self._lock:
            return [row[0] for row in self._db.execute(
                'SELECT DISTINCT user FROM subscriptions WHERE named > 0 AND user > ? ORDER BY user LIMIT ?', (after, limit))]

    def looked(self, user: int, named: bool) -> bool:
        """Whether that user has a name. One who had one, and had none twice, was forgotten: the subscriptions end, and that is returned."""
        with self._transaction() as db:
            db.execute('UPDATE subscriptions SET named = CASE WHEN ? THEN ? ELSE named - 1 END WHERE user = ? AND named > 0',
                       (named, _FORGOTTEN_AFTER, user))
            if named or db.execute('SELECT 1 FROM subscriptions WHERE user = ? AND named > 0', (user,)).fetchone():
                return False
            self._drop(db, 'user = ?', user)
            return True
