"""What the benches in Python print first, and how they count CPU and else: the twin of machine.h."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from harness.cluster import build_folder

TICKS = os.sysconf('SC_CLK_TCK')


def cpu_s(pid) -> float:
    """User and system seconds of a process so far, all threads that are or were."""
    fields = pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def compiler_s(pid: int) -> float:
    """The CPU seconds of a Java process's compilers up to now."""
    ticks = 0
    for task in pathlib.Path(f'/proc/{pid}/task').iterdir():
        name, fields = (task / 'stat').read_text().split('(', 1)[1].rsplit(')', 1)
        if 'Compiler' in name:
            ticks += sum(map(int, fields.split()[11:13]))
    return ticks / TICKS


def metric(daemon, name) -> float:
    """The total of a series that its daemon names after itself."""
    return daemon.metrics().total(f'starling_{daemon.kind}_{name}')


def wait_quiet(pid):
    """Waits until the process does next to nothing for a second: RocksDB has then finished merging."""
    before, since = cpu_s(pid), time.monotonic()
    while time.monotonic() - since < 60:
        time.sleep(1)
        now = cpu_s(pid)
        if now - before < 0.1:
            return
        before = now


def spent(processes, run) -> tuple[dict, dict]:
    """Calls run. Returns its result, and the CPU seconds of each process (name: pid) meanwhile."""
    before = {name: cpu_s(pid) for name, pid in processes.items()}
    found = run()
    return found, {name: cpu_s(pid) - before[name] for name, pid in processes.items()}


def machine() -> dict:
    models = [line.partition(':')[2].strip() for line in pathlib.Path('/proc/cpuinfo').read_text().splitlines() if line.startswith('model name')]
    version = subprocess.run([build_folder() / 'starling-router', '--version'], capture_output=True, text=True, check=True)
    return {'cpu': models[0] if models else 'unknown processor', 'cores': os.cpu_count(), 'kernel': os.uname().release,
            'version': version.stdout.strip()}


def program(name, *words, timeout=None) -> str:
    """The output of bench-NAME; it ends the bench if it fails."""
    done = subprocess.run([build_folder() / f'bench-{name}', *map(str, words)], capture_output=True, text=True, timeout=timeout)
    if done.returncode:
        sys.exit(f'bench-{name} {" ".join(map(str, words))}: {done.returncode}\n{done.stdout}{done.stderr}')
    return done.stdout


def load(name, what, **values) -> str:
    """The output of bench-NAME-load, which loads that."""
    return program(f'{name}-load', what, *(word for key, value in values.items() for word in (f'--{key}', value)))


def kafka_version() -> str:
    jars = pathlib.Path(os.environ['STARLING_KAFKA_LIB'])
    return next(jars.glob('kafka_2.*.jar')).stem.rpartition('-')[2]


def in_folder_with_stack(given, run):
    """As in_folder, with a stack too: what is put on it ends before the folder goes."""
    def with_folder(folder):
        with contextlib.ExitStack() as stack:
            run(folder, stack)

    in_folder(given, with_folder)


def in_folder(given, run):
    """Calls run with the folder that was given, which is left, or with a temporary one, which is removed."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started is ended
    folder = pathlib.Path(given or tempfile.mkdtemp(prefix='starling-bench-'))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        run(folder)
    finally:
        if not given:
            shutil.rmtree(folder, ignore_errors=True)
