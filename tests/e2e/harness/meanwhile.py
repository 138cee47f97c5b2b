"""People who go on acting while a test does something else."""
import contextlib
import threading


@contextlib.contextmanager
def meanwhile(people, act, pause=0.0):
    """
    with meanwhile(people, act):    # each of them calls act(user) again and again, in a thread of their own
        process.kill()

    A person whose act fails stops; at the end the test fails for that.
    """
    over, failures = threading.Event(), []

    def live(user):
        try:
            while not over.wait(pause):
                act(user)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=live, args=(user,)) for user in people]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert not failures, failures
