"""Waiting for what must become true."""
import time

# Tests say how long something takes on a machine of their own. Others run beside them, and a wait costs only a test that fails.
PATIENCE = 3


def eventually(check, timeout=30.0, every=0.05, what=None):
    """Calls check until it returns something true (that is returned) or until PATIENCE * timeout seconds have passed.

    check may assert: the last AssertionError is raised at the end, so that the failure says what was seen.
    """
    timeout *= PATIENCE
    deadline = time.monotonic() + timeout
    while True:
        failure = None
        try:
            result = check()
            if result:
                return result
        except AssertionError as error:
            failure = error
            result = None
        if time.monotonic() >= deadline:
            if failure is not None:
                raise failure
            raise AssertionError(f'not within {timeout} s: {what or check.__name__} (last: {result!r})')
        time.sleep(every)


def now_ms() -> int:
    return int(time.time() * 1000)
