"""The friends near me, over starling's WebSocket (starling.v1). README.md shows how; StarlingClient says everything."""
from .client import SUBPROTOCOL, CloseCode, StarlingClient
from .events import Change, ClientError, Event, Friend, State, StateChange, Welcome
from .geo import EARTH_RADIUS_M, distance_m
from .nearby import PAGE_SIZE
from .tokens import Token

__all__ = ['EARTH_RADIUS_M', 'PAGE_SIZE', 'SUBPROTOCOL', 'Change', 'ClientError', 'CloseCode', 'Event', 'Friend',
           'StarlingClient', 'State', 'StateChange', 'Token', 'Welcome', 'distance_m']
