"""A feed process that has lost its disk starts from checkpoints of its stores and reads only what followed."""
import shutil

from harness.feed import Feed
from harness.waiting import eventually


def test_a_lost_disk_is_replaced_by_checkpoints(make_cluster, users, tmp_path):
    checkpoints = tmp_path / 'checkpoints'
    feed = Feed(make_cluster(settings={
        'feed:checkpoint.dir': checkpoints, 'feed:checkpoint.every.s': 1, 'feed:checkpoint.keep': 2})
        .start(routers=0, fanouts=0, sinks=0, feeds=1))
    ada, ben, cleo = users(3)
    process, = feed.cluster.feeds
    feed.follow(ada, ben)
    posts = [feed.post(ben, f'post {number}') for number in range(5)]
    feed.delete(ben, posts[2]['id'])
    feed.wait_home(ada)

    def made():
        return [process.total(f'starling_feed_{store}_checkpoints_total', result='made') for store in ('follows', 'posts')]

    before = made()  # the second one from now on was begun after all that was applied
    eventually(lambda: all(now >= then + 2 for now, then in zip(made(), before)), 30)
    for store in 'follows', 'posts':
        assert len([path for path in (checkpoints / store).iterdir() if '.' not in path.name]) <= 2
    process.kill()
    shutil.rmtree(process.folder / 'data')
    process.start(**{'checkpoint.every.s': 3600})
    assert process.log().count('the store begins with a checkpoint') == 2
    feed.follow(ada, cleo)
    feed.post(cleo, 'after the loss')
    feed.wait_home(ada)
    assert feed.listed(ada, 'following', 5) == sorted([ben, cleo])
    assert [item['text'] for item in feed.http(ada).ok('GET', f'/v1/users/{ben}/posts')['items']] == \
        [post['text'] for post in reversed(posts) if post is not posts[2]]
