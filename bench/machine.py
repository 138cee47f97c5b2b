"""What the benches in Python print first and how they count CPU: the twin of machine.h."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

from harness.cluster import build_folder

TICKS = os.sysconf('SC_CLK_TCK')


def cpu_s(pid) -> float:
    """User and system seconds of a process so far, all threads that are or were."""
    fields = pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def machine() -> dict:
    models = [line.partition(':')[2].strip() for line in open('/proc/cpuinfo') if line.startswith('model name')]
    version = subprocess.run([build_folder() / 'starling-router', '--version'], capture_output=True, text=True, check=True)
    return {'cpu': models[0] if models else 'unknown processor', 'cores': os.cpu_count(), 'kernel': os.uname().release,
            'version': version.stdout.strip()}


def kafka_version() -> str:
    jars = pathlib.Path(os.environ['STARLING_KAFKA_LIB'])
    return next(jars.glob('kafka_2.*.jar')).stem.rpartition('-')[2]


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
