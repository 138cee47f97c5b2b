"""starling's HTTP API. Writes are repeated until they are decided: doing them again changes nothing, as posts and comments carry a key, and
reports a time."""
from __future__ import annotations

import random
import secrets
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any, TypeVar
from urllib.parse import quote

from .comments import (Comment, CommentAround, CommentPage, OwnComment, comments_path, read_comment, read_comment_page, read_comments,
                       read_own_comment)
from .details import write_details
from .errors import BadRequest
from .geo import round_position
from .people import (Audience, Device, ExportPage, FriendOutcome, Friendship, Link, LinkPlace, NamedPlace, NearbyPage, NewLink, Place, PlaceEvent,
                     Report, Reported, Sharing, WholeProfile, read_audience, read_device, read_export, read_friendship, read_link, read_link_place,
                     read_named_place, read_nearby, read_outcome, read_place, read_place_event, read_profile, read_sharing)
from .posts import (Edit, FeedPage, ListedUser, NoticePage, NoticePreference, Page, People, Post, Strangers, User, read_edit,
                    read_listed_user, read_notice_preferences, read_notices, read_post, read_posts, read_strangers, read_user)
from .requests import Requests, each, path, whole
from .tokens import Token

_Item = TypeVar('_Item')


class StarlingApi:
    """
    api = StarlingApi('http://localhost:8080', token)
    post = await api.create_post('Good morning')

    token: a JWT, or a function that gets one (see Token). patience: writes are repeated for so long (s) while the server
    cannot, or has not decided. context: for https:, as one that trusts an authority of your own. Everything raises ApiError, of the kind
    that errors.py names for it.
    """

    def __init__(self, url: str, token: Token, *, patience: float = 30.0, context: ssl.SSLContext | None = None,
                 rand: Callable[[], float] = random.random):
        self._http = Requests(url, token, patience, context, rand)

    def renew(self, token: Token) -> None:
        """A newer token of the same user."""
        self._http.renew(token)

    # posts

    async def create_post(self, text: str, media: list[str] | None = None, key: str | None = None) -> Post:
        """The same key again is the same post: keep it where a failed call may be repeated later (draw_key). Default: a new
        one."""
        return whole(read_post(await self._http.decided('POST', '/v1/posts', {
            'text': text, 'key': key or draw_key(), **({'media': media} if media else {})})))

    async def get_post(self, post: str) -> Post:
        return whole(read_post(await self._http.ask(path('posts', post))))

    async def edit_post(self, post: str, text: str, version: int, *, reason: str | None = None) -> Post:
        """Its author and moderators may, who give a reason. version: that was read; Conflict: somebody has edited it since, or 99 times."""
        return whole(read_post(await self._http.decided('PUT', path('posts', post), edit_body(text, version, reason))))

    async def get_post_edits(self, post: str, *, after: str | None = None, limit: int | None = None) -> Page[Edit]:
        """All versions of its text, the newest first."""
        return await self._http.page(path('posts', post, 'edits'), {'after': after, 'limit': limit}, each(read_edit))

    async def delete_post(self, post: str) -> None:
        await self._http.decided('DELETE', path('posts', post))

    async def like_post(self, post: str) -> int:
        """How many like it now; as unlike_post."""
        return int((await self._http.decided('PUT', path('posts', post, 'like'))).get('likes', 0))

    async def unlike_post(self, post: str) -> int:
        return int((await self._http.decided('DELETE', path('posts', post, 'like'))).get('likes', 0))

    async def get_likes(self, post: str, *, after: int | None = None, limit: int | None = None) -> Page[ListedUser]:
        """Who likes a post, by user id, rising. Whom I have blocked is left out."""
        return await self._http.page(path('posts', post, 'likes'), {'after': after, 'limit': limit}, each(read_listed_user))

    async def get_posts(self, user: int, *, from_ms: int | None = None, to_ms: int | None = None, after: str | None = None,
                        limit: int | None = None) -> Page[Post]:
        """A page of a user's posts, newest first."""
        return await self._http.page(path('users', user, 'posts'), {'from': from_ms, 'to': to_ms, 'after': after, 'limit': limit},
                                     lambda answer: Page(read_posts(answer.get('items')), answer.get('next')))

    async def get_feed(self, *, from_ms: int | None = None, to_ms: int | None = None, after: str | None = None,
                       limit: int | None = None) -> FeedPage:
        """A page of my home timeline, newest first; or of its posts from one time (inclusive) to another (exclusive)."""
        return await self._http.page('/v1/feed', {'from': from_ms, 'to': to_ms, 'after': after, 'limit': limit}, lambda answer: FeedPage(
            read_posts(answer.get('items')), answer.get('next'), answer.get('complete') is True, str(answer.get('version', ''))))

    async def get_notices(self, *, after: str | None = None, limit: int | None = None) -> NoticePage:
        """A page of my notices, newest first. The server keeps 200."""
        return await self._http.page('/v1/notices', {'after': after, 'limit': limit}, lambda answer: NoticePage(
            read_notices(answer.get('items')), answer.get('next'), int(answer.get('unread', 0))))

    async def mark_notices_read(self, until: str) -> int:
        """All up to that notice are read, on all devices. How many are unread now."""
        return int((await self._http.decided('PUT', '/v1/notices/read', {'until': until})).get('unread', 0))

    async def get_notice_preferences(self) -> dict[str, NoticePreference]:
        """How I am told of each kind (`what` of notices)."""
        return read_notice_preferences(await self._http.ask('/v1/notices/preferences'))

    async def set_notice_preferences(self, preferences: dict[str, NoticePreference]) -> dict[str, NoticePreference]:
        """Kinds that are not named stay as they are. What holds now."""
        body = {kind: {'live': one.live, 'push': one.push} for kind, one in preferences.items()}
        return read_notice_preferences(await self._http.decided('PUT', '/v1/notices/preferences', body))

    async def get_strangers(self, *, after: str | None = None, limit: int | None = None) -> Strangers:
        """A page of strangers nearby, nearest first. Only who shares with everybody may ask: else not_public."""
        return await self._http.page('/v1/discover', {'after': after, 'limit': limit}, lambda answer: whole(read_strangers(answer)))

    # comments; a subject is as post:123

    async def get_comments(self, subject: str, *, sort: str | None = None, replies: int | None = None, after: str | None = None,
                           limit: int | None = None, liked: bool = False, etag: str | None = None) -> CommentPage | None:
        """A page of roots with their first replies. sort: floor (the oldest first; default), newest or heat. liked: say which
        ones I like. None: the page of the same question is still that of the ETag."""
        return await self._http.tagged_page(comments_path(subject), {'sort': sort, 'replies': replies, 'after': after, 'limit': limit,
                                                                     'liked': 'true' if liked else None}, read_comment_page, etag)

    async def get_replies(self, subject: str, root: str, *, after: str | None = None, limit: int | None = None,
                          liked: bool = False) -> Page[Comment]:
        """The replies of a root, the oldest first."""
        return await self._comments(comments_path(subject, root, 'replies'), after, limit, liked)

    async def get_answers(self, subject: str, comment: str, *, after: str | None = None, limit: int | None = None,
                          liked: bool = False) -> Page[Comment]:
        """The replies that answer a reply, the oldest first; of a root, all its replies."""
        return await self._comments(comments_path(subject, comment, 'answers'), after, limit, liked)

    async def get_comment(self, subject: str, comment: str, *, liked: bool = False) -> Comment:
        return whole(read_comment(await self._http.ask(comments_path(subject, comment), {'liked': 'true' if liked else None})))

    async def get_comment_around(self, subject: str, comment: str, *, around: int = 3, liked: bool = False) -> CommentAround:
        """A comment with so many neighbours on each side."""
        answer = await self._http.ask(comments_path(subject, comment), {'around': around, 'liked': 'true' if liked else None})
        return CommentAround(whole(read_comment(answer.get('item'))), read_comment(answer.get('root')),
                             read_comments(answer.get('around')))

    async def post_comment(self, subject: str, text: str, *, reply_to: str | None = None, key: str | None = None) -> Comment:
        """The same key again is the same comment: keep it where a failed call may be repeated later (draw_key). Default: a new
        one."""
        return whole(read_comment(await self._http.decided('POST', comments_path(subject), {
            'text': text, 'key': key or draw_key(), **({'reply_to': reply_to} if reply_to else {})})))

    async def edit_comment(self, subject: str, comment: str, text: str, version: int, *, reason: str | None = None) -> Comment:
        """As edit_post."""
        body = edit_body(text, version, reason)
        return whole(read_comment(await self._http.decided('PUT', comments_path(subject, comment), body)))

    async def get_comment_edits(self, subject: str, comment: str, *, after: str | None = None, limit: int | None = None) -> Page[Edit]:
        return await self._http.page(comments_path(subject, comment, 'edits'), {'after': after, 'limit': limit}, each(read_edit))

    async def delete_comment(self, subject: str, comment: str) -> None:
        """Its author, the subject's owner and moderators may. It keeps its floor and its replies, and loses its text."""
        await self._http.decided('DELETE', comments_path(subject, comment))

    async def like_comment(self, subject: str, comment: str) -> int:
        """How many like it now; as unlike_comment."""
        return int((await self._http.decided('PUT', comments_path(subject, comment, 'like'))).get('likes', 0))

    async def unlike_comment(self, subject: str, comment: str) -> int:
        return int((await self._http.decided('DELETE', comments_path(subject, comment, 'like'))).get('likes', 0))

    async def pin_comment(self, subject: str, comment: str) -> bool:
        """Whether it is pinned now; as unpin_comment. The subject's owner may."""
        return (await self._http.decided('PUT', comments_path(subject, comment, 'pin'))).get('pinned') is True

    async def unpin_comment(self, subject: str, comment: str) -> bool:
        return (await self._http.decided('DELETE', comments_path(subject, comment, 'pin'))).get('pinned') is True

    async def report_comment(self, subject: str, comment: str, reason: str) -> None:
        """Tells the moderators. reason: 1 to 1000 code points. A report is safe as soon as it is answered 202."""
        await self._report(comments_path(subject, comment, 'report'), reason)

    async def report_post(self, post: str, reason: str) -> None:
        """As report_comment; so is report_user."""
        await self._report(path('posts', post, 'report'), reason)

    async def report_user(self, user: int, reason: str) -> None:
        await self._report(path('users', user, 'report'), reason)

    async def _report(self, to: str, reason: str) -> None:
        await self._http.patiently(lambda: self._http.exchange('POST', to, {'reason': reason}))

    async def get_comments_of(self, user: int, *, after: str | None = None, limit: int | None = None) -> Page[OwnComment]:
        """What a user has commented, the newest first: only my own."""
        return await self._http.page(path('users', user, 'comments'), {'after': after, 'limit': limit},
                                     each(lambda item: whole(read_own_comment(item))))

    # my friends, and where we are

    async def get_friends(self, *, state: str | None = None, after: int | None = None, limit: int | None = None) -> Page[Friendship]:
        """A page of my friends, or those of another state (requested, invited, blocked, all), with names; by user id, rising."""
        return await self._http.page('/v1/friends', {'state': state, 'after': after, 'limit': limit}, each(read_friendship))

    async def add_friend(self, user: int) -> FriendOutcome:
        """Asks for a friendship (requested), or accepts one (friends)."""
        return await self._friend('PUT', path('friends', user))

    async def remove_friend(self, user: int) -> FriendOutcome:
        """Ends a friendship, refuses an invitation, or takes a request back."""
        return await self._friend('DELETE', path('friends', user))

    async def block(self, user: int) -> FriendOutcome:
        """Ends what there was, and prevents it from then on. The other one is not told."""
        return await self._friend('PUT', path('blocks', user))

    async def unblock(self, user: int) -> FriendOutcome:
        return await self._friend('DELETE', path('blocks', user))

    async def get_nearby(self, *, since: int | None = None, after: str | None = None, limit: int | None = None) -> NearbyPage:
        """A page of the friends near me, the nearest first: for who has no connection. since: the time of a report just made; the answer
        waits up to two seconds until the list is about it."""
        return await self._http.page('/v1/nearby', {'since': since, 'after': after, 'limit': limit}, read_nearby)

    async def get_audience(self, *, after: int | None = None, limit: int | None = None) -> Audience:
        """A page of the friends who can see me now, near or not."""
        return await self._http.page('/v1/audience', {'after': after, 'limit': limit}, read_audience)

    async def create_link(self, until: int, *, rounded: bool = False) -> NewLink:
        """A link that shows where I am until then (ms since the epoch), within 31 days; it ends with end_link, and when I stop sharing. Each
        call makes another one. Conflict not_sharing, links_limit."""
        answer = (await self._http.patiently(lambda: self._http.exchange('POST', '/v1/links', {'until': until, 'rounded': rounded}))).body
        return NewLink(str(answer['id']), str(answer['url']))

    async def get_links(self, *, after: int | None = None, limit: int | None = None) -> Page[Link]:
        """A page of those that have not ended."""
        return await self._http.page('/v1/links', {'after': after, 'limit': limit}, each(read_link))

    async def end_link(self, link: str) -> None:
        await self._http.decided('DELETE', path('links', link))

    async def get_link_place(self, link: str) -> LinkPlace:
        """What a link shows; no token is asked for. link: its url, or what stands behind the #. ApiError link_over: it has ended."""
        return read_link_place(await self._http.ask_anonymously(path('links', link.rpartition('#')[2], 'place')))

    async def get_places(self, *, after: str | None = None, limit: int | None = None) -> Page[NamedPlace]:
        """A page of my places."""
        return await self._http.page('/v1/places', {'after': after, 'limit': limit}, each(read_named_place))

    async def get_place(self, place: str) -> NamedPlace:
        return read_named_place(await self._http.ask(path('places', place)))

    async def set_place(self, place: str, *, name: str, lat: float, lng: float, radius_m: int, tell: str | Iterable[int]) -> NamedPlace:
        """Makes a place, or changes it. place: chosen by the app, 1 to 32 of A-Z, a-z, 0-9, - and _, not `events`. radius_m: 50 to 50,000. tell: me,
        friends, or users (50 at most). Conflict places_limit: I have 50. InvalidPosition."""
        lat, lng = round_position(lat, lng)
        return read_named_place(await self._http.decided('PUT', path('places', place), {
            'name': name, 'lat': lat, 'lng': lng, 'radius_m': radius_m, 'tell': tell if isinstance(tell, str) else list(tell)}))

    async def delete_place(self, place: str) -> None:
        await self._http.decided('DELETE', path('places', place))

    async def get_place_events(self, *, from_ms: int | None = None, to_ms: int | None = None, after: int | None = None,
                               limit: int | None = None) -> Page[PlaceEvent]:
        """A page of my arrivals and departures, from the oldest on; from (inclusive) and to (exclusive) in ms since the epoch."""
        return await self._http.page('/v1/places/events', {'from': from_ms, 'to': to_ms, 'after': after, 'limit': limit}, each(read_place_event))

    async def report(self, reports: Report | Iterable[Report]) -> Reported:
        """Where I am, or was: for programs without a connection. Up to 1000 at once, in any order. The same one
        again moves nobody, and get_history shows it once. What the server refuses of several is left out.
        BadRequest: all are refused. ApiError sharing_off: I share with nobody. InvalidPosition: one of them is none."""
        now = round(time.time() * 1000)
        left = [reports] if isinstance(reports, Report) else list(reports)
        locations = []
        refused: list[Report] = []
        for one in left:
            lat, lng = round_position(one.lat, one.lng)
            locations.append({'lat': lat, 'lng': lng, 'time': now if one.time is None else one.time,
                              **({} if one.accuracy is None else {'accuracy': one.accuracy}), **write_details(one.details)})
        while True:
            try:
                answer = await self._http.decided('POST', '/v1/locations', {'locations': locations})
                return Reported(int(answer['accepted']), int(answer['sharing_off']), refused)
            except BadRequest as error:
                index = error.problem.get('index')
                if not isinstance(index, int) or len(locations) < 2 or not 0 <= index < len(locations):
                    raise
                del locations[index]  # one bad fix must not keep the others from being taken
                refused.append(left.pop(index))

    async def get_history(self, *, from_ms: int | None = None, to_ms: int | None = None, after: str | None = None,
                          limit: int | None = None) -> Page[Place]:
        """A page of where I was, by time, rising; from (inclusive) and to (exclusive) in ms since the epoch. limit: 1 to 10000, default
        20."""
        return await self._http.page('/v1/history', {'from': from_ms, 'to': to_ms, 'after': after, 'limit': limit}, each(read_place))

    # me

    async def get_profile(self) -> WholeProfile:
        """NotFound no_profile: I have none."""
        return read_profile(await self._http.ask('/v1/profile'))

    async def get_profile_of(self, user: int) -> WholeProfile:
        return read_profile(await self._http.ask(path('profiles', user)))

    async def set_profile(self, name: str, avatar_url: str | None = None, *, bio: str | None = None, url: str | None = None) -> WholeProfile:
        """Replaces my profile: what is left out is none any more."""
        more = {'avatar_url': avatar_url, 'bio': bio, 'url': url}
        return read_profile(await self._http.decided('PUT', '/v1/profile', {
            'name': name, **{member: text for member, text in more.items() if text}}))

    async def get_sharing(self) -> Sharing:
        return read_sharing(await self._http.ask('/v1/sharing'))

    async def set_sharing(self, mode: str, until: int | None = None, details: bool = False) -> Sharing:
        """mode: off, friends or public. until: sharing ends by itself then, ms since the epoch. details: friends who see the exact place are told
        accuracy and Details, too."""
        choice = {'mode': mode, **({} if until is None else {'until': until}), **({'details': True} if details else {})}
        return read_sharing(await self._http.decided('PUT', '/v1/sharing', choice))

    async def get_devices(self, session: str | None = None) -> list[Device]:
        """Where I am signed in, newest first. session: of my own welcome; that one is `current`."""
        return [read_device(item) for item in (await self._http.ask('/v1/devices', {'session': session})).get('items', [])]

    async def end_device(self, device: str) -> None:
        """Ends that session (`id`): its client is closed for the reason elsewhere. NotFound: I have none of that id."""
        await self._http.decided('DELETE', path('devices', device))

    async def get_export(self, *, after: str | None = None, limit: int | None = None) -> ExportPage:
        """A page of everything that is kept of me: async for one in api.all(api.get_export()) reads it all. after: also the name of a
        kind."""
        return await self._http.page('/v1/export', {'after': after, 'limit': limit}, read_export)

    async def forget_me(self) -> dict[str, int]:
        """Removes everything of me but the history of positions, which goes with its age; for ever. Returns how many of each kind were
        found. Undecided: it goes on, and the same call tells how it ends."""
        return dict((await self._http.decided('DELETE', '/v1/me'))['removed'])

    # other people

    async def get_user(self, user: int) -> User:
        return read_user(await self._http.ask(path('users', user)))

    async def get_users(self, users: Iterable[int]) -> list[ListedUser]:
        """1 to 100 users, in this order."""
        answer = await self._http.ask('/v1/users', {'ids': ','.join(map(str, users))})
        return [read_listed_user(item) for item in answer['items']]

    async def get_me(self) -> int:
        """My id, also where the sign-in provider knows me by a text."""
        return int((await self._http.ask('/v1/me'))['user'])

    async def get_externals(self, users: Iterable[int]) -> dict[int, str]:
        """The texts by which the sign-in provider knows 1 to 100 users, without those who have none."""
        answer = await self._http.ask('/v1/externals', {'users': ','.join(map(str, users))})
        return {item['user']: item['external'] for item in answer['users']}

    async def get_users_by_externals(self, externals: Iterable[str]) -> dict[str, int]:
        """The ids of 1 to 100 users by such texts, without those who have not signed in yet. No text has a comma."""
        answer = await self._http.ask('/v1/externals', {'externals': ','.join(externals)})
        return {item['external']: item['user'] for item in answer['users']}

    async def get_user_by_handle(self, handle: str) -> User:
        """With or without an @ in front; capital letters count as small ones."""
        return read_user(await self._http.ask(f'{path("handles")}/{quote(handle.removeprefix("@"), safe="")}'))

    async def set_handle(self, handle: str) -> str:
        """Chooses my handle: returns it as it counts. ApiError handle_taken: somebody else has it."""
        return str((await self._http.decided('PUT', '/v1/handle', {'handle': handle})).get('handle'))

    async def drop_handle(self) -> None:
        await self._http.decided('DELETE', '/v1/handle')

    async def follow(self, user: int) -> bool:
        """Whether I follow now. False: I have asked to, as only followers see the posts of this user."""
        return (await self._http.decided('PUT', path('follows', user))).get('following') is True

    async def unfollow(self, user: int) -> bool:
        """Whether I follow now. Takes a request back, too."""
        return (await self._http.decided('DELETE', path('follows', user))).get('following') is True

    async def get_my_requests(self, *, after: int | None = None, limit: int | None = None) -> People:
        """Whom I have asked to follow, by user id, rising."""
        return await self._people('/v1/follows/requests', after, limit)

    async def get_follow_requests(self, *, after: int | None = None, limit: int | None = None) -> People:
        """Who has asked to follow me, by user id, rising."""
        return await self._people('/v1/followers/requests', after, limit)

    async def accept_follower(self, user: int) -> bool:
        """Whether the user follows me now. ApiError no_request: the user has not asked."""
        return (await self._http.decided('PUT', path('followers', user))).get('follower') is True

    async def remove_follower(self, user: int) -> None:
        """Declines a request, or removes a follower."""
        await self._http.decided('DELETE', path('followers', user))

    async def get_visibility(self) -> str:
        """Who sees my posts: everybody or followers."""
        return str((await self._http.ask('/v1/visibility')).get('posts'))

    async def set_visibility(self, posts: str) -> str:
        """everybody accepts all requests. What holds now."""
        return str((await self._http.decided('PUT', '/v1/visibility', {'posts': posts})).get('posts'))

    async def mute(self, user: int) -> bool:
        """Whether I mute now; as unmute."""
        return (await self._http.decided('PUT', path('mutes', user))).get('muted') is True

    async def unmute(self, user: int) -> bool:
        return (await self._http.decided('DELETE', path('mutes', user))).get('muted') is True

    async def mute_nearby(self, user: int) -> bool:
        """Leaves a friend out of my list of near friends, on all my devices. Whether the friend is left out now; as unmute_nearby."""
        return (await self._http.decided('PUT', path('nearby', 'mutes', user))).get('muted') is True

    async def unmute_nearby(self, user: int) -> bool:
        return (await self._http.decided('DELETE', path('nearby', 'mutes', user))).get('muted') is True

    async def get_nearby_mutes(self, *, after: int | None = None, limit: int | None = None) -> Page[ListedUser]:
        """Whom I leave out of my list of near friends, by user id, rising: without names."""
        return await self._http.page('/v1/nearby/mutes', {'after': after, 'limit': limit}, each(read_listed_user))

    async def mutes_nearby(self, user: int) -> bool:
        """Whether I leave the user out of my list of near friends."""
        return await self._lists('/v1/nearby/mutes', user)

    async def round_for(self, user: int) -> bool:
        """Lets a friend, or somebody with whom there is a request, see only about where I am: the centre of a cell, and a distance to
        there. Whether that is so now; as exact_for. Conflict not_friends: there is neither."""
        return (await self._http.decided('PUT', path('friends', user, 'rounded'))).get('rounded') is True

    async def exact_for(self, user: int) -> bool:
        return (await self._http.decided('DELETE', path('friends', user, 'rounded'))).get('rounded') is True

    async def get_followers(self, user: int, *, after: int | None = None, limit: int | None = None) -> People:
        """By user id, rising; as get_following."""
        return await self._people(path('users', user, 'followers'), after, limit)

    async def get_known_followers(
        self, user: int, *, after: int | None = None, limit: int | None = None
    ) -> Page[ListedUser]:
        """Of those whom I follow, who follow the user: a page is of 400 whom I follow, or of limit, and may be empty with a next."""
        return await self._http.page(path('users', user, 'followers', 'known'), {'after': after, 'limit': limit}, each(read_listed_user))

    async def get_mutual_friends(self, user: int, *, after: int | None = None, limit: int | None = None) -> People:
        """My friends who are also friends of the user: nobody while one of us blocks the other. ApiError same_user: the user is me."""
        return await self._people(path('users', user, 'mutual-friends'), after, limit)

    async def get_following(self, user: int, *, after: int | None = None, limit: int | None = None) -> People:
        return await self._people(path('users', user, 'following'), after, limit)

    async def follows(self, user: int, other: int) -> bool:
        """Whether the user follows the other one."""
        return await self._lists(path('users', user, 'following'), other)

    # requests

    async def request(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Any other request: the JSON of the answer, {} where there is none."""
        return (await self._http.exchange(method, path, body)).body

    def all(self, first: Page[_Item] | Awaitable[Page[_Item]]) -> AsyncIterator[_Item]:
        """The items of a page and of all pages after it: async for friend in api.all(api.get_friends()). Pages are asked for as they are
        needed, and again while the server cannot, for `patience`."""
        return self._http.all(first)

    async def _comments(self, path: str, after: str | None, limit: int | None, liked: bool) -> Page[Comment]:
        return await self._http.page(path, {'after': after, 'limit': limit, 'liked': 'true' if liked else None},
                                     lambda answer: Page(read_comments(answer.get('items')), answer.get('next')))

    async def _friend(self, method: str, path: str) -> FriendOutcome:
        return read_outcome(await self._http.decided(method, path))

    async def _lists(self, path: str, user: int) -> bool:
        """Whether the user is on a list by user id."""
        page = await self._people(path, user - 1 if user > 0 else None, 1)
        return [one.user for one in page.items[:1]] == [user]

    async def _people(self, path: str, after: int | None, limit: int | None) -> People:
        return await self._http.page(path, {'after': after, 'limit': limit}, lambda answer: People(
            [read_listed_user(item) for item in answer.get('items', [])], answer.get('next'), int(answer.get('total', 0))))


def edit_body(text: str, version: int, reason: str | None) -> dict[str, Any]:
    return {'text': text, 'version': version, **({'reason': reason} if reason else {})}


def draw_key() -> str:
    """A new idempotency key."""
    return secrets.token_hex(16)
