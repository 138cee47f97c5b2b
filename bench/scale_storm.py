"""Connection storms as a queue: edges are lost, and their phones come back to those that are left.

An edge is one server: a phone that is let in costs it a TLS handshake and a hello; `edge.hello.rate` limits how many are let in a
second. A phone that is over that limit costs a handshake, too, and is told when to come back, one after the other at that rate. TLS's
cost is measured here (OpenSSL, without sockets, the server's half alone); a hello's is that of `./dev bench connect`. The first row is that bench's
own case, which was measured: all were back after 1.5 s.
"""
import heapq
import pathlib
import random
import ssl
import subprocess
import tempfile
import time

HELLO_US = 161  # bench/results/edge.md
REFUSAL_US = 40  # a handshake of HTTP, a frame and a close: a quarter of a hello
HANDSHAKES = 400
LIMITS = ((2000, ''), (2000, 'rsa'), (2000, 'ecdsa'), (400, 'rsa'))  # edge.hello.rate, and whether the edge ends TLS
MEASURED = ('bench connect: 1 of 2 edges lost, 4,986 phones', 1, 4986)


def handshake_us(folder, kind) -> float:
    key, certificate = folder / f'{kind}.key', folder / f'{kind}.pem'
    how = ['rsa:2048'] if kind == 'rsa' else ['ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1']
    subprocess.run(['openssl', 'req', '-x509', '-nodes', '-days', '2', '-subj', '/CN=edge', '-newkey', *how, '-keyout', key,
                    '-out', certificate], check=True, capture_output=True)
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(certificate, key)
    server_context.num_tickets = 0
    client_context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client_context.check_hostname, client_context.verify_mode = False, ssl.CERT_NONE
    spent = 0.0
    for _ in range(HANDSHAKES):
        to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = client_context.wrap_bio(to_client, to_server)
        began = time.process_time()
        server = server_context.wrap_bio(to_server, to_client, server_side=True)
        spent += time.process_time() - began
        open_ends = [client, server]
        while open_ends:
            for end in list(open_ends):
                began = time.process_time()
                try:
                    end.do_handshake()
                    open_ends.remove(end)
                except ssl.SSLWantReadError:
                    pass
                spent += time.process_time() - began if end is server else 0
    return spent / HANDSHAKES * 1e6


class Edge:
    """What a phone finds: free_s is when the process has done all that came before; place_s the last time that was given away."""

    def __init__(self, rate):
        self.rate, self.free_s, self.place_s, self.tokens, self.at_s = rate, 0.0, 0.0, float(rate), 0.0

    def admits(self, now) -> bool:
        if not self.rate:
            return True
        self.tokens = min(self.rate, self.tokens + (now - self.at_s) * self.rate)
        self.at_s = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True

    def work(self, now, us) -> float:
        self.free_s = max(now, self.free_s) + us / 1e6
        return self.free_s

    def place(self, now) -> float:
        self.place_s = max(self.place_s, now) + 1 / self.rate
        return self.place_s


def storm(left, phones, rate, tls_us, seed, first_s=1.0, fixed=False) -> dict:
    """phones: of all lost edges together, who choose among so many that are left. One of these is simulated, with its share.
    fixed: all try after first_s, and not at a random time before."""
    chance = random.Random(seed)
    share, edge = phones // left, Edge(rate)
    events = [(first_s if fixed else chance.uniform(0, first_s), number) for number in range(share)]
    heapq.heapify(events)
    back, attempts, longest = [], 0, 0.0
    while events:
        now, number = heapq.heappop(events)
        attempts += 1
        longest = max(longest, edge.free_s - now)
        if edge.admits(now):
            back.append(edge.work(now, tls_us + HELLO_US))
        else:
            edge.work(now, tls_us + REFUSAL_US)
            heapq.heappush(events, (edge.place(now), number))
    return {'back_s': back[-1], 'p50_s': back[len(back) // 2], 'attempts': attempts / share, 'queue_s': longest}


def run(options, result):
    with tempfile.TemporaryDirectory(prefix='starling-bench-') as folder:
        tls = {kind: handshake_us(pathlib.Path(folder), kind) for kind in ('rsa', 'ecdsa')}
    print(f"a TLS 1.3 handshake, the server's half: RSA 2048 {tls['rsa']:.0f} us, ECDSA P-256 {tls['ecdsa']:.0f} us")
    print(f"{'':48} {'rate':>6} {'TLS':>6} {'all back s':>11} {'p50 s':>7} {'tries':>6} {'longest queue s':>16}")
    rows = []

    def row(name, left, phones, rate, kind, **more):
        found = storm(left, phones, rate, tls.get(kind, 0), options.seed, **more)
        rows.append({'name': name, 'left': left, 'phones': phones, 'rate': rate, 'tls': kind, **found})
        print(f"{name:48} {rate or 'none':>6} {kind or '-':>6} {found['back_s']:11.1f} {found['p50_s']:7.1f} {found['attempts']:6.2f} "
              f"{found['queue_s']:16.2f}", flush=True)

    row(*MEASURED, 0, '', first_s=0.5, fixed=True)
    for edges, lost, phones in ((67, 16, 240_000), (667, 56, 840_000), (67, 0, 1_000_000), (667, 0, 10_000_000)):
        name = f'{lost} of {edges:,} edges lost, {phones:,} phones' if lost else f'all {phones:,} phones of {edges:,} edges at once'
        for rate, kind in LIMITS:
            row(name, edges - lost, phones, rate, kind)
    result['storm'] = {'tls_us': tls, 'rows': rows}
