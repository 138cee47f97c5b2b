"""Machines of the tests' own: network namespaces around one that routes between them. There lines are cut and slowed.

The namespaces have no names: each lives as long as the processes in it, and all of them end with the process that made the network,
also when that one is killed."""
import contextlib
import pathlib
import socket
import subprocess
import tempfile

from .processes import Place, die_with_parent

_SUBNETS = 256  # 198.18.0.0/16 is for tests between networks (RFC 2544), and so nobody's address
_HUB, _HOME = 254, 253
_CUT, _BACK, _SLOW, _SLOW_TABLE = 100, 200, 300, 100  # the hub's routing rules, in the order in which they are looked at


class Namespace:
    """A network namespace, held by a process that sleeps in it."""

    def __init__(self):
        self._holder = subprocess.Popen(['unshare', '--net', 'sh', '-c', 'echo there; exec sleep infinity'], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=die_with_parent)
        if not self._holder.stdout.readline():
            raise OSError(self._holder.communicate()[1].decode().strip())

    @property
    def pid(self) -> int:
        return self._holder.pid

    def inside(self, command: list) -> list:
        return ['nsenter', f'--net=/proc/{self.pid}/ns/net', *command]

    def ip(self, *lines: str):
        """Runs `ip` with each of these lines."""
        _batch(self.inside(['ip', '-batch', '-']), lines)

    def close(self):
        self._holder.kill()
        self._holder.communicate()


def _batch(command, lines):
    done = subprocess.run(command, input='\n'.join(lines), capture_output=True, text=True)
    if done.returncode:
        raise OSError(f'{lines}: {done.stderr.strip()}')


class Machine(Namespace, Place):
    """Processes in it see their own loopback, and one line to the hub. The tests reach it by its address."""

    def __init__(self, address: str):
        super().__init__()
        self.address = address


class Network:
    """
    with Network(5) as network:
        a, b, *rest = network.machines              # places for Broker and Cluster.add
        with network.cut((a, b)):                   # no packet passes between these two, and nobody is told
            ...
        with network.slow([a], 40, 10, 0.02):       # all packets from and to them are 40 ms (± 10) late, and 2% get lost
            ...

    OSError: this machine does not let us make one.
    """

    def __init__(self, count: int):
        self._claim, self._subnet = _claim_subnet()
        self.device = _device(self._subnet)
        self._parts = contextlib.ExitStack()
        self._parts.callback(self._claim.close)
        try:
            self._hub = self._add(Namespace())
            self.machines = [self._add(Machine(self._address(number))) for number in range(1, count + 1)]
            self._connect()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._parts.close()

    def _add(self, part):
        self._parts.callback(part.close)
        return part

    def _address(self, number) -> str:
        return f'198.18.{self._subnet}.{number}'

    def _connect(self):
        hub, home = self._address(_HUB), self._address(_HOME)
        self._hub.ip('link set lo up', f'address add {hub}/32 dev lo',
                     *(line for number, machine in enumerate(self.machines, 1) for line in (
                         f'link add line{number} type veth peer name eth0 netns {machine.pid}', f'link set line{number} up',
                         f'route add {machine.address}/32 dev line{number}')))
        for machine in self.machines:
            machine.ip('link set lo up', 'link set eth0 up', f'address add {machine.address}/32 dev eth0',
                       f'route add {hub}/32 dev eth0', f'route add default via {hub}')
        _batch(['ip', '-batch', '-'], [
            f'link add {self.device} type veth peer name home netns {self._hub.pid}', f'link set {self.device} up',
            f'address add {home}/32 dev {self.device}', f'route add {hub}/32 dev {self.device}',
            f'route add {self._address(0)}/24 via {hub}'])
        self._hub.ip('link set home up', f'route add {home}/32 dev home')
        subprocess.run(self._hub.inside(['sh', '-c', 'echo 1 >/proc/sys/net/ipv4/ip_forward']), check=True)

    @contextlib.contextmanager
    def cut(self, *pairs: tuple[Machine, Machine]):
        rules = [f'priority {_CUT} from {source.address} to {target.address} blackhole'
                 for one, other in pairs for source, target in ((one, other), (other, one))]
        self._hub.ip(*(f'rule add {rule}' for rule in rules))
        try:
            yield
        finally:
            self._hub.ip(*(f'rule delete {rule}' for rule in rules))

    def _slow_line(self) -> pathlib.Path:
        """netem in user space: many kernels have none."""
        program = pathlib.Path(self._parts.enter_context(tempfile.TemporaryDirectory())) / 'slow_line'
        subprocess.run(['cc', '-O2', '-Wall', '-Werror', '-o', program, pathlib.Path(__file__).with_name('slow_line.c')], check=True)
        return program

    @contextlib.contextmanager
    def slow(self, machines: list[Machine], delay_ms: float, jitter_ms: float, loss: float):
        line = subprocess.Popen(self._hub.inside([self._slow_line(), 'slow', str(delay_ms), str(jitter_ms), str(loss)]),
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, preexec_fn=die_with_parent)
        rules = [f'priority {_BACK} iif slow lookup main',
                 *(f'priority {_SLOW} {way} lookup {_SLOW_TABLE}' for machine in machines
                   for way in (f'from {machine.address}', f'to {machine.address}'))]
        try:
            if not line.stdout.readline():
                raise OSError('there is no TUN device')
            self._hub.ip('link set slow up', f'route add default dev slow table {_SLOW_TABLE}', *(f'rule add {rule}' for rule in rules))
            try:
                yield
                assert line.poll() is None, 'the slow line ended by itself'
            finally:
                self._hub.ip(*(f'rule delete {rule}' for rule in rules))
        finally:
            line.kill()
            line.communicate()


def _device(subnet) -> str:
    """This machine's line to the hub."""
    return f'starling{subnet}'


def _claim_subnet() -> tuple[socket.socket, int]:
    """The number of a subnet that no other living process has. The kernel lets go of the claim with the process, and of its device
    some moments later."""
    for subnet in range(_SUBNETS):
        if pathlib.Path(f'/sys/class/net/{_device(subnet)}').exists():
            continue
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            claim.bind(f'\0starling-test-network-{subnet}')
            return claim, subnet
        except OSError:
            claim.close()
    raise RuntimeError('every subnet is taken')


def why_there_are_none() -> str | None:
    """Why machines cannot be had here; None: they can."""
    try:
        with Network(1) as network, network.slow(network.machines, 1, 0, 0):
            return None
    except OSError as error:
        return f'network namespaces cannot be had here: {error}'
