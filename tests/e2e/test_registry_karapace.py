"""A schema registry that others wrote: the gateway looks its schemas up there, and clients read records by its URL. Covers ingest/registry_sync.c."""
import re

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from harness.broker import REPOSITORY
from harness.karapace import WHY_NOT, Karapace
from harness.records import _by_id, decode, encode
from test_history import location

pytestmark = pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))


def load(cluster, prefix):
    """As docs/OPERATIONS.md says."""
    text, = re.findall(r"```python\n(import json, requests.*?)```", (REPOSITORY / 'docs/OPERATIONS.md').read_text(), re.S)
    text = text.replace("'http://GATEWAY/registry', 'starling.'", f"'{cluster.http_url}/registry', '{prefix}'")
    exec(compile(text.replace("'KAFKA'", f"'{cluster.broker.bootstrap}'"), 'OPERATIONS.md', 'exec'), {})


def test_a_registry_without_the_mode_import(make_cluster, tmp_path):
    cluster = make_cluster()
    cluster.create_topics()
    with Karapace(cluster.broker.bootstrap, tmp_path) as registry:
        gateway = cluster.add('ingest', settings={'schema.registry.url': registry.url}, wait=False)
        gateway.wait_for_log('the schema registry has no mode IMPORT', 30)
        assert 'Method Not Allowed' in gateway.log() and not gateway.ready()
        load(cluster, cluster.prefix)
        gateway.wait_ready()
        gateway.restart()
        client = SchemaRegistryClient({'url': registry.url})
        value = encode('location', location(7, 1))
        context = SerializationContext(cluster.prefix + 'locations', MessageField.VALUE)
        assert AvroDeserializer(client)(value, context) == decode(value)
        names = {name for name, _ in _by_id.values()}
        assert len([subject for subject in client.get_subjects() if subject.startswith(cluster.prefix)]) > len(names) / 2
        # The registry's words about a schema that does not fit.
        answer = registry.register(f'{cluster.prefix}sharing-value', {
            'type': 'record', 'name': 'Sharing', 'namespace': 'starling', 'fields': [{'name': 'mode', 'type': 'int'}]})
        assert answer.status_code == 409
        assert gateway.stop() == 0
