"""Pages of a large store for `./dev bench comments`: nothing of it is in the page cache, and RocksDB's own cache is as large as the default."""
import json
import os
import pathlib
import random
import time

from comments_pages import CONNECTIONS, address, tokens_of
from feed_http import read
from harness.waiting import eventually
from machine import spent, wait_quiet

A_SUBJECT = 100  # comments
RATE = 200  # pages a second
PATHS = 50_000
BLOCK = 4096


def forget(folder):
    """Takes the files out of the page cache."""
    for file in folder.rglob('*'):
        if not file.is_file():
            continue
        handle = os.open(file, os.O_RDONLY)
        os.fsync(handle)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(handle)


def from_disk(pid) -> int:
    lines = pathlib.Path(f'/proc/{pid}/io').read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith('read_bytes'))


def measure_disk(folder, seconds) -> dict:
    """The floor: one block anywhere in the files, at the same rate."""
    forget(folder)
    files = [(os.open(file, os.O_RDONLY), file.stat().st_size) for file in folder.rglob('*.sst') if file.stat().st_size > BLOCK]
    chance, times, begin = random.Random(1), [], time.monotonic()
    for number in range(int(RATE * seconds)):
        time.sleep(max(0, begin + number / RATE - time.monotonic()))
        handle, size = chance.choice(files)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_RANDOM)
        began = time.perf_counter()
        os.pread(handle, BLOCK, chance.randrange(size // BLOCK) * BLOCK)
        times.append((time.perf_counter() - began) * 1000)
    for handle, _ in files:
        os.close(handle)
    times.sort()
    return {'p50_ms': times[len(times) // 2], 'p99_ms': times[len(times) * 99 // 100]}


def write_paths(path, subjects, first):
    """First pages of any subject, in all orders; and each fifth a page anywhere in the first subject, which has a twentieth of all."""
    chance = random.Random(2)
    with open(path, 'w') as file:
        for number in range(PATHS):
            sort = chance.choice(('floor', 'newest', 'heat'))
            if number % 5:
                file.write(f'/v1/comments/site/{chance.randrange(1, subjects):09}?sort={sort}\n')
            else:
                sort = chance.choice(('floor', 'newest'))
                file.write(f'/v1/comments/site/000000000?sort={sort}&after={sort}-{chance.randrange(1, first)}\n')


def measure_cold(world, folder, say) -> dict:
    cluster, options, seconds = world.cluster, world.options, world.options.seconds
    process = cluster.add('comments', start=False)
    store = pathlib.Path(process.settings['data.dir']) / 'comments'
    store.parent.mkdir()
    say(f'{options.size:,} comments into a store')
    began, subjects = time.monotonic(), max(options.size // A_SUBJECT, 2)
    loaded = json.loads(world.load('store', path=store, count=options.size, subjects=subjects))
    say(f'loaded in {time.monotonic() - began:.0f} s')
    process.start()
    for kind in ('router', 'feed'):  # the gateway asks them about blocks, and a page waits for the answer
        cluster.add(kind)
    gateway = cluster.add('ingest', settings={'comments.hot.reads': 1_000_000_000})  # no copies
    host, port = address(gateway)
    tokens, paths = tokens_of(cluster), folder / 'paths'
    write_paths(paths, subjects, loaded['first'])
    lines = paths.read_text().splitlines()

    def whole():
        pages = [cluster.http(2).get(path) for path in lines[:20]]
        return all(page.status_code == 200 and page.json()['items'] for page in pages)

    eventually(whole, 60, what='pages are shown')
    wait_quiet(process.pid)
    processes = {'gateway': gateway.pid, 'comments': process.pid}
    found = {'comments': loaded['comments'], 'subjects': subjects, 'floor': measure_disk(store, seconds),
             'disk_bytes': sum(file.stat().st_size for file in store.iterdir())}
    for name, rate in (('rate', RATE), ('full', 0)):
        say(f'cold pages, {rate or "as many as there can be"} a second')
        forget(store)
        before = from_disk(process.pid)
        row, cpu = spent(processes, lambda: read(host, port, tokens, rate, seconds, f'@{paths}'))
        assert row['answered'], f'no page is shown: {row}\n{process.tail()}\n{gateway.tail()}'
        row['us'] = {name: value / row['answered'] * 1e6 for name, value in cpu.items()}
        found[name] = row | {'disk_bytes': (from_disk(process.pid) - before) / row['answered']}
    return found


def report_cold(cold):
    floor = cold['floor']
    print(f'\npages of {cold["comments"]:,} stored comments of {cold["subjects"]:,} subjects ({cold["disk_bytes"] / 1e9:.2f} GB), nothing of '
          f'them in the page cache\n  floor: one block of {BLOCK} bytes from the disk p50 {floor["p50_ms"]:.2f} ms, p99 {floor["p99_ms"]:.2f} ms')
    for name, what in (('rate', f'{RATE} pages a second'), ('full', f'{CONNECTIONS} connections, {cold["full"]["per_s"]:,.0f}/s')):
        row = cold[name]
        print(f'  {what}: p50 {row["p50_ms"]:.2f} ms, p99 {row["p99_ms"]:.2f} ms{" (target 10)" if name == "rate" else ""}, '
              f'{row["bad"]} refused; {row["disk_bytes"] / 1000:.1f} KB from the disk a page; CPU us: gateway {row["us"]["gateway"]:.0f}, '
              f'comments {row["us"]["comments"]:.0f}')
