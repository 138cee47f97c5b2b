"""Deciding commands, from Kafka to the store, for benches of daemons that decide with lib/decider: CPU of the process beside the floor, which
is librdkafka alone (deciding-floor.c)."""
import json
import time

from harness.waiting import eventually

from machine import cpu_s, metric, program, wait_quiet
from offsets import ends


def wait_decided(process, wanted):
    """Waits until that many commands are decided, and all that they wrote is read back."""
    eventually(lambda: metric(process, 'commands_total') >= wanted or not process.alive(), 280, every=0.1,
               what='all commands are decided')
    assert process.alive(), process.tail()
    eventually(lambda: metric(process, 'overlay_entries') == 0, 60, every=0.05, what='all state is read back')


def _ranges(first, last, topics) -> str:
    return ' '.join(f'{topic}={",".join(map(str, first[topic]))}:{",".join(map(str, last[topic]))}' for topic in topics)


class Deciding:
    """One process that decides, and the topics that it writes: those that it reads back, and the others. copies: a cluster with the same
    topics, where the floor writes."""

    def __init__(self, process, cluster, copies, read_back, only_written):
        self.process, self.cluster, self.copies = process, cluster, copies
        self.read_back, self.only_written = read_back, only_written

    def ends(self, commands) -> dict:
        return {topic: ends(self.cluster, topic, self.cluster.partitions)
                for topic in (commands, *self.read_back, *self.only_written)}

    def floor(self, commands, first, last, transactions) -> dict:
        found = json.loads(program('deciding-floor', self.cluster.broker.bootstrap, self.cluster.prefix,
                                   self.copies.prefix, self.cluster.partitions, transactions, _ranges(first, last, [commands]),
                                   f'{_ranges(first, last, self.read_back)} + {_ranges(first, last, self.only_written)}'))
        return found | {'cpu_s': found['commands_s'] + found['read_back_s'] + found['write_s']}

    def round(self, commands, count, write) -> dict:
        """write, which writes so many commands, is called while the process is stopped, so that they are there whole when it goes on."""
        process, broker = self.process, self.cluster.broker
        wait_quiet(process.pid)
        first, dead = self.ends(commands), metric(process, 'commands_dead_total')
        decided, transactions = metric(process, 'commands_total'), metric(process, 'transactions_total')
        process.pause()
        write()
        cpu, broker_cpu, began = cpu_s(process.pid), cpu_s(broker.pid), time.monotonic()
        process.resume()
        wait_decided(process, decided + count)
        found = {'commands': count, 'cpu_s': cpu_s(process.pid) - cpu, 'wall_s': time.monotonic() - began,
                 'broker_cpu_s': cpu_s(broker.pid) - broker_cpu,
                 'transactions': metric(process, 'transactions_total') - transactions}
        wait_quiet(process.pid)
        found['merged_cpu_s'] = cpu_s(process.pid) - cpu  # with what RocksDB merged afterwards
        found['floor'] = self.floor(commands, first, self.ends(commands), int(found['transactions']))
        assert metric(process, 'commands_dead_total') == dead, 'some records were no commands'
        return found

    def rounds(self, commands, count, rounds, write, check=lambda found: None) -> dict:
        """The median of the rounds, by CPU a command. check: what must be true of each."""
        found = []
        for _ in range(rounds):
            found.append(self.round(commands, count, write))
            check(found[-1])
        found.sort(key=lambda one: one['cpu_s'])
        return found[len(found) // 2] | {'rounds_us': [one['cpu_s'] / count * 1e6 for one in found]}


def report_deciding(rows, targets):
    """targets: commands a second and core, by the row's name; a row need not have one."""
    print('\ncommands, decided and applied, from Kafka to the store and read back: us of CPU each\n'
          f'  {"":8} {"ours":>7} {"a s/core":>9} {"target":>8} {"floor":>7} {"ours/floor":>10}  {"reads":>6} {"writes":>6} '
          f'{"back":>6} {"broker":>7} {"merged":>7}  a transaction   rounds; records')
    for what, row in rows.items():
        per = 1e6 / row['commands']
        us, low = row['cpu_s'] * per, row['floor']
        target = f'{targets[what]:,}' if what in targets else ''
        records = ', '.join(f'{count / row["commands"]:.3g} {topic}' for topic, count in low['records'].items() if count)
        print(f'  {what:8} {us:7.2f} {1e6 / us:9,.0f} {target:>8} {low["cpu_s"] * per:7.2f} {row["cpu_s"] / low["cpu_s"]:10.1f}  '
              f'{low["commands_s"] * per:6.2f} {low["write_s"] * per:6.2f} {low["read_back_s"] * per:6.2f} '
              f'{row["broker_cpu_s"] * per:7.2f} {row["merged_cpu_s"] * per:7.2f}  '
              f'{row["commands"] / max(row["transactions"], 1):10,.0f}      '
              f'{", ".join(f"{one:.2f}" for one in row["rounds_us"])}; {records}')
    print('  floor: librdkafka alone reads the commands, writes the same records in as many transactions, and reads them back; '
          'merged: with RocksDB\'s merging afterwards')
