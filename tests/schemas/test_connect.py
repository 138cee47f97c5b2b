"""compose/connect: what Kafka Connect, a schema registry and a search engine are told fits what starling writes."""
import http.server
import json
import pathlib
import re
import subprocess
import threading

import pytest

ROOT = pathlib.Path(__file__).parents[2]
CONNECT = ROOT / 'compose/connect'
FIELDS = {'long': {'long', 'date'}, 'int': {'integer'}, 'string': {'keyword', 'text'}, 'enum': {'keyword'}}


def load(name):
    return json.loads((CONNECT / name).read_text())


def rows():
    return [line.split() for line in (ROOT / 'schemas/ids.txt').read_text().splitlines() if ' comment-wide ' in line]


def newest():
    return json.loads((ROOT / f'schemas/comment-wide-v{rows()[-1][2]}.avsc').read_text())


SEARCH = ['elasticsearch.json', 'opensearch.json']


@pytest.mark.parametrize('name', [*SEARCH, 'postgresql.json'])
def test_a_connector_reads_what_is_committed_of_the_topic(name):
    config = load(name)['config']
    topics = (ROOT / 'lib/event/topics.def').read_text()
    assert config['topics'].removeprefix('starling.') in re.findall(r'^TOPIC\(\w+, "([^"]+)"', topics, re.MULTILINE)
    assert config['consumer.override.isolation.level'] == 'read_committed'
    assert all(isinstance(value, str) for value in config.values())


@pytest.mark.parametrize('name', SEARCH)
def test_a_search_engines_connector_deletes_by_key(name):
    config = load(name)['config']
    assert config['behavior.on.null.values'] == 'delete' and config['key.ignore'] == 'false'
    assert config['key.converter.converter.encoding'] == 'ISO-8859-1'  # each byte of the key is a character: none are lost


def test_the_index_has_every_field_of_the_record():
    fields = {field['name']: field['type']['type'] if isinstance(field['type'], dict) else field['type']
              for field in newest()['fields']}
    template = load('index-template.json')['template']
    mapped = template['mappings']['properties']
    assert mapped.keys() == fields.keys()
    for name, kind in fields.items():
        assert mapped[name]['type'] in FIELDS[kind], name
    analysis = template['settings']['analysis']
    for use in 'analyzer', 'search_analyzer':
        assert mapped['text'][use] in analysis['analyzer']
    assert analysis['filter']['characters_and_pairs'] == {'type': 'cjk_bigram', 'output_unigrams': True}
    for topic in (load(name)['config']['topics'] for name in SEARCH):
        assert any(pathlib.PurePath(topic).match(pattern) for pattern in load('index-template.json')['index_patterns'])


class Registry(http.server.BaseHTTPRequestHandler):
    """As much of a schema registry as is asked for."""

    def _reply(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header('Content-Length', str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        number = int(self.path.rpartition('/')[2])
        schema = self.server.schemas.get(number)
        self._reply(*((200, {'schema': schema}) if schema else (404, {'error_code': 40403})))

    def do_PUT(self):
        self.server.mode = json.loads(self.rfile.read(int(self.headers['Content-Length'])))['mode']
        self.server.modes.append(self.server.mode)
        self._reply(200, {'mode': self.server.mode})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        if self.server.mode != 'IMPORT':
            self._reply(422, {'error_code': 42205, 'message': 'the subject is not in import mode'})
            return
        assert self.path == '/subjects/starling.comments-wide-value/versions'
        self.server.schemas[body['id']] = body['schema']
        self._reply(200, {'id': body['id']})

    def log_message(self, *_):
        pass


@pytest.fixture
def registry():
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Registry)
    server.schemas, server.mode, server.modes = {}, 'READWRITE', []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def register(server):
    return subprocess.run([CONNECT / 'register-schemas', f'http://127.0.0.1:{server.server_port}'],
                          capture_output=True, text=True, timeout=60)


def test_schemas_are_registered_under_our_ids(registry):
    done = register(registry)
    assert done.returncode == 0, done.stderr
    assert {number: json.loads(schema) for number, schema in registry.schemas.items()} == {
        int(number): json.loads((ROOT / f'schemas/comment-wide-v{version}.avsc').read_text()) for number, _, version in rows()}
    assert registry.modes == ['IMPORT', 'READWRITE']
    assert register(registry).stdout == done.stdout and registry.modes == ['IMPORT', 'READWRITE']


def test_an_id_that_is_taken_is_named(registry):
    registry.schemas[int(rows()[0][0])] = '{"type": "record", "name": "Order", "fields": []}'
    done = register(registry)
    assert done.returncode == 1 and f'the id {rows()[0][0]}' in done.stderr
    registry.shutdown()
    registry.server_close()
    assert register(registry).returncode == 1
