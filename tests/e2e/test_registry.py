"""The Schema Registry API of the gateway, by the client that everybody uses: confluent-kafka's. Covers ingest/registry.c and ingest/schema_text.c."""
import io
import json

import fastavro
import pytest
import requests
from confluent_kafka.schema_registry import SchemaRegistryClient, SchemaRegistryError
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from harness.geo import HOME
from harness.records import _by_id, decode
from harness.registry import Registry
from harness.waiting import eventually


@pytest.fixture(scope='module')
def cluster(make_module_cluster):
    return make_module_cluster().start(feeds=1, comments=1)


@pytest.fixture(scope='module')
def url(cluster):
    return f'{cluster.http_url}/registry'


@pytest.fixture(scope='module')
def client(url):
    return SchemaRegistryClient({'url': url})


def test_every_topic_is_read_by_the_url(cluster, client, users):
    a, b = users(2)
    cluster.acquaint(a, b)
    http = cluster.http(a)
    http.ok('PUT', '/v1/profile', json={'name': 'Ada'})
    http.ok('PUT', f'/v1/nearby/mutes/{b}')
    http.ok('PUT', '/v1/handle', json={'handle': f'ada{a}'})
    cluster.http(b).ok('PUT', f'/v1/follows/{a}')
    cluster.http(b).ok('PUT', f'/v1/mutes/{a}')
    cluster.http(b).ok('DELETE', f'/v1/mutes/{a}')
    http.ok('PUT', '/v1/visibility', json={'posts': 'followers'})
    http.ok('PUT', '/v1/notices/read', json={'until': http.ok('GET', '/v1/notices')['items'][0]['id']})
    post = http.ok('POST', '/v1/posts', json={'text': 'Hello', 'key': 'one'})['id']
    comment = cluster.http(b).ok('POST', f'/v1/comments/post/{post}', json={'text': 'And to you'})['id']
    http.ok('PUT', f'/v1/comments/post/{post}/{comment}/like')
    cluster.http(a, scope='moderator').ok('PUT', f'/v1/moderation/bans/{b}', json={'reason': 'x'})
    with cluster.online(a, *HOME) as phone:
        phone.send({'type': 'watch', 'what': 'feed', 'version': http.ok('GET', '/v1/feed')['version']})
        cluster.report_http(b, *HOME)
        written = ('locations', 'friend-commands', 'friendships', 'profiles', 'sharing', 'deliveries', 'command-offsets', 'follow-commands',
                   'follower-commands', 'follows', 'visibility', 'post-commands', 'posts', 'post-texts', 'feed-offsets', 'timelines', 'name-commands',
                   'names', 'notices', 'notice-commands', 'notice-settings',
                   'feed-watches', 'comment-commands', 'comments', 'comment-texts', 'reactions', 'comment-offsets', 'bans',
                   'moderation-log', 'comments-wide', 'nearby-mutes')
        values = {topic: eventually(lambda: [m.value for m in cluster.topics.read(topic) if m.value], 20, what=topic)
                  for topic in written}
    deserialize = AvroDeserializer(client)
    for topic, found in values.items():
        context = SerializationContext(cluster.prefix + topic, MessageField.VALUE)
        for value in found:
            number = int.from_bytes(value[1:5], 'big')
            assert deserialize(value, context) == fastavro.schemaless_reader(io.BytesIO(value[5:]), _by_id[number][1], None), topic


def test_every_schema_has_its_id(client, url):
    for number, (name, schema) in _by_id.items():
        there = json.loads(client.get_schema(number).schema_str)
        assert fastavro.schema.to_parsing_canonical_form(there) == fastavro.schema.to_parsing_canonical_form(schema)
        assert requests.get(f'{url}/schemas/ids/{number}/schema', timeout=10).json() == there
        apicurio = f'{url}/apis/registry/v2/ids/contentIds/{number}'
        assert requests.get(apicurio, timeout=10).json() == there and requests.get(f'{apicurio}/references', timeout=10).json() == []
        for place in requests.get(f'{url}/schemas/ids/{number}/versions', timeout=10).json():
            assert client.get_version(place['subject'], place['version']).schema_id == number, name


def test_subjects_and_versions(cluster, client):
    subjects = client.get_subjects()
    assert {f'{cluster.prefix}locations-value', f'{cluster.prefix}comments-starling.Comment', 'starling.Location'} <= set(subjects)
    for subject in subjects:
        versions = client.get_versions(subject)
        assert versions == list(range(1, len(versions) + 1))
        latest = client.get_latest_version(subject)
        assert (latest.subject, latest.version) == (subject, versions[-1])
        assert client.lookup_schema(subject, latest.schema).schema_id == latest.schema_id
    assert client.get_versions(f'{cluster.prefix}comment-commands-value') == [1, 2, 3]


@pytest.mark.parametrize('path, status, code', [
    ('/apis/registry/v2/ids/contentIds/21', 404, 40403), ('/apis/registry/v2/ids/contentIds/21/references', 404, 40403),
    ('/schemas/ids/21', 404, 40403), ('/schemas/ids/x', 404, 40403), ('/schemas/ids/99999999999', 404, 40403),
    ('/subjects/nothing/versions', 404, 40401), ('/subjects/starling.Location/versions/99', 404, 40402),
    ('/subjects/starling.Location/versions/0', 422, 42202), ('/subjects/starling.Location/versions/newest', 422, 42202)])
