#!/usr/bin/env python3
"""Do the installed units' daemons become ready? Runs in a network of its own, so that the packaged addresses are free, and needs root.

    unshare --net --mount --pid --fork --kill-child installed.py ROOT KAFKA_LIB

ROOT is a Debian with both packages installed. It has no systemd that runs: each unit's ExecStart is run as its user, in its folder, with
a service manager's socket. Kafka runs beside it, where the packaged settings look for it. Checked are READY=1 and /readyz of all units,
instances of templates, a token for the gateway, WATCHDOG=1, and an orderly end.
"""
import base64
import configparser
import fcntl
import hashlib
import hmac
import json
import pathlib
import shlex
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'e2e'))
from harness.broker import Broker

OPS = {'ingest': 9110, 'router': 9120, 'fanout': 9130, 'history-sink': 9140, 'feed': 9150, 'comments': 9160, 'moderation': 9170, 'places': 9180}
SETTINGS = '/etc/starling/starling.properties'
INSTANCES = {  # of templates, with what each has of its own; the edges share their port
    'router@1': (9121, 'ops.listen=127.0.0.1:9121\npeer.listen=127.0.0.1:9221\ndata.dir=/var/lib/starling/router-1\n'),
    'fanout@1': (9131, 'ops.listen=127.0.0.1:9131\ndata.dir=/var/lib/starling/fanout-1\n'),
}
LIMIT_S = 120


def loopback_up():
    with socket.socket() as any_socket:
        request = struct.pack('16sh14x', b'lo', 0x1 | 0x40)  # IFF_UP, IFF_RUNNING
        fcntl.ioctl(any_socket, 0x8914, request)  # SIOCSIFFLAGS


def run(root, command, **options):
    return subprocess.run(['chroot', root, *command], check=True, **options)


class Unit:
    def __init__(self, root, name, port):
        """name: router, or router@1."""
        kind, at, self.instance = name.partition('@')
        self.name, self.port, self.messages = name, port, []
        self.unit = configparser.RawConfigParser(strict=False)
        self.unit.optionxform = str
        self.unit.read(root / f'usr/lib/systemd/system/starling-{kind}{at}.service')
        notify = root / 'run' / f'{name}.notify'
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(notify))
        notify.chmod(0o777)
        service = self.unit['Service']
        command = [word.replace('%i', self.instance) for word in shlex.split(service['ExecStart'])]
        user = service['User']
        self.log = root / 'run' / f'{name}.log'
        environment = ['env', '-i', 'PATH=/usr/bin:/bin', f'NOTIFY_SOCKET=/run/{notify.name}', 'WATCHDOG_USEC=2000000',
                       f'--chdir={service["WorkingDirectory"]}']
        self.process = subprocess.Popen(
            ['chroot', root, 'setpriv', f'--reuid={user}', f'--regid={service["Group"]}', '--clear-groups', '--no-new-privs',
             '--bounding-set=-all', *environment, *command], stdout=self.log.open('wb'), stderr=subprocess.STDOUT)

        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            self.messages.append(self.socket.recv(4096).decode())

    def is_told(self, wanted):
        deadline = time.monotonic() + LIMIT_S
        while not any(wanted in message for message in self.messages):
            assert self.process.poll() is None or wanted == 'STOPPING=1', f'{self.name} ended:\n{self.log.read_text()}'
            assert time.monotonic() < deadline, f'{self.name} never told {wanted}: {self.messages}\n{self.log.read_text()}'
            time.sleep(0.05)

    def is_ready(self):
        self.is_told('READY=1')
        with urllib.request.urlopen(f'http://127.0.0.1:{self.port}/readyz', timeout=10) as answer:
            assert answer.status == 200 and json.load(answer)['ready'], self.name

    def ends(self):
        self.process.send_signal(signal.SIGTERM)
        self.is_told('STOPPING=1')
        assert self.process.wait(timeout=LIMIT_S) == 0, self.log.read_text()


def token(root, user):
    def part(data):
        return base64.urlsafe_b64encode(data).rstrip(b'=')
    key = (root / 'etc/starling/hs256.key').read_bytes()
    signed = part(b'{"alg":"HS256","typ":"JWT"}') + b'.' + part(json.dumps({'sub': str(user), 'exp': int(time.time()) + 600}).encode())
    return (signed + b'.' + part(hmac.new(key, signed, hashlib.sha256).digest())).decode()


def use(root):
    """A new operator first tries the page, and a write that a router answers."""
    with urllib.request.urlopen('http://127.0.0.1:8080/', timeout=10) as page:
        assert b'<html' in page.read().lower()
    request = urllib.request.Request('http://127.0.0.1:8080/v1/profile', json.dumps({'name': 'Mira'}).encode(), method='PUT', headers={
        'Authorization': f'Bearer {token(root, 7)}', 'Content-Type': 'application/json'})
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert answer.status < 300


def be_healthy(root):
    """`starling status` says so, once the second router has got its share."""
    for _ in range(30):
        done = subprocess.run(['chroot', root, 'starling', 'status', '--config', SETTINGS], stdout=subprocess.PIPE, text=True)
        if done.returncode == 0:
            return
        time.sleep(1)
    sys.exit(f'starling status: exit code {done.returncode}: {done.stdout}')


def main():
    root, jars = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    loopback_up()
    for kind, target in [('proc', 'proc'), ('tmpfs', 'run')]:
        subprocess.run(['mount', '-t', kind, kind, root / target], check=True)
    for device in ('null', 'urandom'):
        subprocess.run(['mount', '--bind', f'/dev/{device}', root / 'dev' / device], check=True)
    with tempfile.TemporaryDirectory() as folder:
        broker = Broker(pathlib.Path(folder), jars)
        broker.port, broker.bootstrap = 9092, '127.0.0.1:9092'
        broker.start()
        try:
            run(root, ['starling', 'topics', 'create', '--config', SETTINGS], stdout=subprocess.DEVNULL)
            for name, (_, own) in INSTANCES.items():
                (root / f'etc/starling/{name}.properties').write_text(own)
            units = [Unit(root, name, port) for name, port in [*OPS.items(), *((name, port) for name, (port, _) in INSTANCES.items())]]
            for unit in units:
                unit.is_ready()
                unit.is_told('WATCHDOG=1')
                print(f'starling-{unit.name}.service: READY=1, /readyz 200, WATCHDOG=1', flush=True)
            use(root)
            print('page and gateway answer', flush=True)
            be_healthy(root)
            run(root, ['starling-load', '--version'], stdout=subprocess.DEVNULL)
            run(root, ['starling-plan'], stdout=subprocess.DEVNULL)
            run(root, ['starling-comments-convert', '--version'], stdout=subprocess.DEVNULL)
            for unit in reversed(units):
                unit.ends()
            print('all ended in order', flush=True)
        finally:
            broker.kill()
    return 0


if __name__ == '__main__':
    sys.exit(main())
