"""A comments process that has lost its disk starts from a checkpoint of its store and reads only what followed. Covers comments/comments_store.c."""
import shutil

from harness.commenting import Commenting
from harness.waiting import eventually

STATE = 'comments', 'comment-texts', 'reactions', 'comment-refusals'
SORTS = 'floor', 'newest', 'heat'


def write_some(comments, subject, people, site):
    made = [comments.write(subject, user, f'comment of {user}') for user in people]
    for number, user in enumerate(people):
        comments.write(subject, user, 'a reply', reply_to=made[number // 2]['id'])
        comments.like(subject, user, made[number % 3]['id'])
    comments.pin(subject, site, made[-1]['id'])
    comments.delete(subject, people[1], made[1]['id'])


def test_a_lost_disk_is_replaced_by_a_checkpoint(make_cluster, users, tmp_path):
    checkpoints = tmp_path / 'checkpoints'
    comments = Commenting(make_cluster(settings={
        'comments:comments.user.rate': 0, 'comments:checkpoint.dir': checkpoints,
        'comments:checkpoint.every.s': 1, 'comments:checkpoint.keep': 2}).start(fanouts=0, sinks=0, comments=1))
    site, *people = users(9)
    process, = comments.cluster.comments
    first, second = comments.new_subject(site), comments.new_subject(site)
    write_some(comments, first, people, site)

    def made():
        return process.total('starling_comments_checkpoints_total', result='made')

    before = made()
    eventually(lambda: made() >= before + 2, 30)  # the second one from now on was begun after all that was applied
    process.restart(**{'checkpoint.every.s': 3600})  # while one is made, there is one more
    assert len([path for path in checkpoints.iterdir() if '.' not in path.name]) <= 2

    def records(*topics):
        return sum(len(comments.cluster.topics.read(topic)) for topic in topics)

    saved = records(*STATE)
    write_some(comments, second, people, site)  # no checkpoint has this
    pages = {(name, sort): comments.pages(site, name, sort) for name in (first, second) for sort in SORTS}

    process.kill()
    shutil.rmtree(process.folder / 'data')
    process.start()
    process.wait_for_log('the store begins with a checkpoint')
    comments.check(first)
    comments.check(second)
    for (name, sort), wanted in pages.items():
        assert comments.pages(site, name, sort) == wanted
    read = process.total('starling_comments_restore_records_total')
    assert 0 < read <= records(*STATE) - saved + records('comment-offsets')  # offsets of commands are in memory, and always read
