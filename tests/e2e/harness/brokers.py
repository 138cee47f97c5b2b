"""A cluster of Kafka brokers, each on a machine of its own: three copies of everything, two of which must be written."""
import pathlib
import re

from confluent_kafka.admin import AdminClient

from .broker import Broker, kafka_identity
from .meanwhile import at_once
from .processes import Place

PROPERTIES = '''
node.id={node}
controller.quorum.voters={voters}
listeners=PLAINTEXT://{address}:{port},CONTROLLER://{address}:{controller}
advertised.listeners=PLAINTEXT://{address}:{port}
default.replication.factor=3
min.insync.replicas=2
offsets.topic.replication.factor=3
transaction.state.log.replication.factor=3
transaction.state.log.min.isr=2
# A broker that is not heard of for so long is dead: its partitions get other leaders. By default that is 9 s, with one beat in 2 s.
broker.session.timeout.ms=4000
broker.heartbeat.interval.ms=500
'''


class Member(Broker):
    """One of them. `members` is filled by who makes them all."""

    def __init__(self, folder: pathlib.Path, jars: pathlib.Path, place: Place, members: list['Member']):
        super().__init__(folder, jars, place)
        self._members = members
        # It lives for two minutes and shares two cores with two others: compiling thoroughly would not pay.
        at = self.command.index('-Xmx512m')
        self.command[at:at] = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC']

    @property
    def node(self) -> int:
        return self._members.index(self) + 1

    def _write_properties(self):
        super()._write_properties()
        voters = ','.join(f'{one.node}@{one.place.address}:{one.controller_port}' for one in self._members)
        with open(self._properties, 'a', encoding='utf-8') as properties:  # the last of two lines of a key counts
            properties.write(PROPERTIES.format(node=self.node, voters=voters, address=self.place.address, port=self.port,
                                               controller=self.controller_port))


class Brokers:
    """
    brokers = Brokers(folder, jars, network.machines[:3]).start()
    brokers.coordinator_of(cluster.group('router')).kill()
    """

    def __init__(self, folder: pathlib.Path, jars: pathlib.Path, places: list[Place]):
        self.members: list[Member] = []
        for number, place in enumerate(places, 1):
            (folder / str(number)).mkdir()
            self.members.append(Member(folder / str(number), jars, place, self.members))
        identity = kafka_identity()
        for member in self.members:
            member.identity = identity
        self.client = {}  # what confluent-kafka's clients need besides the addresses

    @property
    def bootstrap(self) -> str:
        return ','.join(member.bootstrap for member in self.members)

    def start(self):
        at_once(Member.format, self.members)
        for member in self.members:  # none of them answers before most are there
            member.start(wait=False)
        for member in self.members:
            member.wait_started()
        return self

    def coordinator_of(self, group: str) -> Member:
        """The broker that keeps that consumer group's members and offsets."""
        admin = AdminClient({'bootstrap.servers': self.bootstrap, 'log_level': 3, **self.client})
        return self.members[admin.describe_consumer_groups([group])[group].result(30).coordinator.id - 1]

    def controller(self) -> Member:
        """The active one: the last that said so. Members are told of any broker when they ask for it."""
        said = [(int(epoch), member) for member in self.members
                for epoch in re.findall(r'Becoming the active controller at epoch (\d+)', member.log())]
        return max(said, key=lambda one: one[0])[1]

    def around(self, member: Member) -> list[tuple[Place, Place]]:
        """The lines between it and the others, for Network.cut."""
        return [(member.place, other.place) for other in self.members if other is not member]

    def alive(self) -> bool:
        """Whether enough of them are there to write."""
        return sum(member.alive() for member in self.members) >= 2

    def kill(self):
        for member in self.members:
            member.kill()
