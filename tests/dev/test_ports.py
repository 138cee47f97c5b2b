"""How ./dev shares out ports among checkouts (tools/dev.d/common.sh), with checkouts that are only a folder. ctest's `dev_ports`."""
import os
import pathlib
import socket
import subprocess
import tempfile
import unittest

DEV = pathlib.Path(__file__).resolve().parents[2] / 'tools/dev.d'


# With a Kafka that is started by saying its address.
START_KAFKA = """fetch_kafka() { :; }
quietly() { :; }
java() { echo id; }
start() { kafka_address; exit; }
start_kafka"""


class Checkout:
    """A folder in which functions of ./dev run, each call in a ./dev of its own."""

    def __init__(self, root: pathlib.Path, ports: pathlib.Path):
        self.root, self.run = root, root / 'run'
        self.run.mkdir(parents=True)
        (root / 'tools').symlink_to(DEV.parent)
        self.environment = {**os.environ, 'ROOT': str(root), 'STARLING_DEV_PORTS': str(ports)}

    def begin(self, script: str) -> subprocess.Popen:
        """The script, in a ./dev that goes on until it is told to end."""
        sources = ''.join(f'. {DEV}/{part}.sh; ' for part in ('common', 'processes', 'kafka', 'up'))
        return subprocess.Popen(['bash', '-euc', f'set -o pipefail; {sources}{script}; read -r _ || true'], env=self.environment,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def do(self, script: str) -> str:
        """What the script prints, or what it died of."""
        out, err = self.begin(script).communicate('\n', timeout=60)
        return (out + err).strip()


class Ports(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        root = pathlib.Path(folder.name)
        self.one, self.other = (Checkout(root / name, root / 'ports') for name in ('one', 'other'))
        self.first = self.quiet_port()

    def quiet_port(self) -> int:
        """Nobody listens on it nor on the next ones."""
        for port in range(20000 + os.getpid() % 5000, 32000, 10):
            try:
                for i in range(5):
                    with socket.socket() as one:
                        one.bind(('127.0.0.1', port + i))
                return port
            except OSError:
                continue
        raise AssertionError('there is no free port')

    def end(self, process: subprocess.Popen):
        process.communicate('\n', timeout=60)

    def test_two_at_the_same_time_take_different_ports(self):
        """Before any of their processes listens."""
        running = [checkout.begin(f'free_port {self.first}') for checkout in (self.one, self.other) * 2]
        taken = [int(process.stdout.readline()) for process in running]
        for process in running:
            self.end(process)
        ours, theirs = set(taken[::2]), set(taken[1::2])
        self.assertFalse(ours & theirs, taken)
        self.assertIn(self.first, taken)

    def test_a_port_that_was_not_used_is_free_again(self):
        self.assertEqual(self.one.do(f'free_port {self.first}'), str(self.first))
        self.assertEqual(self.other.do(f'free_port {self.first}'), str(self.first))

    def test_ports_of_a_checkout_that_runs_stay_its_own(self):
        """Nobody listens on the port of a Kafka that has died, and its daemons ask there."""
        self.one.do(f'free_port {self.first} >$RUN/port; start router-0 sleep 100')
        try:
            self.assertEqual(self.other.do(f'free_port {self.first}'), str(self.first + 1))
            self.assertEqual(self.other.do(f'same_port {self.first} || echo no'), 'no')
            self.assertEqual(self.one.do(f'same_port {self.first} && echo yes'), 'yes')
        finally:
            self.one.do('stop 5 router-0')
        self.assertEqual(self.other.do(f'free_port {self.first}'), str(self.first))

    def test_down_gives_ports_back(self):
        self.one.do(f'free_port {self.first}')
        self.other.do(f'free_port {self.first + 1}')
        self.one.do('release_ports')
        self.assertEqual(self.one.do('cd $PORTS && echo [0-9]*'), str(self.first + 1))

    def test_kafka_starts_in_a_checkout_that_never_had_one(self):
        self.assertRegex(self.one.do(START_KAFKA), r'Starting Kafka on port (\d+)\n127\.0\.0\.1:\1$')

    def test_kafka_comes_back_to_its_port_or_not_at_all(self):
        """While daemons run that ask there, as another Kafka at that port would be theirs from then on."""
        (self.one.run / 'kafka').mkdir()
        (self.one.run / 'kafka/server.properties').write_text(f'advertised.listeners=PLAINTEXT://127.0.0.1:{self.first}\n')
        self.one.do('start router-0 sleep 100')
        try:
            with socket.socket() as stranger:
                stranger.bind(('127.0.0.1', self.first))
                stranger.listen()
                self.assertIn('./dev down, then ./dev up', self.one.do(START_KAFKA))
            self.assertIn(f'127.0.0.1:{self.first}', self.one.do(START_KAFKA))
        finally:
            self.one.do('stop 5 router-0')


if __name__ == '__main__':
    unittest.main()
