"""History in a bucket: a real S3 server (moto), behind a proxy that fails half of the calls, before or after it has passed them on."""
import http.client
import http.server
import io
import os
import random
import subprocess
import sys
import threading
import time

import boto3
import fastavro
import pytest
import requests

from harness.ports import free_port
from harness.waiting import eventually
from test_history import Feed, check_answers, ms, sinks, wanted_rows  # noqa: F401: sinks is a fixture

BUCKET = 'history'


@pytest.fixture(scope='module')
def server():
    """The address of an S3 server that forgets everything at its end."""
    port = free_port()
    process = subprocess.Popen([sys.executable, '-m', 'moto.server', '-H', '127.0.0.1', '-p', str(port)], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    address = f'http://127.0.0.1:{port}'
    def answers():
        try:
            return requests.get(address, timeout=5).ok
        except requests.ConnectionError:
            return False

    eventually(answers, 60, what='the S3 server')
    yield address
    process.terminate()
    process.wait()


@pytest.fixture(scope='module')
def bucket(server):
    client = boto3.client('s3', endpoint_url=server, region_name='us-east-1', aws_access_key_id='key', aws_secret_access_key='secret')
    client.create_bucket(Bucket=BUCKET)
    return client


class Unreliable(http.server.BaseHTTPRequestHandler):
    """Passes calls on: half of them fail, half of these after the server has done what they ask for."""
    protocol_version = 'HTTP/1.1'

    def pass_on(self):
        body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
        fate = self.server.chance.random()
        self.server.calls += 1
        if fate < 0.25:
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


@pytest.fixture
def unreliable(server):
    proxy = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Unreliable)
    proxy.daemon_threads, proxy.behind, proxy.chance, proxy.calls = True, server, random.Random(4), 0
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    yield proxy
    proxy.shutdown()


def settings_of(address, prefix):
    return {'history-sink:history.dir': f's3://{BUCKET}/{prefix}', 'history-sink:history.s3.endpoint': address,
            'history-sink:history.s3.access.key': 'key', 'history-sink:history.s3.secret.key': 'secret',
            'history-sink:history.merge.s': 1, 'history-sink:history.merge.keep.s': 0}


def keys_of(bucket, prefix):
    pages = bucket.get_paginator('list_objects_v2').paginate(Bucket=BUCKET, Prefix=f'{prefix}/')
    return [item['Key'].removeprefix(f'{prefix}/') for page in pages for item in page.get('Contents', [])]


def rows_of(bucket, prefix):
    """All rows, as a reader finds them; those of merged files and small ones that none of these covers."""
    keys = keys_of(bucket, prefix)
    merged = {tuple(map(int, key.rsplit('/', 1)[1].removesuffix('.avro').split('-'))) for key in keys if key.startswith('hours/')}
    rows = []
    for key in keys:
        partition, first, *_ = map(int, key.rsplit('/', 1)[1].removesuffix('.avro').split('-'))
        if not key.startswith('hours/') and any(partition == other and start <= first < end for other, start, end in merged):
            continue
        content = bucket.get_object(Bucket=BUCKET, Key=f'{prefix}/{key}')['Body'].read()
        rows += [{**row, 'time': ms(row['time']), 'received': ms(row['received'])} for row in fastavro.reader(io.BytesIO(content))]
    return rows


def holds_each_once(bucket, prefix, wanted):
    found = rows_of(bucket, prefix)
    by_place = {(row['partition'], row['offset']): row for row in found}
    assert len(found) == len(by_place), 'a row is there twice'
    return by_place == wanted


def move_to_1999(bucket, prefix):
    """All small files, as if they were from then."""
    for key in keys_of(bucket, prefix):
        folder, rest = key.split('/', 1)
        assert folder.startswith('date=')
        bucket.copy_object(Bucket=BUCKET, Key=f'{prefix}/date=1999-12-31/{rest}', CopySource={'Bucket': BUCKET, 'Key': f'{prefix}/{key}'})
        bucket.delete_object(Bucket=BUCKET, Key=f'{prefix}/{key}')


@pytest.mark.slow
@pytest.mark.parametrize('trouble', [False, pytest.param(True, marks=pytest.mark.skipif(
    'STARLING_REPORTS' not in os.environ, reason='takes its time: STARLING_REPORTS=20000 runs it'))])
def test_each_report_is_in_the_bucket_once(sinks, users, bucket, server, unreliable, trouble):  # noqa: F811
    """Sinks are killed with -9, and hours merged; with trouble through a proxy that fails half of the calls."""
    address = f'http://127.0.0.1:{unreliable.server_address[1]}' if trouble else server
    prefix = f'once/more-{trouble}'
    cluster, ours = sinks(settings=settings_of(address, prefix)), users(20)
    sink, = cluster.sinks
    with Feed(cluster, ours):
        for _ in range(2):
            time.sleep(1.5)  # anywhere in the life of a file
            sink.kill()
            sink.start(wait=False)
        sink.wait_ready()
    wanted = wanted_rows(cluster)
    eventually(lambda: holds_each_once(bucket, prefix, wanted), 60, what='all rows are in the bucket')
    assert sink.stop() == 0
    move_to_1999(bucket, prefix)
    sink.start(wait=False)
    eventually(lambda: all(key.startswith('hours/') for key in keys_of(bucket, prefix)), 60, what='one file a partition is left')
    assert len(keys_of(bucket, prefix)) == cluster.partitions
    assert holds_each_once(bucket, prefix, wanted)
    assert unreliable.calls > 100 or not trouble
    sink.wait_ready()
    check_answers(cluster, ours[:3])


def test_a_bucket_that_is_not_there(sinks, bucket, server):  # noqa: F811
    cluster = sinks(count=0, settings={**settings_of(server, 'x'), 'history-sink:history.dir': 's3://nowhere/x'})
    sink = cluster.add('history-sink', wait=False)
    sink.wait_for_log('NoSuchBucket', 30)
    assert not sink.ready()
    assert sink.stop() == 0
