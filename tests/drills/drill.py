"""What a drill is, and how it is run: it breaks one thing of a World that people use, and says what they may notice of it."""
import signal
import time
import traceback
import typing

from .world import Noticed

PRODUCTS = 'lists', 'timelines', 'threads'


class Drill(typing.NamedTuple):
    name: str
    fault: str                 # what is broken, in words
    notice: str                # what users notice, in words
    within: tuple              # seconds that nobody may wait longer: lists, timelines, threads; beyond Noticed.away_s
    lost: str
    timeout_s: int
    act: typing.Callable
    brokers: int = 1


class Row(typing.NamedTuple):
    """What came of a drill."""
    drill: Drill
    noticed: Noticed           # empty when it failed early
    compared: dict[str, int]   # how much of what was checked afterwards
    took_s: float
    failure: str | None
    sound: bool                # the world may be used by the next drill


class TooLong(AssertionError):
    pass


DRILLS: dict[str, Drill] = {}


def drill(fault, notice, within, lost='nothing', timeout_s=300, name=None, brokers=1):
    """
    @drill('kill -9 of a router', 'lists stand still', within=(12, 5, 5))
    def kill_router(world):
        with world.traffic() as noticed:
            ...
        return noticed

    Its name is the function's, with dashes, unless one is given. The world is checked afterwards (World.check).
    """
    def decorated(act):
        its_name = name or act.__name__.replace('_', '-')
        assert its_name not in DRILLS, its_name
        DRILLS[its_name] = Drill(its_name, fault, notice, within, lost, timeout_s, act, brokers)
        return act
    return decorated


def _ring(_signal, _frame):
    raise TooLong('the drill took too long')


def promises_nothing(one: Drill) -> bool:
    return one.notice.split(';')[0] == 'nothing'


def run(one: Drill, world) -> Row:
    """Never raises but for what the user says (Ctrl-C): a failure is in the row."""
    began, noticed, compared, failure, sound = time.monotonic(), Noticed(), {}, None, False
    signal.signal(signal.SIGALRM, _ring)
    signal.alarm(one.timeout_s)
    try:
        noticed = one.act(world)
        late = [f'{product}: {noticed.longest[product]} s, more than {noticed.away_s + most:.1f} s'
                for product, most in zip(PRODUCTS, one.within) if noticed.longest[product] > noticed.away_s + most]
        compared = world.check()
        sound = True
        assert not late, '; '.join(late)
        assert not noticed.errors or not promises_nothing(one), f'users notice: {noticed.errors}'
    except Exception as error:
        failure = ''.join(traceback.format_exception(error)[-3:]).strip()
    finally:
        signal.alarm(0)
    return Row(one, noticed, compared, time.monotonic() - began, failure, sound)
