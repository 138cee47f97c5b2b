"""Friends, places, profiles and exports as the HTTP API says them, read from JSON."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .details import NO_DETAILS, Details, read_details
from .posts import Page, text_or_none


@dataclass(frozen=True)
class Profile:
    user: int
    name: str | None
    """None: no profile yet."""
    avatar_url: str | None


@dataclass(frozen=True)
class WholeProfile(Profile):
    """With what is told of one user, and not of many."""
    bio: str | None
    url: str | None


@dataclass(frozen=True)
class Friendship(Profile):
    """Somebody of my friends, requests, invitations or blocks."""
    state: str
    """friends, requested (I have asked), invited (I was asked, and add_friend accepts) or blocked."""
    since: int | None
    """When we became friends, or I was invited, or blocked the other one, ms since the epoch; None: not kept."""
    rounded: bool = False
    """I let them see only about where I am."""
    handle: str | None = None
    """None: none, or not known just now."""


@dataclass(frozen=True)
class FriendOutcome:
    """What we two are to each other now, as I see it."""
    user: int
    state: str
    """none, requested, invited, friends or blocked."""
    since: int | None


@dataclass(frozen=True)
class Sharing:
    mode: str
    """off: nobody sees me. friends: my friends do. public: strangers around who share publicly, too, by cells."""
    until: int | None
    """When sharing ends by itself, ms since the epoch; None: it has no end, or is off."""
    details: bool = False
    """Friends who see the exact place are told accuracy and Details, too."""


@dataclass(frozen=True)
class NewLink:
    id: str
    url: str
    """Told this once; relative to the API's."""


@dataclass(frozen=True)
class Link:
    """A link by which whoever has it sees where I am, without an account."""
    id: str
    until: int
    """When it ends, ms since the epoch."""
    rounded: bool
    """It shows the centre of the cell that I am in, of about a kilometre."""
    made: int


@dataclass(frozen=True)
class LinkPlace:
    """What a link shows. lat, lng and time are None while nothing is known of where its user is."""
    name: str
    lat: float | None
    lng: float | None
    time: int | None
    until: int


@dataclass(frozen=True)
class NamedPlace:
    """A place of mine. Each time that I arrive there or leave it, those in `tell` get a notice of that: friends, while we both share."""
    id: str
    name: str
    lat: float
    lng: float
    radius_m: int
    tell: str | tuple[int, ...]
    """me, friends (all of them), or users."""


@dataclass(frozen=True)
class PlaceEvent:
    number: int
    """Rises."""
    place: str
    """Its id."""
    name: str
    """Of the place then."""
    what: str
    """arrived or left."""
    time: int
    """Of the report that said so, ms since the epoch."""


@dataclass(frozen=True)
class Report:
    """Where I am, or was. Checked when it is sent."""
    lat: float
    lng: float
    time: int | None = None
    """When the position was taken, ms since the epoch; None: now."""
    accuracy: float | None = None
    """Metres."""
    details: Details = NO_DETAILS


@dataclass(frozen=True)
class Reported:
    accepted: int
    sharing_off: int
    """Left out because their users do not share."""
    refused: list[Report] = field(default_factory=list)
    """What the server never takes of several: a time out of range, for one."""


@dataclass(frozen=True)
class NearbyFriend(Profile):
    """A friend near me, as a socket would list it."""
    lat: float
    lng: float
    distance: float
    """Metres from my last report."""
    time: int
    """Of the friend's last report, ms since the epoch."""
    rounded: bool = False
    """The friend lets me see only about where they are: the place is the centre of a cell."""
    accuracy: float | None = None
    """Metres; of friends who share it, as details."""
    details: Details = NO_DETAILS


@dataclass(frozen=True)
class NearbyPage(Page[NearbyFriend]):
    time: int | None
    """Of my report that the list is about; None: there is none that counts."""


@dataclass(frozen=True)
class Watcher:
    """A friend who can see me now."""
    user: int
    near: bool
    """I am on this friend's list now."""


