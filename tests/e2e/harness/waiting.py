"""Waiting for what must become true."""
import time

# A wait for which a test names no time only ends a test that fails. So it lasts several times what a quiet machine needs: others run beside
# the test. A time that a test names is a promise of the product, or enough as it is.
PATIENCE = 3


def eventually(check, timeout=30.0 * PATIENCE, every=0.05, what=None):
    """Calls check until it returns something true (that is returned) or until timeout seconds have passed.

    check may assert: the last AssertionError is raised at the end, so that the failure says what was seen.
    """
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
