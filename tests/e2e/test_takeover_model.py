"""A model of how an owner learns where its states end: random histories against brute force, and each rule left out shows a fault.

A partition of commands, one of state. Two processes own them in turn. Each reads the state through some broker, which may be a former leader
that is cut off: it knows the records of long ago, and names their end. What is acknowledged, offsets and transactions are the real leader's."""
import random
from dataclasses import dataclass, field

import pytest

ALL = frozenset({'fence', 'since'})  # ends by a fence; one that was begun before the partition was given away does not count


@dataclass
class Cluster:
    commands: list = field(default_factory=list)
    state: list = field(default_factory=list)  # names, or None: a record of a transaction that was given up
    decided: int = 0                           # the group's offset of commands
    owner: 'Process | None' = None
    generation: int = 0


@dataclass(eq=False)
class Process:
    cluster: Cluster
    rules: frozenset
    known: int | None = None  # records of state that the broker it reads from has; None: that is the leader
    generation: int = 0       # of its assignment
    names: set = field(default_factory=set)
    position: int = 0
    end: int | None = None    # up to where it must read; None: not known yet
    fence: tuple | None = None

    def visible(self) -> int:
        return len(self.cluster.state) if self.known is None else self.known

    def assigned(self):
        self.generation, self.end = self.cluster.generation, None
        self.next = self.cluster.decided  # transactions that are open are waited for
        if 'fence' not in self.rules:
            self.end = self.visible()

    def begin_fence(self):
        self.cluster.state.append(None)
        self.fence = (self.generation, len(self.cluster.state))

    def end_fence(self):
        generation, end = self.fence
        self.fence = None
        if generation == self.generation or 'since' not in self.rules:
            self.end = end

    def read(self):
        for name in self.cluster.state[self.position:self.visible()]:
            self.names |= {name}
        self.position = max(self.position, self.visible())

    def decide(self, outcomes):
        """One command in a transaction, which fails if the group has moved on."""
        cluster = self.cluster
        if cluster.generation != self.generation or self.next >= len(cluster.commands):
            return
        what, name = cluster.commands[self.next]
        outcomes.append((self.next, name in self.names))
        if what == 'add' and name not in self.names:
            self.names |= {name}
            cluster.state.append(name)
        self.next = cluster.decided = self.next + 1


def right(commands):
    names, outcomes = set(), []
    for number, (what, name) in enumerate(commands):
        outcomes.append((number, name in names))
        if what == 'add':
            names |= {name}
    return outcomes


def history(seed, rules) -> bool:
    """Whether each command had the outcome that one process which sees everything would give it."""
    chance = random.Random(seed)
    cluster, outcomes = Cluster(), []
    processes = [Process(cluster, rules) for _ in range(2)]
    for _ in range(80):
        process = chance.choice(processes)
        roll = chance.random()
        if roll < 0.2:
            cluster.commands.append((chance.choice(['add', 'ask']), chance.randrange(4)))
        elif roll < 0.3:
            cluster.owner, cluster.generation = process, cluster.generation + 1
        elif roll < 0.37:
            process.known = len(cluster.state) if process.known is None else None
        elif roll < 0.6:
            process.read()
        elif cluster.owner is not process:
            pass
        elif process.generation != cluster.generation:
            process.assigned()
        elif process.fence:
            process.end_fence()
        elif process.end is None:
            process.begin_fence()
        elif process.position >= process.end:
            process.decide(outcomes)
    return outcomes == right(cluster.commands)[:len(outcomes)]


def test_every_history_has_the_right_outcomes():
    assert all(history(seed, ALL) for seed in range(20_000))


@pytest.mark.parametrize('rule', sorted(ALL))
def test_each_rule_is_needed(rule):
    assert not all(history(seed, ALL - {rule}) for seed in range(20_000))
