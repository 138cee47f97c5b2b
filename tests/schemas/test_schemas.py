"""The schemas, and our bytes, held against fastavro: a library that nobody here wrote. Needs no broker.

STARLING_BUILD is the folder of the executables (default build/).
"""
import datetime
import io
import json
import os
import pathlib
import random
import struct
import subprocess
import sys

import fastavro
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / 'schemas'
EVOLUTION = ROOT / 'tests/schemas/evolution'
FINGERPRINTS = ROOT / 'tests/schemas/fingerprints.txt'
GENERATE = ROOT / 'lib/event/generate.py'
RECODE = pathlib.Path(os.environ.get('STARLING_BUILD', ROOT / 'build')) / 'test-recode'
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
EXTREMES = {'int': [0, -1, 63, 64, -64, -65, 2**31 - 1, -2**31], 'long': [0, -1, 8191, 8192, 2**63 - 1, -2**63]}


def lines_of(path):
    """The rows of a text file, split into words; without empty lines and comments."""
    return [line.split() for line in path.read_text().splitlines() if line.strip() and not line.startswith('#')]


# What readers take of a field, by RECORD.FIELD, RECORD or FIELD; None: anything.
RANGES = {name: None if least == '*' else (int(least), int(greatest))
          for least, greatest, *names in lines_of(SCHEMAS / 'ranges.txt') for name in names}


def range_of(record, field):
    names = f'{record}.{field}', record, field
    return next((RANGES[name] for name in names if name in RANGES), None)


def versions(folder):
    """[(id, record, version, schema)] in the order of ids.txt."""
    return [(int(number), record, int(version), load(folder, record, version))
            for number, record, version in lines_of(folder / 'ids.txt')]


def load(folder, record, version):
    return fastavro.parse_schema(json.loads((folder / f'{record}-v{version}.avsc').read_text()))


def newest(folder):
    return {record: (number, schema) for number, record, _, schema in versions(folder)}


def types_of(schema):
    """{name: schema} of the records and enums that are defined in a schema."""
    if isinstance(schema, list):
        return {name: found for branch in schema for name, found in types_of(branch).items()}
    if not isinstance(schema, dict):
        return {}
    inner = [field['type'] for field in schema.get('fields', [])] + [schema.get('items'), schema['type']]
    found = types_of([kind for kind in inner if not isinstance(kind, str)])
    return {**found, schema['name']: schema} if 'name' in schema else found


def sample(schema, dice, types, allowed=None):
    """A random value as fastavro writes it, within its range; a union's as (branch, value)."""
    if isinstance(schema, list):
        branch = dice.choice(schema)
        return branch['name'], sample(branch, dice, types)
    kind = schema if isinstance(schema, str) else schema['type']
    if kind in types:
        return sample(types[kind], dice, types)
    if kind == 'record':
        record = schema['name'].split('.')[-1]
        return {field['name']: sample(field['type'], dice, types, range_of(record, field['name'])) for field in schema['fields']}
    if kind == 'enum':
        return dice.choice(schema['symbols'])
    if kind == 'array':
        return [sample(schema['items'], dice, types, allowed) for _ in range(dice.choice([0, 1, 2, 70]))]
    if kind == 'boolean':
        return dice.random() < 0.5
    if kind == 'bytes':
        return dice.randbytes(dice.choice([0, 1, 5, 100]))
    if kind == 'string':
        return ''.join(dice.choice('aZ "\\\n友é🌍') for _ in range(dice.choice([0, 1, 5, 100])))
    if kind == 'bytes':
        return dice.randbytes(dice.choice([0, 1, 5, 100]))
    if dice.random() < 0.3 or allowed:
        extreme = dice.choice(EXTREMES[kind])
        return extreme if not allowed or allowed[0] <= extreme <= allowed[1] else dice.choice([*allowed, dice.randint(*allowed)])
    bits = dice.randrange({'int': 32, 'long': 64}[kind])
    return dice.randrange(-2**bits, 2**bits)


def samples(schema, count):
    dice, types = random.Random(schema['name']), types_of(schema)
    return [sample(schema, dice, types) for _ in range(count)]


def history_rows(count):
    """Random rows of a history file, whose times are dates that Python has."""
    return [{**row, 'time': row['time'] % 2**45, 'received': row['received'] % 2**45}
            for row in samples(newest(SCHEMAS)['history-row'][1], count)]


def with_datetimes(row):
    """A row as fastavro reads it."""
    return {**row, **{name: EPOCH + datetime.timedelta(milliseconds=row[name]) for name in ('time', 'received')}}


def encode(schema, value):
    out = io.BytesIO()
    fastavro.schemaless_writer(out, schema, value)
    return out.getvalue()


def plain(value):
    """A sample as our tool prints it: {branch: value} without the namespace, bytes in hex."""
    if isinstance(value, tuple):
        return {value[0].split('.')[-1]: plain(value[1])}
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def recode(*arguments, values=()):
    done = subprocess.run([RECODE, *arguments], input=''.join(value.hex() + '\n' for value in values), text=True,
                          stdout=subprocess.PIPE, check=True, timeout=60)
    return done.stdout.splitlines()