@dataclass(frozen=True)
class Audience(Page[Watcher]):
    mode: str
    visible: bool
    """False: nobody can see me now."""


@dataclass(frozen=True)
class Place:
    """Where I was."""
    lat: float
    lng: float
    time: int
    """ms since the epoch."""
    accuracy: int | None
    """Metres; None: not known."""
    received: int
    """When the server took it."""
    details: Details = NO_DETAILS


@dataclass(frozen=True)
class Exported:
    """Something that is kept of me."""
    kind: str
    """account, friends, links, places, place-events, following, followers, requesting, requested, muted, posts, devices, notices, comments, edits, likes,
    reports or history."""
    item: dict[str, Any]
    """The members that openapi.yaml names, as they are there."""


@dataclass(frozen=True)
class Device:
    """An open session of mine."""
    id: str
    device: str | None
    """None: it has said no name."""
    since: int
    """Ms since the epoch."""
    current: bool


@dataclass(frozen=True)
class ExportPage(Page[Exported]):
    """Of one kind; it may be empty."""
    kind: str


def _profile(item: dict[str, Any]) -> tuple[int, str | None, str | None]:
    return int(item['user']), text_or_none(item.get('name')), text_or_none(item.get('avatar_url'))


def read_profile(answer: dict[str, Any]) -> WholeProfile:
    return WholeProfile(*_profile(answer), text_or_none(answer.get('bio')), text_or_none(answer.get('url')))


def read_device(item: dict[str, Any]) -> Device:
    return Device(str(item['id']), text_or_none(item.get('device')), int(item['since']), item.get('current') is True)


def read_friendship(item: dict[str, Any]) -> Friendship:
    return Friendship(*_profile(item), str(item['state']), item.get('since') or None, item.get('rounded') is True,
                      text_or_none(item.get('handle')))


def read_outcome(answer: dict[str, Any]) -> FriendOutcome:
    return FriendOutcome(int(answer['user']), str(answer['state']), answer.get('since') or None)


def read_sharing(answer: dict[str, Any]) -> Sharing:
    return Sharing(str(answer['mode']), answer.get('until'), answer.get('details') is True)


def read_link(item: dict[str, Any]) -> Link:
    return Link(str(item['id']), item['until'], item.get('rounded') is True, item['made'])


def read_link_place(answer: dict[str, Any]) -> LinkPlace:
    return LinkPlace(str(answer.get('name') or ''), answer.get('lat'), answer.get('lng'), answer.get('time'), answer['until'])


def read_named_place(item: dict[str, Any]) -> NamedPlace:
    tell = item['tell']
    return NamedPlace(str(item['id']), str(item['name']), item['lat'], item['lng'], int(item['radius_m']),
                      tell if isinstance(tell, str) else tuple(map(int, tell)))


def read_place_event(item: dict[str, Any]) -> PlaceEvent:
    return PlaceEvent(int(item['number']), str(item['place']), str(item['name']), str(item['what']), int(item['time']))


def read_nearby(answer: dict[str, Any]) -> NearbyPage:
    friends = [NearbyFriend(*_profile(item), item['lat'], item['lng'], item['distance_m'], item['time'], item.get('rounded') is True,
                            item.get('accuracy'), read_details(item))
               for item in answer['items']]
    return NearbyPage(friends, answer.get('next'), answer.get('time'))


def read_audience(answer: dict[str, Any]) -> Audience:
    return Audience([Watcher(int(item['user']), item.get('near') is True) for item in answer['items']], answer.get('next'),
                    str(answer['mode']), answer.get('visible') is True)


def read_place(item: dict[str, Any]) -> Place:
    return Place(item['lat'], item['lng'], item['time'], item.get('accuracy'), item['received'], read_details(item))


def read_export(answer: dict[str, Any]) -> ExportPage:
    kind = str(answer['kind'])
    return ExportPage([Exported(kind, item) for item in answer['items']], answer.get('next'), kind)
