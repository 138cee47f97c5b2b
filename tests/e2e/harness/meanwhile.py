"""What goes on while a test does something else, and what happens at the same time: in threads, whose failures are the test's."""
import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor

from .waiting import eventually


@contextlib.contextmanager
def beside(do, items):
    """While the block runs, do(item) for each item, in a thread of its own; handed out are their futures. At the end all are waited for."""
    with ThreadPoolExecutor(len(items)) as pool:
        found = [pool.submit(do, item) for item in items]
        yield found
    for one in found:
        one.result()


def at_once(do, items) -> list:
    """do(item) for all items at the same time; what they returned."""
    with beside(do, items) as found:
        pass
    return [one.result() for one in found]


@contextlib.contextmanager
def meanwhile(people, act, pause=0.0):
    """
    with meanwhile(people, act):    # each of them calls act(user) again and again, in a thread of their own
        process.kill()

    A person whose act fails stops; at the end the test fails for that.
    """
    over = threading.Event()

    def live(user):
        while not over.wait(pause):
            act(user)

    with beside(live, people):
        try:
            yield
        finally:
            over.set()


def troubled(work, done, trouble):
    """Calls work() in a thread of its own. Meanwhile [(at, do), ...]: each is done when done() says that so much of it is."""
    with beside(lambda call: call(), [work]) as (worker,):
        for at, do in trouble:
            eventually(lambda: worker.done() or done() >= at, 120, what=f'{at} of the plan is done')
            if worker.done():
                worker.result()
            assert not worker.done(), 'everything was over before the trouble came'
            do()