@pytest.mark.parametrize('folder', [SCHEMAS, EVOLUTION], ids=['schemas', 'evolution'])
def test_ids_are_given_once_and_rise(folder):
    rows = versions(folder)
    numbers = [number for number, *_ in rows]
    assert numbers == sorted(set(numbers)) and numbers[0] > 0
    assert {f'{record}-v{version}.avsc' for _, record, version, _ in rows} == {p.name for p in folder.glob('*.avsc')}
    for name in newest(folder):
        mine = [version for _, record, version, _ in rows if record == name]
        assert mine == list(range(1, len(mine) + 1))


def test_an_id_means_for_ever_what_it_meant_first():
    """fingerprints.txt only grows: records with these ids are in people's Kafka and on their disks."""
    def fingerprint(schema):
        return fastavro.schema.fingerprint(fastavro.schema.to_parsing_canonical_form(schema), 'CRC-64-AVRO')

    now = [[str(number), record, str(version), fingerprint(schema)] for number, record, version, schema in versions(SCHEMAS)]
    assert now == lines_of(FINGERPRINTS)


@pytest.mark.parametrize('folder', [SCHEMAS, EVOLUTION], ids=['schemas', 'evolution'])
def test_the_newest_version_reads_every_older_one(folder):
    for _, record, _, schema in versions(folder):
        if schema['name'] == 'starling.DeliveryBatch':
            continue  # by Avro's rules version 2 does not; edges have a reader for each (tests/unit/lib/event/test_delivery.c)
        target = newest(folder)[record][1]
        for value in samples(schema, 200) if record != 'history-row' else history_rows(200):
            read = fastavro.schemaless_reader(io.BytesIO(encode(schema, value)), schema, target)
            assert set(read) == {field['name'] for field in target['fields']}


def test_fastavro_resolves_as_the_unit_tests_expect_of_ours():
    """tests/unit/lib/event/test_evolution.c says what version 1 of Visit becomes; it is Avro's rules that say so."""
    old, new = load(EVOLUTION, 'visit', 1), load(EVOLUTION, 'visit', 2)
    for value in samples(old, 200):
        read = fastavro.schemaless_reader(io.BytesIO(encode(old, value)), old, new)
        assert read == {
            'marks': value['marks'], 'user': value['user'],
            'mood': {'BORED': 'NEUTRAL'}.get(value['mood'], value['mood']),
            'guide': {'user': value['guide']['user'], 'stars': -5},
            'stays': [{'place': stay['place'], 'nights': 1} for stay in value['stays']], 'stamp': value['stamp'],
            'title': 'a "day" in Zürich\n', 'paid': True, 'least': -2**63, 'rating': 'HIGH', 'more': [],
            'names': value['names'], 'notes': []}


@pytest.mark.parametrize('record', newest(SCHEMAS))
def test_our_bytes_are_fastavro_s(record):
    """What fastavro writes, our codecs read as the same value, and write as the same bytes."""
    number, schema = newest(SCHEMAS)[record]
    values = samples(schema, 500)
    coded = [b'\0' + struct.pack('>I', number) + encode(schema, value) for value in values]
    answers = recode(values=coded)
    assert len(answers) == len(values)
    for value, bytes_, answer in zip(values, coded, answers):
        shown, _, again = answer.partition('\t')
        assert json.loads(shown) == plain(value)
        assert again == bytes_.hex()


def test_fastavro_reads_our_history_files(tmp_path):
    number, schema = newest(SCHEMAS)['history-row']
    rows = history_rows(20000)
    file = tmp_path / 'rows.avro'
    recode('write', file, values=[b'\0' + struct.pack('>I', number) + encode(schema, row) for row in rows])
    with file.open('rb') as stream:
        reader = fastavro.reader(stream)
        assert list(reader) == [with_datetimes(row) for row in rows]
        assert json.loads(reader.metadata['avro.schema']) == json.loads((SCHEMAS / 'history-row-v2.avsc').read_text())
        assert reader.codec == 'snappy'


def test_we_read_fastavro_s_history_files(tmp_path):
    rows = history_rows(5000)
    for codec in 'null', 'snappy', 'deflate':
        file = tmp_path / f'{codec}.avro'
        with file.open('wb') as stream:
            fastavro.writer(stream, newest(SCHEMAS)['history-row'][1], rows, codec=codec)
        assert [json.loads(line) for line in recode('read', file)] == rows


def record(name, *fields, **more):
    return {'type': 'record', 'name': name, 'fields': list(fields), **more}


def array(items):
    return {'name': 'a', 'type': {'type': 'array', 'items': items}}


def union(*branches):
    return {'name': 'u', 'type': list(branches)}


def folder_of(*schemas):
    """The files of a folder of schemas: version 1, 2, ... of the first record's name."""
    names = [schema['name'].lower().replace('batch', '-batch') for schema in schemas]
    rows = [(number, name, names[:number].count(name)) for number, name in enumerate(names, 1)]
    files = {f'{name}-v{version}.avsc': json.dumps(schema) for (_, name, version), schema in zip(rows, schemas)}
    return {'ids.txt': ''.join(f'{number} {name} {version}\n' for number, name, version in rows), **files}


