"""Where Kafka's topics end, for benches that read what lies between two moments."""
from confluent_kafka import Consumer, TopicPartition

TIMEOUT_S = 30


def ends(cluster, topic, partitions) -> list[int]:
    """The offsets behind the last records, by partition; markers of transactions count, too."""
    consumer = Consumer({'bootstrap.servers': cluster.broker.bootstrap, 'group.id': 'bench-ends'})
    found = [consumer.get_watermark_offsets(TopicPartition(cluster.prefix + topic, p), timeout=TIMEOUT_S)[1]
             for p in range(partitions)]
    consumer.close()
    return found
