"""The friends near me, my home timeline and threads of comments, live, over starling's WebSocket (starling.v1); posts, comments and follows
over its HTTP API. README.md shows how; StarlingClient, LiveFeed, LiveThread and StarlingApi say everything."""
from .api import ApiError, StarlingApi, draw_key
from .client import SUBPROTOCOL, CloseCode, StarlingClient
from .comments import Comment, CommentAround, CommentPage
from .events import Change, ClientError, Event, Friend, State, StateChange, Welcome
from .feed import FeedChange, FeedEvent, LiveFeed
from .geo import EARTH_RADIUS_M, distance_m
from .live_thread import LiveThread, ThreadChange, ThreadCounters, ThreadEvent, ThreadStale
from .nearby import PAGE_SIZE
from .posts import FeedPage, Notice, Page, People, Post, Stranger, Strangers, User
from .tokens import Token

__all__ = ['EARTH_RADIUS_M', 'PAGE_SIZE', 'SUBPROTOCOL', 'ApiError', 'Change', 'ClientError', 'CloseCode', 'Comment', 'CommentAround',
           'CommentPage', 'Event', 'FeedChange', 'FeedEvent', 'FeedPage', 'Friend', 'LiveFeed', 'LiveThread', 'Notice', 'Page', 'People',
           'Post', 'StarlingApi', 'StarlingClient', 'State', 'StateChange', 'Stranger', 'Strangers',
           'ThreadChange', 'ThreadCounters', 'ThreadEvent', 'ThreadStale', 'Token', 'User', 'Welcome', 'distance_m', 'draw_key']