X = {'name': 'x', 'type': 'long'}
SPOT = {'name': 'spot', 'type': record('Spot', X)}


def visits(change):
    """Version 1 of a record, and version 2, which is the same after the change to its fields."""
    mood = {'name': 'mood', 'type': {'type': 'enum', 'name': 'Mood', 'symbols': ['GOOD', 'BAD']}}
    old = record('Visit', X, mood, SPOT)
    new = json.loads(json.dumps(old))
    change(new['fields'])
    return folder_of(old, new)


REFUSED = {
    'new field without default': (visits(lambda f: f.append({'name': 'y', 'type': 'int'})),
                                  'Visit.y is new and has no default'),
    'new field in a field': (visits(lambda f: f[2]['type']['fields'].append({'name': 'y', 'type': 'long'})),
                             'Spot.y is new and has no default'),
    'long to int': (visits(lambda f: f[0].update(type='int')), 'long became int'),
    'long to string': (visits(lambda f: f[0].update(type='string')), 'long became string'),
    'long to enum': (visits(lambda f: f[0].update(type={'type': 'enum', 'name': 'E', 'symbols': ['A']})),
                     'long became E'),
    'long to array': (visits(lambda f: f[0].update(type=array('long')['type'])), 'long became array of long'),
    'lost symbol': (visits(lambda f: f[1]['type'].update(symbols=['GOOD'])), 'Mood has lost BAD and has no default'),
    'renamed type': (visits(lambda f: f[2]['type'].update(name='Place')), 'Spot became Place'),
    'lost branch': (folder_of(record('Visit', union(record('Came', X), record('Went', X))),
                              record('Visit', union(record('Came', X)))), 'Went is gone'),
    'lost union': (folder_of(record('Visit', union(record('Came', X))), record('Visit', {'name': 'u', 'type': 'long'})),
                   'union became long'),
    'new union': (folder_of(record('Visit', X), record('Visit', union(record('Came', X)))), 'Visit became a union'),
    'id out of order': ({**visits(lambda f: None), 'ids.txt': '2 visit 1\n1 visit 2\n'},
                        'each id must be higher than the one before'),
    'version out of order': ({'ids.txt': '1 visit 2\n', 'visit-v2.avsc': json.dumps(record('Visit', X))},
                             'the versions of visit are not 1, 2, 3'),
    'no id': ({**folder_of(record('Visit', X)), 'ids.txt': ''}, 'no id for visit-v1.avsc'),
    'no file': ({'ids.txt': '1 visit 1\n'}, 'visit-v1.avsc'),
    'no JSON': ({'ids.txt': '1 visit 1\n', 'visit-v1.avsc': '{'}, 'visit-v1.avsc: '),
    'other name': ({'ids.txt': '1 visit 1\n', 'visit-v1.avsc': json.dumps(record('Stay', X))},
                   'the record is called Stay'),
    'empty record': (folder_of(record('Visit')), 'Visit has no fields'),
    'type twice': (folder_of(record('Visit', SPOT), record('Stay', SPOT)), 'Spot is defined by visit too'),
    'unsupported type': (folder_of(record('Visit', {'name': 'x', 'type': 'double'})), 'type double is not supported'),
    'unsupported attribute': (folder_of(record('Visit', X, aliases=['Stay'])), 'aliases is not supported'),
    'union of others': (folder_of(record('Visit', {'name': 'x', 'type': ['null', 'long']})),
                        'a union may hold records only'),
    'default of bytes': (visits(lambda f: f.append({'name': 'y', 'type': 'bytes', 'default': ''})),
                         'this default is not supported'),
    'array of bytes': (folder_of(record('Visit', array('bytes'))), 'this array is not supported'),
    'array of arrays of texts in structs': (folder_of(record('Visit', array(record('Spot', array('string'))))),
                                            'of a bounded size'),
    'array of arrays in structs': (folder_of(record('Visit', array(record('Spot', array('long'))))),
                                   'of a bounded size'),
    'union beside others': (folder_of(record('Visit', union(record('Came', X)), X)), 'a union must be the only field'),
    'union inside': (folder_of(record('Visit', {'name': 'y', 'type': record('Stay', union(record('Came', X)))})),
                     'a union must be the only field of a top-level record'),
    'no range': ({**folder_of(record('Visit', X)), 'ranges.txt': '0 9 y\n'}, 'no range for Visit.x'),
    'range of nothing': ({**folder_of(record('Visit', X)), 'ranges.txt': '0 9 x y\n'}, 'no field is called y'),
    'array of a union': (folder_of(record('Visit', array([record('Came', X)]))), 'this array is not supported'),
}


@pytest.mark.parametrize('case', REFUSED)
def test_what_could_not_be_read_stops_the_build(case, tmp_path):
    files, reason = REFUSED[case]
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    done = subprocess.run([sys.executable, GENERATE, '--out-dir', tmp_path / 'out', tmp_path], text=True,
                          stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith('generate.py: ')
    assert reason in done.stderr
    assert not (tmp_path / 'out').exists()
