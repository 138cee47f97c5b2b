"""A real S3 server (moto), and a proxy in front of it that fails half of the calls, before or after it has passed them on."""
import contextlib
import http.client
import http.server
import random
import subprocess
import sys
import threading

import boto3
import requests

from .ports import free_port
from .waiting import eventually

BUCKET = 'history'


class ObjectStore:
    """A server that forgets everything at its end: `.address`, and `.client` (boto3's), with one bucket."""

    def __init__(self):
        port = free_port()
        self.address = f'http://127.0.0.1:{port}'
        self.process = subprocess.Popen([sys.executable, '-m', 'moto.server', '-H', '127.0.0.1', '-p', str(port)],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.client = boto3.client('s3', endpoint_url=self.address, region_name='us-east-1', aws_access_key_id='key',
                                   aws_secret_access_key='secret')

    def __enter__(self):
        eventually(self._answers, 60, what='the S3 server')
        self.client.create_bucket(Bucket=BUCKET)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def _answers(self):
        with contextlib.suppress(requests.ConnectionError, requests.Timeout):  # it takes long to begin on a busy machine
            return requests.get(self.address, timeout=5).ok

    def settings(self, prefix, address=None) -> dict:
        """Of a cluster whose history is below that prefix; address: of a proxy."""
        return {'history-sink:history.dir': f's3://{BUCKET}/{prefix}', 'history-sink:history.s3.endpoint': address or self.address,
                'history-sink:history.s3.access.key': 'key', 'history-sink:history.s3.secret.key': 'secret'}

    def keys(self, prefix) -> list[str]:
        pages = self.client.get_paginator('list_objects_v2').paginate(Bucket=BUCKET, Prefix=f'{prefix}/')
        return [item['Key'].removeprefix(f'{prefix}/') for page in pages for item in page.get('Contents', [])]

    def read(self, prefix, key) -> bytes:
        try:
            return self.client.get_object(Bucket=BUCKET, Key=f'{prefix}/{key}')['Body'].read()
        except self.client.exceptions.NoSuchKey:
            raise FileNotFoundError(key) from None

    def move(self, prefix, key, to):
        self.client.copy_object(Bucket=BUCKET, Key=f'{prefix}/{to}', CopySource={'Bucket': BUCKET, 'Key': f'{prefix}/{key}'})
        self.client.delete_object(Bucket=BUCKET, Key=f'{prefix}/{key}')


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def pass_on(self):
        body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
        with self.server.lock:
            fate = self.server.chance.random()
            self.server.calls += 1
            if fate < 0.5:
                self.server.failed.append(f'{self.command} {self.path}')
        if self.server.away or fate < 0.25:
            self.answer(503, {}, b'<Error><Code>SlowDown</Code></Error>')
            return
        host, port = self.server.behind.removeprefix('http://').split(':')
        connection = http.client.HTTPConnection(host, int(port), timeout=30)
        connection.request(self.command, self.path, body, dict(self.headers))
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        if fate < 0.5:
            self.close_connection = True  # the answer is lost
            return
        self.answer(answer.status, answer.headers, content)

    def answer(self, status, headers, content):
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in ('content-length', 'connection', 'server', 'date', 'transfer-encoding'):
                self.send_header(name, value)
        self.send_header('Content-Length', headers.get('Content-Length', '0') if self.command == 'HEAD' else str(len(content)))
        self.end_headers()
        if self.command != 'HEAD':
            self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = pass_on

    def log_message(self, *_):
        pass

    def handle(self):
        with contextlib.suppress(ConnectionError):  # who asked was killed
            super().handle()


class Unreliable(http.server.ThreadingHTTPServer):
    """Passes calls on: half of them fail, half of these after the server has done what they ask for. `away`: all fail.
    failed: which, as 'PUT /bucket/key?partNumber=1'."""
    daemon_threads = True

    def __init__(self, behind):
        super().__init__(('127.0.0.1', 0), _Handler)
        self.behind, self.chance, self.lock = behind, random.Random(4), threading.Lock()
        self.calls, self.away, self.failed = 0, False, []
        self.address = f'http://127.0.0.1:{self.server_address[1]}'

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()
