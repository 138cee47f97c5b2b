"""The friends near me, my home timeline and threads of comments, live, over starling's WebSocket (starling.v1); everything that users do
over its HTTP API. README.md shows how; StarlingClient, LiveFeed, LiveThread, LiveNotices and StarlingApi say everything."""
from .api import StarlingApi, draw_key
from .client import SUBPROTOCOL, CloseCode, StarlingClient
from .comments import Comment, CommentAround, CommentPage, OwnComment
from .errors import (ApiError, BadRequest, CertificateRefused, Conflict, ConnectedElsewhere, ConnectionEnded, ConnectionLost,
                     ConnectionRefused, ConnectionTokenExpired, ConnectionTokenRefused, Forbidden, InvalidPosition, NotAnEdge, NotConnected,
                     NotFound, ProtocolBroken, ServerOverloaded, ServerRestarting, ServerUnavailable, TlsMismatch, TokenExpired,
                     TokenRefused, TooManyRequests, TooSlow, Undecided, Unreachable)
from .events import Change, ClientError, Event, Friend, State, StateChange, StrangersGone, Welcome
from .feed import FeedChange, FeedEvent, LiveFeed
from .geo import EARTH_RADIUS_M, distance_m
from .live_notices import LiveNotices, NoticesChange
from .details import Details
from .live_thread import LiveThread, ThreadChange, ThreadCounters, ThreadEvent, ThreadStale
from .nearby import PAGE_SIZE
from .people import (Audience, Device, Exported, ExportPage, FriendOutcome, Friendship, Link, LinkPlace, NamedPlace, NearbyFriend, NearbyPage,
                     NewLink, Place, PlaceEvent, Profile, Report, Reported, Sharing, Watcher, WholeProfile)
from .posts import Edit, FeedPage, ListedUser, Notice, NoticePage, NoticePreference, Page, People, Post, Stranger, Strangers, User
from .tokens import Token

__version__ = '0.2.0'

__all__ = ['ApiError', 'Audience', 'BadRequest', 'CertificateRefused', 'Change', 'ClientError', 'CloseCode', 'Comment',
           'CommentAround', 'CommentPage', 'Conflict', 'ConnectedElsewhere', 'ConnectionEnded', 'ConnectionLost', 'Details',
           'ConnectionRefused', 'ConnectionTokenExpired', 'ConnectionTokenRefused', 'Device', 'EARTH_RADIUS_M', 'Edit', 'Event', 'ExportPage',
           'Exported', 'FeedChange', 'FeedEvent', 'FeedPage', 'Forbidden', 'Friend', 'FriendOutcome', 'Friendship',
           'InvalidPosition', 'Link', 'LinkPlace', 'ListedUser', 'LiveFeed', 'LiveNotices', 'LiveThread', 'NamedPlace', 'NearbyFriend', 'NearbyPage', 'NewLink',
           'NotAnEdge', 'NotConnected',
           'NotFound', 'Notice', 'NoticePage', 'NoticePreference', 'NoticesChange', 'OwnComment',
           'PAGE_SIZE', 'Page', 'People', 'Place', 'PlaceEvent', 'Post', 'Profile', 'ProtocolBroken', 'Report',
           'Reported', 'SUBPROTOCOL', 'ServerOverloaded', 'ServerRestarting', 'ServerUnavailable', 'Sharing', 'StarlingApi',
           'StarlingClient', 'State', 'StateChange', 'Stranger', 'Strangers', 'StrangersGone', 'ThreadChange', 'ThreadCounters',
           'ThreadEvent', 'ThreadStale', 'TlsMismatch', 'Token', 'TokenExpired', 'TokenRefused', 'TooManyRequests', 'TooSlow',
           'Undecided', 'Unreachable', 'User', 'Watcher', 'Welcome', 'WholeProfile', '__version__', 'distance_m', 'draw_key']
