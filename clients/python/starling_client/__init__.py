"""The friends near me, my home timeline and threads of comments, live, over starling's WebSocket (starling.v1); posts, comments and follows
over its HTTP API. README.md shows how; StarlingClient, LiveFeed, LiveThread and StarlingApi say everything."""
from .api import StarlingApi, draw_key
from .client import SUBPROTOCOL, CloseCode, StarlingClient
from .comments import Comment, CommentAround, CommentPage
from .errors import (ApiError, BadRequest, Conflict, ConnectedElsewhere, ConnectionEnded, ConnectionLost, ConnectionTokenExpired,
                     ConnectionTokenRefused, Forbidden, NotFound, ProtocolBroken, ServerOverloaded, ServerRestarting, ServerUnavailable,
                     TokenExpired, TokenRefused, TooManyRequests, TooSlow, Undecided, Unreachable)
from .events import Change, ClientError, Event, Friend, State, StateChange, Welcome
from .feed import FeedChange, FeedEvent, LiveFeed
from .geo import EARTH_RADIUS_M, distance_m
from .live_thread import LiveThread, ThreadChange, ThreadCounters, ThreadEvent, ThreadStale
from .nearby import PAGE_SIZE
from .posts import FeedPage, Notice, Page, People, Post, Stranger, Strangers, User
from .tokens import Token

__version__ = '0.2.0'

__all__ = ['ApiError', 'BadRequest', 'Change', 'ClientError', 'CloseCode', 'Comment', 'CommentAround', 'CommentPage',
           'Conflict', 'ConnectedElsewhere', 'ConnectionEnded', 'ConnectionLost', 'ConnectionTokenExpired',
           'ConnectionTokenRefused', 'EARTH_RADIUS_M', 'Event', 'FeedChange', 'FeedEvent', 'FeedPage', 'Forbidden', 'Friend',
           'LiveFeed', 'LiveThread', 'NotFound', 'Notice', 'PAGE_SIZE', 'Page', 'People', 'Post', 'ProtocolBroken',
           'SUBPROTOCOL', 'ServerOverloaded', 'ServerRestarting', 'ServerUnavailable', 'StarlingApi', 'StarlingClient', 'State',
           'StateChange', 'Stranger', 'Strangers', 'ThreadChange', 'ThreadCounters', 'ThreadEvent', 'ThreadStale', 'Token',
           'TokenExpired', 'TokenRefused', 'TooManyRequests', 'TooSlow', 'Undecided', 'Unreachable', 'User', 'Welcome',
           '__version__', 'distance_m', 'draw_key']
