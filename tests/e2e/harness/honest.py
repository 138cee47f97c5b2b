"""An honest client from another network, asked on while somebody attacks."""
import contextlib
import statistics
import threading
import time

import requests
from requests.adapters import HTTPAdapter

from harness.http import Http

HONEST = '127.0.1.7'  # another /24 than 127.0.0.1, from which tests attack


class From(HTTPAdapter):
    """Connections from that address of this machine."""

    def __init__(self, address: str):
        self.address = address
        super().__init__()

    def init_poolmanager(self, *arguments, **options):
        super().init_poolmanager(*arguments, source_address=(self.address, 0), **options)


def honest(base: str, token: str | None = None, address: str = HONEST) -> Http:
    """A session from that address."""
    session = Http(base, token)
    session.mount('http://', From(address))
    return session


def memory(daemon) -> float:
    """Bytes that the process holds."""
    return daemon.total('process_resident_memory_bytes')


@contextlib.contextmanager
def served(ask, every_s=0.1, median_s=1.0, worst_s=4.0, least=5):
    """While the block runs, ask() is called again and again, each time in a thread of its own so that a slow answer holds up none. At the
    end all must have been answered, as quickly as it says; what failed is raised."""
    times, failures, threads, over = [], [], [], threading.Event()

    def once():
        began = time.monotonic()
        try:
            ask()
        except (AssertionError, OSError, requests.RequestException) as failure:
            failures.append(failure)
        times.append(time.monotonic() - began)

    def again():
        while not over.wait(every_s):
            threads.append(threading.Thread(target=once))
            threads[-1].start()

    asking = threading.Thread(target=again)
    asking.start()
    try:
        yield times
    finally:
        over.set()
        asking.join()
        for thread in threads:
            thread.join()
    assert not failures, f'{len(failures)} of {len(times)} failed: {failures[0]!r}'
    assert len(times) >= least
    assert statistics.median(times) <= median_s and max(times) <= worst_s, f'{statistics.median(times):.2f} s, worst {max(times):.2f} s'
