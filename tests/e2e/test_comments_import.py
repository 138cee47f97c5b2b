"""Comments move here and away: `starling comments import` and `export`. Covers cli/comments_export.c and cli/comments_import.c."""
import json
import pathlib
import subprocess

from harness.broker import REPOSITORY
from harness.command import Running
from harness.comments import Comments
from harness.waiting import eventually

SAMPLES = pathlib.Path(__file__).parent / 'samples'
CONVERT = REPOSITORY / 'tools/starling-comments-convert'


def start(make_cluster):
    cluster = make_cluster()
    cluster.start(ingests=0, routers=0, fanouts=0, sinks=0, comments=1)
    return cluster, Comments(cluster)


def exported(cluster):
    return [json.loads(line) for line in cluster.starling('comments', 'export').stdout.splitlines()]


def without_ids(lines):
    """An import gives new ids: comments are known by their keys instead."""
    keys = {line['id']: line['key'] for line in lines if line['type'] == 'comment'}
    named = [{name: keys.get(value, value) if name in ('id', 'root', 'reply_to', 'comment') else value
              for name, value in line.items()} for line in lines]
    return sorted(named, key=lambda line: line['subject'])  # subjects lie in partitions; within one the order stays


def moved(cluster, sample, *options):
    """As `starling-comments-convert FILE ... | starling comments import -`."""
    lines = subprocess.run([CONVERT, SAMPLES / sample, *map(str, options)], capture_output=True, text=True, check=True, timeout=60)
    return lines.stderr + cluster.starling('comments', 'import', '-', input=lines.stdout).stderr


def test_wordpress_and_disqus(make_cluster, tmp_path):
    cluster, comments = start(make_cluster)
    authors = tmp_path / 'authors'
    authors.write_text('rosa,7\nrosa@garden.example,7\njoecook,41\n')
    told = moved(cluster, 'wordpress.xml', '--authors', authors)
    assert '1 subjects, 4 comments' in told and '2 were left out' in told
    moved(cluster, 'disqus.xml', '--authors', authors, '--type', 'recipe', '--owner', 41)

    thread = comments.thread('article:17', limit=1000, replies=3)
    assert [(c['text'], c['floor'], c['state']) for c in thread] == [('Also in the north?', 1, 'visible'), (None, 2, 'deleted')]
    assert thread[0]['time'] == 1399291200000
    assert [(c['text'], c['user'] == 7, c['state']) for c in thread[0]['replies']] == [
        ('Yes, but not in frost & snow.\nSee this page (https://rhs.example/roses).', True, 'visible'),
        (None, False, 'held')]
    assert thread[0]['user'] == thread[0]['replies'][1]['user'] >= 2 ** 52
    soup, = comments.thread('recipe:soup', limit=1000, replies=3)
    assert [(c['state'], c['reply_to'] == soup['id']) for c in soup['replies']] == [('deleted', True), ('visible', False)]
    names = {json.loads(line)['value']['name'] for line in cluster.starling('replay', 'profiles').stdout.splitlines()}
    assert names == {'Ängström', 'Ben', 'Somebody', 'Marta'}

    before = exported(cluster)
    for sample, type in (('wordpress.xml', 'article'), ('disqus.xml', 'recipe')):
        moved(cluster, sample, '--authors', authors, '--type', type, '--owner', 41)
    assert exported(cluster) == before

    for wrong, line in (authors, ''), (SAMPLES / 'disqus.xml', 'this is XML: starling-comments-convert'):
        bad = cluster.starling('comments', 'import', wrong, *['--skip'] * bool(line), check=False)
        assert bad.returncode == 1 and f'{wrong}:1: {line}' in bad.stderr


def lines_of(subjects, comments):
    for s in range(subjects):
        subject = f'page:{s}'
        yield {'type': 'subject', 'subject': subject, 'owner': s, 'who_may': 'nobody', 'review': 'before', 'closed': s % 2 == 0,
               'level': s % 3}
        for user in range(s % 4):
            yield {'type': 'like', 'comment': None, 'user': user}
        for c in range(comments):
            yield {'type': 'comment', 'subject': subject, 'id': str(c + 1), 'key': f'{s}-{c}', 'user': c % 17,
                   'time': 1_000_000_000_000 + c, 'text': f'comment {c} 评论',
                   'state': ('visible', 'visible', 'hidden', 'held')[c % 4], 'reply_to': str(c // 2) if c % 3 else None}
            if c % 5 == 0:
                yield {'type': 'like', 'comment': str(c + 1), 'user': 1000 + c}
        yield {'type': 'pin', 'comment': '1'}


def test_an_import_that_is_killed_is_done_again_and_an_export_of_it_gives_the_same(make_cluster, tmp_path):
    cluster, comments = start(make_cluster)
    file, copy = tmp_path / 'comments.jsonl', tmp_path / 'export.jsonl.gz'
    lines = list(lines_of(40, 500))
    for line in lines:
        if line.get('reply_to') == '0':
            line['reply_to'] = None
    file.write_text(''.join(json.dumps(line) + '\n' for line in lines))
    running = Running(cluster, 'comments', 'import', file)
    eventually(lambda: cluster.of('comments')[0].total('starling_comments_commands_total') > 2000, 60, every=0.02,
               what='some are decided')
    running._child.kill()
    running.wait()
    cluster.starling('comments', 'import', file, timeout=120)
    there = exported(cluster)
    made = [line for line in there if line['type'] == 'comment']
    wanted = {line['key']: line for line in lines if line['type'] == 'comment'}
    assert len(made) == len(wanted)
    by_id = {(line['subject'], line['id']): line['key'] for line in made}
    for line in made:
        want = wanted[line['key']]
        assert (line['text'], line['time'], line['user'], line['state']) == (
            want['text'], want['time'], want['user'], want['state'])
        subject = want['subject'].partition(':')[2]
        assert by_id.get((line['subject'], line['reply_to'])) == (
            f"{subject}-{int(want['reply_to']) - 1}" if want['reply_to'] else None)
    assert sum(line['type'] == 'like' for line in there) == sum(line['type'] == 'like' for line in lines)
    assert [comments.ask(f'page/page/{s}')[1]['likes'] for s in range(5)] == [0, 1, 2, 3, 0]
    roots = [c['floor'] for c in comments.thread('page:3', limit=1000)]
    assert roots == list(range(1, len(roots) + 1))

    cluster.starling('comments', 'export', copy)
    other, _ = start(make_cluster)
    other.starling('comments', 'import', copy, timeout=120)
    assert without_ids(exported(other)) == without_ids(there)
