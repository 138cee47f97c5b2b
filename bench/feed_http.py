"""Full pages over HTTP for `./dev bench feed`: a gateway, two feed processes, readers with tokens; beside a bare libmicrohttpd, and beside
a bare one that asks a second process for each page."""
import json
import subprocess
import time

from harness.cluster import build_folder
from harness.ports import free_port
from harness.waiting import eventually
from machine import program, spent, wait_quiet

CONNECTIONS = 16
IDS_BYTES = 1000
PAGE = '/v1/feed?limit=20'


def read(host, port, tokens, rate, seconds, path=PAGE) -> dict:
    return json.loads(program('http', 'read', host, port, path, tokens, CONNECTIONS, rate, seconds))


def measure_floor(size, tokens, seconds, *, hops, asked=IDS_BYTES) -> dict:
    """A bare libmicrohttpd; with two hops it asks a second one, which answers `asked` bytes: an owner's ids of a page."""
    port, other = free_port(), free_port()
    command = {1: [['bench-http', 'answer', port, size]],
               2: [['bench-http', 'answer', other, asked], ['bench-feed-gateway', port, other, size]]}[hops]
    running = [subprocess.Popen([build_folder() / words[0], *map(str, words[1:])]) for words in command]
    try:
        time.sleep(0.5)
        read('127.0.0.1', port, tokens, 0, 0.5)
        found, cpu = spent({process.pid: process.pid for process in running}, lambda: read('127.0.0.1', port, tokens, 0, seconds))
        return {'us': sum(cpu.values()) / found['answered'] * 1e6, 'per_s': found['per_s'], 'p50_ms': found['p50_ms'],
                'p99_ms': found['p99_ms']}
    finally:
        for process in reversed(running):
            process.terminate()
            process.wait()


def measure_http(world, folder, seconds, people, say) -> dict:
    """The world has inboxes, follows on two disks, and posts; `people` of it read."""
    cluster = world.cluster
    feeds = cluster.feeds
    gateway = cluster.add('ingest')
    tokens = folder / 'tokens'
    tokens.write_text(''.join(cluster.token(user) + '\n' for user in people))
    processes = {'gateway': gateway.pid, **{feed.name: feed.pid for feed in feeds}}
    host, port = gateway.settings['ingest.listen'].split(':')

    def whole():
        pages = [cluster.http(user).get(PAGE).json() for user in people[:50]]
        return all(page.get('complete') and len(page['items']) == 20 and
                   not any(item.get('unavailable') for item in page['items']) for page in pages)

    eventually(whole, 120, what='pages are whole')
    read(host, port, tokens, 0, 5)  # who has no inbox on the newer process gets one
    for feed in feeds:
        wait_quiet(feed.pid)
    read(host, port, tokens, 0, 1)
    _, idle = spent(processes, lambda: time.sleep(seconds))
    found, cpu = spent(processes, lambda: read(host, port, tokens, 0, seconds))
    say('half load')
    half, half_cpu = spent(processes, lambda: read(host, port, tokens, found['per_s'] / 2, seconds))
    floor, two_hops = (measure_floor(int(found['bytes']), tokens, seconds / 2, hops=hops) for hops in (1, 2))
    return {'idle': {name: value / seconds for name, value in idle.items()}, 'full': found, 'half': half, 'floor': floor, 'two_hops': two_hops,
            'us': {name: value / found['answered'] * 1e6 for name, value in cpu.items()},
            'net_us': {name: (value - idle[name]) / found['answered'] * 1e6 for name, value in cpu.items()},
            'half_us': {name: value / half['answered'] * 1e6 for name, value in half_cpu.items()}}


def report_http(http):
    full, half, floor, two_hops = http['full'], http['half'], http['floor'], http['two_hops']
    total = sum(http['us'].values())
    parts = ', '.join(f'{name} {value:.0f}' for name, value in http['us'].items())
    print(f"\npages over HTTP: {full['bytes']:,.0f} bytes each, {full['per_s']:,.0f}/s with {CONNECTIONS} connections ({full['bad']} bad)\n"
          f"  {total:.0f} us of CPU a page ({parts}); a bare libmicrohttpd {floor['us']:.1f} us: {total / floor['us']:.1f} times (target 2)\n"
          f"  a bare gateway that asks a bare second process for each page: {two_hops['us']:.1f} us over both: {total / two_hops['us']:.1f} times, "
          f"and {two_hops['us'] / floor['us']:.1f} times the one\n"
          f"  less what the processes take when nobody reads ({sum(http['idle'].values()) * 100:.0f}% of a core): "
          f"{sum(http['net_us'].values()):.0f} us\n"
          f"  at half load ({half['per_s']:,.0f}/s): p50 {half['p50_ms']:.2f} ms, p99 {half['p99_ms']:.2f} ms (target 10), "
          f"{sum(http['half_us'].values()):.0f} us")