def test_errors_are_the_registrys(url, path, status, code):
    answer = requests.get(url + path, timeout=10)
    assert (answer.status_code, answer.json()['error_code']) == (status, code) and answer.json()['message']
    assert answer.headers['Content-Type'] == 'application/vnd.schemaregistry.v1+json'


def test_serializers_find_their_schema_and_cannot_add_any(client, cluster, url):
    schema = client.get_latest_version('starling.Sharing').schema
    context = SerializationContext(f'{cluster.prefix}sharing', MessageField.VALUE)
    written = AvroSerializer(client, schema.schema_str)({'mode': 'FRIENDS'}, context)  # it registers, which finds what is there
    assert decode(written)['mode'] == 'FRIENDS'
    other = json.dumps({'type': 'record', 'name': 'Other', 'fields': [{'name': 'x', 'type': 'int'}]})
    with pytest.raises(SchemaRegistryError) as refused:
        AvroSerializer(client, other)({'x': 1}, context)
    assert (refused.value.http_status_code, refused.value.error_code) == (422, 42205)
    for body in ({}, {'schema': 5}, {'schema': '{'}, {'schema': other, 'schemaType': 'PROTOBUF'}, [],
                 {'schema': '[' + '1,' * 20000 + '1]'}):
        answer = requests.post(f'{url}/subjects/starling.Sharing', json=body, timeout=10)
        assert (answer.status_code, answer.json()['error_code']) == (422, 42201), body
    answer = requests.post(f'{url}/subjects/starling.Sharing', json={'schema': other}, timeout=10)
    assert (answer.status_code, answer.json()['error_code']) == (404, 40403)
    assert requests.get(f'{url}/config', timeout=10).json() == {'compatibilityLevel': 'FULL'}
    assert requests.get(f'{url}/mode/starling.Sharing', timeout=10).json() == {'mode': 'READONLY'}
    assert requests.delete(f'{url}/subjects/starling.Sharing', timeout=10).status_code == 405


# a registry of the operator's


def ids_of(cluster, registry):
    """{id} of the cluster's topics in it."""
    return {number for name, versions in registry.subjects.items() if name.startswith(cluster.prefix) for number, _ in versions.values()}


ON_NO_TOPIC = {'history-row', 'nearby-item', 'timeline-item', 'feed-change', 'comment-change', 'watch-note', 'location-reports'}


def test_an_operators_registry_gets_the_schemas_with_their_ids(cluster, client):
    with Registry() as registry:
        daemon = cluster.add('ingest', settings={'schema.registry.url': registry.url + '/'})
        assert ids_of(cluster, registry) == {number for number, (name, _) in _by_id.items() if name not in ON_NO_TOPIC}
        for name, versions in registry.subjects.items():
            assert client.get_versions(name) == sorted(versions)  # as our own has them
        assert set(registry.modes.values()) == {'READWRITE'}
        first, registry.asked = registry.asked, 0
        daemon.restart()  # everything is there
        assert registry.asked < first / 2 and set(registry.modes.values()) == {'READWRITE'}
        # An upgrade adds a version.
        del registry.subjects[f'{cluster.prefix}comment-commands-value'][3]
        daemon.restart()
        assert sorted(registry.subjects[f'{cluster.prefix}comment-commands-value']) == [1, 2, 3]
        daemon.stop()


def test_no_subject_is_left_in_the_mode_import(cluster):
    """In which nobody else can register anything: not when the registry fails at that, nor when a gateway ends too early."""
    with Registry() as registry:
        registry.keeping = True
        daemon = cluster.add('ingest', settings={'schema.registry.url': registry.url}, start=False)
        daemon.start(wait=False)
        eventually(lambda: 'keeps a subject in mode IMPORT' in daemon.log(), 20)
        left, = registry.modes
        assert registry.modes[left] == 'IMPORT' and not daemon.ready()
        registry.keeping = False
        daemon.wait_ready()
        assert set(registry.modes.values()) == {'READWRITE'}
        daemon.kill()
        for name in (left, max(registry.modes)):
            registry.modes[name] = 'IMPORT'
        daemon.start()
        assert set(registry.modes.values()) == {'READWRITE'}
        daemon.stop()


def test_a_registry_that_cannot_be_used_is_told_apart(cluster):
    with Registry() as registry:
        registry.refusing = 'Schema being registered is incompatible with an earlier schema'
        daemon = cluster.add('ingest', settings={'schema.registry.url': registry.url}, start=False)
        daemon.start(wait=False)
        eventually(lambda: registry.refusing in daemon.log(), 20)
        assert not daemon.ready()
        registry.refusing = None
        daemon.wait_ready()  # it has asked again
        daemon.stop()
        name = f'{cluster.prefix}sharing-value'
        number, schema = registry.subjects[name][1]
        for other in (number + 1000, schema), (number, json.dumps({'type': 'record', 'name': 'Other', 'fields': []})):
            registry.subjects[name][1] = other
            daemon.start(wait=False)
            eventually(lambda: 'the schema registry has another schema or another id' in daemon.log(), 20)
            assert not daemon.ready()
            daemon.stop()
