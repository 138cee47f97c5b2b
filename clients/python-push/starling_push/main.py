"""The program: its options, its keys, and what it does from time to time."""
from __future__ import annotations

import argparse
import base64
import fcntl
import logging
import os
import pathlib
import signal
import sqlite3
import sys
import threading
import time
from typing import NoReturn
from urllib.parse import urlsplit

import waitress.server  # type: ignore[import-untyped]
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from py_vapid import Vapid02, VapidException  # type: ignore[import-untyped]

from .gateway import Away, Gateway
from .sender import SERVICES, TIMEOUT_S, Sender, Vapid
from .server import LONGEST_POST, Application
from .store import Store

THREADS = 16
_LOOK_EVERY_S = 3600.0
_LEAST_KEY = 32
_USERS_AT_ONCE = 100

_log = logging.getLogger('starling_push')


def read_options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='starling-push', description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.description = "Takes what starling posts to notify.url, and tells people by Web Push."
    parser.add_argument('--listen', default='127.0.0.1:8090', metavar='HOST:PORT', help='without TLS; a proxy in front has that')
    parser.add_argument('--data', type=pathlib.Path, default=pathlib.Path('push'), metavar='DIR',
                        help='has the store and the VAPID key, which is made at the first start')
    parser.add_argument('--key-file', type=pathlib.Path, required=True, metavar='FILE', help='the key of notify.key')
    parser.add_argument('--api', required=True, metavar='URL', help="of starling's gateway")
    parser.add_argument('--token-file', type=pathlib.Path, required=True, metavar='FILE', help='a token by which names are read')
    parser.add_argument('--contact', required=True, metavar='ADDRESS', help='mailto: or https:, for the operators of push services')
    parser.add_argument('--origin', action='append', default=[], metavar='ORIGIN', help='of a page at another address, such as https://starling.example')
    parser.add_argument('--service', action='append', metavar='ORIGIN',
                        help=f'push services to which messages may go, with * for a part, instead of {", ".join(SERVICES)}')
    parser.add_argument('--timeout', type=float, default=TIMEOUT_S, metavar='SECONDS', help='for an answer of a push service')
    return parser.parse_args(arguments)


def refuse(message: str) -> NoReturn:
    sys.exit(f'starling-push: {message}')


def read_key(path: pathlib.Path) -> bytes:
    """As starling reads notify.key.file: without the white space around it."""
    key = path.read_bytes().strip()
    if len(key) < _LEAST_KEY:
        refuse(f'{path} has fewer than {_LEAST_KEY} bytes')
    return key


def vapid_key(path: pathlib.Path) -> Vapid02:
    """Made once: a browser that has subscribed hears this key alone. The file is whole or not there."""
    if not path.exists():
        part = path.with_suffix('.part')
        part.unlink(missing_ok=True)
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), 'wb') as file:
            file.write(ec.generate_private_key(ec.SECP256R1()).private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
            file.flush()
            os.fsync(file.fileno())
        part.rename(path)
    return Vapid02.from_pem(path.read_bytes())


def public_key(key: Vapid02) -> str:
    point = key.public_key.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
    return base64.urlsafe_b64encode(point).rstrip(b'=').decode()


def look(store: Store, gateway: Gateway) -> None:
    """Drops what has ended: old notices, browsers that are not used, and those of users who were forgotten."""
    after = -1
    try:
        store.tidy(int(time.time() * 1000))
        while users := store.named_users(after, _USERS_AT_ONCE):
            names = gateway.read_names(users)
            forgotten = sum(store.looked(user, names[user] is not None) for user in users)
            if forgotten:
                _log.info('%d users were forgotten', forgotten)
            after = users[-1]
    except (Away, OSError, sqlite3.Error) as error:
        _log.warning('whether users were forgotten is not known: %s', error)


def _look_hourly(store: Store, gateway: Gateway, over: threading.Event) -> None:
    while True:
        look(store, gateway)
        if over.wait(_LOOK_EVERY_S):
            return


def main(arguments: list[str] | None = None) -> None:
    options = read_options(arguments)
    logging.basicConfig(level=logging.INFO, format='%(asctime)s %(levelname)s %(message)s')
    logging.getLogger('waitress.queue').setLevel(logging.ERROR)
    if urlsplit(options.api).scheme not in ('http', 'https'):
        refuse(f'--api is no address: {options.api}')
    services = tuple(options.service or SERVICES)
    options.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = open(options.data / 'lock', 'w')  # noqa: SIM115 # held to the end
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        refuse(f'another one works with {options.data}')
    try:
        key, vapid = read_key(options.key_file), vapid_key(options.data / 'vapid.pem')
        options.token_file.read_text()
    except OSError as error:
        refuse(str(error))
    try:
        vapid.sign({'aud': 'https://push.example', 'sub': options.contact})
    except VapidException:
        refuse(f'--contact must be mailto: or https: and an address, not {options.contact}')
    os.umask(0o077)
    store, gateway = Store(options.data / 'push.db'), Gateway(options.api, options.token_file)
    sender = Sender(store, gateway, Vapid(vapid, options.contact), services, options.timeout)
    application = Application(store, gateway, key, public_key(vapid), services, options.origin, sender.wake)
    server = waitress.server.create_server(application, listen=options.listen, threads=THREADS, ident=None, channel_timeout=30,
                                           connection_limit=1000, max_request_body_size=LONGEST_POST, max_request_header_size=32768)
    over = threading.Event()

    def end(*_: object) -> None:
        over.set()
        raise SystemExit

    signal.signal(signal.SIGTERM, end)
    sender.start()
    looking = threading.Thread(target=_look_hourly, args=(store, gateway, over))
    looking.start()
    _log.info('listening on %s', options.listen)
    try:
        server.run()  # ends by SystemExit or an interrupt
    finally:
        over.set()
        server.close()
        sender.stop()
        looking.join()
        store.close()
