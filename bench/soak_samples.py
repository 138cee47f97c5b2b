"""What a soak watches of every process: memory, open files, disk, and how far consumer groups are behind; slopes, and a plot."""
import json
import os
import pathlib
import re
import threading
import time

EVERY_S = 2
LAG_EVERY_S = 20
GROWTH_PERCENT = 10   # of the memory watched, over the whole time that it is watched
GROWTH_MB = 8         # or so much, whichever is more
MEASURES = {'memory': ('resident memory, MB', 1024), 'files': ('open files', 1), 'disk': ('data.dir and history, MB', 1 << 20),
            'lag': ('records that a group is behind', 1)}  # and what a value is divided by


def size_of(folder) -> int:
    """Bytes of all files; what goes meanwhile does not count."""
    total = 0
    for path in pathlib.Path(folder).rglob('*'):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue
    return total


class Sampler(threading.Thread):
    """samples: {measure: {(name, process): [(s, value), ...]}}; the process is a number, 0 for what outlives processes."""

    def __init__(self, cluster):
        super().__init__(daemon=True, name='sampler')
        self.cluster, self.samples, self._over = cluster, {measure: {} for measure in MEASURES}, threading.Event()
        self.start_s = time.monotonic()
        self._lag_s = 0.0

    def _note(self, measure, key, value):
        self.samples[measure].setdefault(key, []).append((time.monotonic() - self.start_s, value))

    def run(self):
        while not self._over.wait(EVERY_S):
            for process in [*self.cluster.daemons, self.cluster.broker]:
                self._look_at(process)
            if time.monotonic() > self._lag_s + LAG_EVERY_S:
                self._lag_s = time.monotonic()
                self._look_at_groups()
                self._note('disk', ('history', 0), size_of(self.cluster.history))
                for daemon in list(self.cluster.daemons):
                    self._note('disk', (daemon.name, 0), size_of(daemon.settings['data.dir']))

    def _look_at(self, process):
        if not process.alive():  # its number may be another's by now
            return
        try:
            pid = process.pid
            with open(f'/proc/{pid}/status') as status:
                found = re.search(r'^VmRSS:\s+(\d+) kB', status.read(), re.M)
            files = len(os.listdir(f'/proc/{pid}/fd'))
        except (OSError, AssertionError):
            return  # it is away
        if found:
            self._note('memory', (process.name, pid), int(found[1]))
            self._note('files', (process.name, pid), files)

    def _look_at_groups(self):
        done = self.cluster.starling('status', '--json', check=False)
        try:
            groups = json.loads(done.stdout)['groups']
        except (ValueError, KeyError):
            return  # the broker is away
        for group in groups:
            for topic in group['topics']:
                if topic['lag'] is not None:
                    kind = group['group'].removeprefix(self.cluster.prefix)
                    self._note('lag', (f'{kind}: {topic["topic"].removeprefix(self.cluster.prefix)}', 0), topic['lag'])

    def end(self):
        self._over.set()
        self.join(30)


def slope(points):
    """Of (x, y) by least squares."""
    n = len(points)
    mx, my = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    spread = sum((x - mx) ** 2 for x, _ in points)
    return sum((x - mx) * (y - my) for x, y in points) / spread if spread else 0.0


def watched(samples, measure, since, until):
    """{key: points} of what was there for the whole time."""
    found = {}
    for key, points in sorted(samples[measure].items()):
        seen = [(t, value) for t, value in points if since <= t <= until]
        if len(seen) >= 5 and points[0][0] <= since + LAG_EVERY_S and points[-1][0] >= until - 2 * LAG_EVERY_S:
            found[key] = seen
    return found


def memory(samples, since, until, room_mb):
    """A row for each process that lived through the time that is watched. room_mb: {kind of daemon: what its stores and caches may take}:
    a process that fills these is steady all the same."""
    files, rows = watched(samples, 'files', since, until), []
    for key, seen in watched(samples, 'memory', since, until).items():
        per_s, kbs = slope(seen), [kb for _, kb in seen]
        growth, mean = per_s * (seen[-1][0] - seen[0][0]), sum(kbs) / len(kbs)
        born_kb = samples['memory'][key][0][1]
        fills = max(kbs) - born_kb < room_mb.get(key[0].rpartition('-')[0], 0) * 1024
        rows.append({'daemon': key[0], 'pid': key[1], 'samples': len(seen), 'first_kb': kbs[0], 'min_kb': min(kbs),
                     'max_kb': max(kbs), 'last_kb': kbs[-1], 'slope_kb_per_minute': per_s * 60, 'growth_kb': growth,
                     'files_first': files[key][0][1], 'files_last': files[key][-1][1],
                     'files_per_hour': slope(files[key]) * 3600,
                     'born_kb': born_kb, 'steady': fills or growth < max(mean * GROWTH_PERCENT / 100, GROWTH_MB * 1024)})
    return rows


def lags(samples, since, until):
    """Of each group and topic: the slope in records an hour, and the most and the last records that it was behind."""
    return [{'what': name, 'per_hour': slope(seen) * 3600, 'most': max(value for _, value in seen), 'last': seen[-1][1]}
            for (name, _), seen in watched(samples, 'lag', since, until).items()]


def disks(samples, since, until):
    return [{'what': name, 'first_mb': seen[0][1] / (1 << 20), 'last_mb': seen[-1][1] / (1 << 20),
             'mb_per_hour': slope(seen) * 3600 / (1 << 20)}
            for (name, _), seen in watched(samples, 'disk', since, until).items()]


def plot(samples, events, path):
    """All measures over time, one line for a process, and a tick for each event."""
    import matplotlib
    matplotlib.use('Agg')
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(len(MEASURES), 1, sharex=True, figsize=(11, 13), layout='constrained')
    for axis, (measure, (label, unit)) in zip(axes, MEASURES.items()):
        names = sorted({name for name, _ in samples[measure]} - ({'kafka'} if measure == 'memory' else set()))  # a heap of a gigabyte
        colours = {name: pyplot.get_cmap('tab20')(i % 20) for i, name in enumerate(names)}
        for (name, _), points in sorted(item for item in samples[measure].items() if item[0][0] in colours):
            axis.plot([t / 60 for t, _ in points], [value / unit for _, value in points], color=colours[name], linewidth=1, label=name)
        lines, labels = axis.get_legend_handles_labels()
        handles = dict(zip(labels, lines))  # one for a name, however many processes had it
        axis.legend(handles.values(), handles.keys(), fontsize=6, ncols=2, loc='center left', bbox_to_anchor=(1, 0.5))
        axis.set_ylabel(label)
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
    axes[0].vlines([t / 60 for t, *_ in events], 0, 1, transform=axes[0].get_xaxis_transform(), color='red', alpha=0.15, linewidth=0.6)
    axes[0].set_title('red: a process is killed, drained, paused or added', fontsize=9)
    axes[-1].set_xlabel('minutes')
    figure.savefig(path)
