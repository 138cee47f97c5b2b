"""Live feeds for `./dev bench feed`: from POST /v1/posts to the frame on a watching follower's screen, beside bare Kafka hops.

A post takes four hops: post-commands, posts (in a transaction), timelines or hot-posts, deliveries. The floor does the same with threads that
do nothing else: produced, consumed, produced again; the second hop in a transaction a message, and read committed."""
import threading
import time

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from harness.feed import Feed

HOPS = 4
EVERY_S = 0.1


def quantiles(samples) -> dict:
    samples = sorted(samples)
    return {f'p{q}_ms': samples[min(len(samples) - 1, len(samples) * q // 100)] * 1000 for q in (50, 99)}


class Floor:
    def __init__(self, cluster):
        self.bootstrap = cluster.topics.bootstrap
        self.topics = [f'{cluster.prefix}hop-{n}' for n in range(HOPS)]
        admin = AdminClient({'bootstrap.servers': self.bootstrap})
        for future in admin.create_topics([NewTopic(topic, 1, 1) for topic in self.topics]).values():
            future.result()
        self.over = threading.Event()
        self.seen = {}

    def producer(self, **more) -> Producer:
        return Producer({'bootstrap.servers': self.bootstrap, 'enable.idempotence': True, 'linger.ms': 0, **more})

    def hop(self, number):
        consumer = Consumer({'bootstrap.servers': self.bootstrap, 'group.id': 'hops', 'enable.auto.commit': False,
                             'isolation.level': 'read_committed', 'socket.nagle.disable': True})
        consumer.assign([TopicPartition(self.topics[number], 0, 0)])
        producer = self.producer(**({'transactional.id': self.topics[0]} if number == 0 else {}))
        if number == 0:
            producer.init_transactions()
        while not self.over.is_set():
            message = consumer.poll(0.2)
            if message is None or message.error():
                continue
            if number + 1 == HOPS:
                self.seen[message.value()] = time.monotonic()
                continue
            if number == 0:
                producer.begin_transaction()
            producer.produce(self.topics[number + 1], message.value())
            if number == 0:
                producer.commit_transaction()
            producer.poll(0)
        producer.flush(5)
        consumer.close()

    def measure(self, count) -> dict:
        threads = [threading.Thread(target=self.hop, args=(number,)) for number in range(HOPS)]
        for thread in threads:
            thread.start()
        producer, sent = self.producer(), {}
        for number in range(count):
            key = str(number).encode()
            sent[key] = time.monotonic()
            producer.produce(self.topics[0], key)
            producer.poll(0)
            time.sleep(EVERY_S)
        time.sleep(2)
        producer.flush(5)
        self.over.set()
        for thread in threads:
            thread.join()
        assert len(self.seen) == count, 'messages of the floor were lost'
        return quantiles([self.seen[key] - sent[key] for key in list(sent)[10:]])  # the first ones warm up


def watch(feed, phone):
    phone.send({'type': 'watch', 'what': 'feed', 'version': feed.http(phone.user).ok('GET', '/v1/feed')['version']})


def watched(feed, author, reader, count) -> dict:
    """One post at a time. One that does not come within 5 s is counted: the page was stale, and is read again."""
    samples, missing = [], 0
    with feed.cluster.phone(reader) as phone:
        phone.send({'type': 'hello', 'token': phone.token})
        phone.expect('welcome')
        watch(feed, phone)
        for number in range(count):
            post = threading.Thread(target=feed.post, args=(author, f'post {number}'))
            began = time.monotonic()
            post.start()
            try:
                phone.expect('posts', timeout=5, where=lambda frame: frame['items'])
                samples.append(time.monotonic() - began)
            except AssertionError:
                missing += 1
                watch(feed, phone)
            post.join()
            time.sleep(EVERY_S)
    return {'missing': missing, **quantiles(samples[10:])}  # the first ones warm up


def measure_live(cluster, count=200) -> dict:
    """The cluster has a gateway, an edge and a feed process with feed.push.max 1."""
    feed = Feed(cluster)
    reader, other, pushed, hot = 11, 12, 13, 14
    for user, author in ((reader, pushed), (reader, hot), (other, hot)):
        feed.follow(user, author)
    feed.wait_home(reader)
    return {'pushed': watched(feed, pushed, reader, count), 'hot': watched(feed, hot, reader, count),
            'floor': Floor(cluster).measure(count)}


def report_live(live):
    print('\nfrom POST to the frame on a watching follower\'s screen, one post at a time, flush window 0')
    for name, title in (('pushed', 'pushed'), ('hot', 'hot'), ('floor', f'{HOPS} bare hops, one in a transaction')):
        row = live[name]
        print(f"  {title:40} p50 {row['p50_ms']:7.2f} ms   p99 {row['p99_ms']:7.2f} ms"
              + (f"   {row['missing']} came by a page" if row.get('missing') else ''))
