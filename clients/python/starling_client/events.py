"""What a client tells: friends, and the events of its life."""
from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from .details import NO_DETAILS, Details
from .errors import ConnectionEnded
from .posts import Strangers


class State(str, Enum):
    """connecting: until the server's welcome. waiting: lost, tries again by itself. closed: ended for a reason that only a
    person can mend; connect() or renew() starts again."""
    IDLE = 'idle'
    CONNECTING = 'connecting'
    ONLINE = 'online'
    WAITING = 'waiting'
    CLOSED = 'closed'


@dataclass(frozen=True)
class Friend:
    """A friend who is near."""
    user: int
    name: str | None
    """None: no profile yet."""
    avatar_url: str | None
    lat: float
    lng: float
    distance: float
    """Metres from where I am now."""
    time: int
    """When the friend last reported, ms since the epoch by the server's clock."""
    stale: bool
    """Has missed a few reports, and may be somewhere else by now."""
    rounded: bool = False
    """The friend lets me see only about where they are: the place is the centre of a cell."""
    accuracy: float | None = None
    """Metres; of friends who share it, as details."""
    details: Details = NO_DETAILS


@dataclass(frozen=True)
class Welcome:
    user: int
    server_time: int
    radius_m: float
    report_every_s: float
    inactive_after_s: float
    session: str | None = None
    """The id of this session among my devices; None: the server says none."""


@dataclass(frozen=True)
class StateChange:
    state: State
    reason: str | None = None
    """With closed. token: refused (1008). expired: 4003. elsewhere: ended from another device (4001). url."""
    code: int | None = None
    """The close code, with waiting and closed."""
    retry_after: float | None = None
    """Seconds until the next attempt, with waiting."""
    error: ConnectionEnded | None = field(default=None, compare=False)
    """What ended the connection, or kept it from being made; with waiting, and with closed unless the address is none."""


@dataclass(frozen=True)
class Change:
    cause: str
    """page, update, expiry (silent for too long), stale, move, more."""
    came: list[Friend] = field(default_factory=list)
    """Who was not known to be near before; with update."""
    gone: list[int] = field(default_factory=list)
    """Who is not near any more; with update and expiry."""


@dataclass(frozen=True)
class ClientError:
    """An error frame of the server's, or bad_frame, bad_url, no_token and offline of our own. Nothing ends because of one."""
    code: str
    message: str
    about: str | None = None
    """`discover`: it is the answer to that."""
    retry_after: float | None = None
    """Seconds; asking again before that is of no use."""


@dataclass(frozen=True)
class StrangersGone:
    """Users of those whom discover() listed who no longer share with everybody, or all of them when I do not: take them off the screen
    at once."""
    gone: list[int]


Event = StateChange | Welcome | Change | Strangers | StrangersGone | ClientError
