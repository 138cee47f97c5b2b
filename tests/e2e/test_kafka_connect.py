"""comments-wide in a PostgreSQL, by Kafka Connect, as docs/COMMENTS.md says: rows are what the API shows."""
import json

import pytest

from harness.broker import REPOSITORY, Broker
from harness.commenting import Commenting
from harness.connect import Connect, Postgres, jars
from harness.waiting import eventually

LIB = jars()
pytestmark = [pytest.mark.timeout(360), pytest.mark.skipif(
    LIB is None, reason='no Kafka Connect, which `./dev test e2e` fetches, or no PostgreSQL for this machine')]


def connector(cluster, postgres):
    """compose/connect/postgresql.json, with the addresses and the prefix of this test."""
    text = (REPOSITORY / 'compose/connect/postgresql.json').read_text()
    for said, here in (('starling.comments-wide', f'{cluster.prefix}comments-wide'), ('http://gateway:8080', cluster.http_url),
                       ('jdbc:postgresql://postgresql:5432/starling', postgres.url)):
        assert text.count(said) == 1
        text = text.replace(said, here)
    return json.loads(text)


def shown(comment):
    """A comment of the API as its row has it."""
    return {'id': int(comment['id']), 'floor': comment['floor'], 'root': int(comment['root'] or 0), 'answers': int(comment['reply_to'] or 0),
            'user': comment['user'], 'state': comment['state'].upper(), 'text': comment['text'] or '', 'version': comment['version'],
            'edited': comment['edited'] or 0, 'time': comment['time'], 'name': comment['name'] if comment['text'] else ''}


def test_rows_are_what_the_api_shows(make_cluster, tmp_path, users):
    cluster = make_cluster().start(fanouts=0, sinks=0, feeds=1, comments=1)
    with Postgres(LIB, tmp_path) as postgres, Connect(LIB, cluster.broker.bootstrap, tmp_path / 'connect', Broker.java_options) as connect:
        comments, (owner, ada, ben) = Commenting(cluster), users(3)
        for user, name in (ada, 'Ada'), (ben, '小本'):
            cluster.http(user).ok('PUT', '/v1/profile', json={'name': name})
        eventually(lambda: cluster.comments[0].total('starling_copies_records_total', topic='profiles') == 2)
        subject = comments.new_subject(owner)
        config = connector(cluster, postgres)
        connect.add(config)
        first = comments.write(subject, ada, 'hello', level=3)
        second = comments.write(subject, ben, "it's \\ 天气 🎂", reply_to=first['id'])
        gone = comments.write(subject, ben, 'gone soon', level=1)
        hidden = comments.write(subject, ada, 'hidden')

        def rows():
            connect.check(config['name'])
            return postgres.rows('SELECT * FROM comments ORDER BY id')

        def agree():
            roots = cluster.http(ada).items(comments.path(subject), sort='floor', limit=2)
            listed = {int(comment['id']): shown(comment) for root in roots for comment in (root, *root['replies'])}
            found = {row['id']: {name: row[name] for name in row if name in listed[int(first['id'])]} for row in rows()}
            assert found == listed
            return True

        eventually(agree, 120)  # the sink starts
        assert {row['id']: row['level'] for row in rows()} == {
            int(first['id']): 3, int(second['id']): 0, int(gone['id']): 1, int(hidden['id']): 0}
        assert {(row['subject'], row['owner'], row['likes'], row['reports']) for row in rows()} == {(subject, owner, 0, 0)}
        comments.edit(subject, ada, first['id'], 'hello again')
        comments.delete(subject, ben, gone['id'])
        comments.like(subject, ben, first['id'])
        eventually(agree, 60)
        comments.moderate(subject, hidden['id'], 'hidden', moderator=owner)
        eventually(lambda: [(row['state'], row['text']) for row in rows()][2:] == [('DELETED', ''), ('HIDDEN', 'hidden')], 30)
        # A tombstone removes the row. starling writes none here: a deleted comment keeps its floor.
        key = {message.key for message in cluster.topics.read('comments-wide') if message.key.endswith(int(hidden['id']).to_bytes(8, 'big'))}
        cluster.topics.produce('comments-wide', *key, None)
        eventually(lambda: [row['id'] for row in rows()] == [int(made['id']) for made in (first, second, gone)], 30)
