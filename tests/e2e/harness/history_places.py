"""Where sinks keep history files: a directory, or a bucket. Both are read in the same way, and both get into trouble."""
import contextlib
import datetime
import io
import os
import pathlib
import subprocess

from .object_store import ObjectStore, Unreliable


def _another_day(path: str) -> str:
    day = datetime.date.fromisoformat(path.removeprefix('date=').partition('/')[0]) - datetime.timedelta(days=1)
    return f'date={day}/{path.partition("/")[2]}'


class Folder:
    """A directory, on a small file system of its own where there may be one; its trouble is that it is full."""

    def __init__(self, root: pathlib.Path, megabytes: int):
        self.root, self.own = root, os.geteuid() == 0
        self.settings, self.megabytes = {'history-sink:history.dir': root}, megabytes

    def __enter__(self):
        if self.own:
            subprocess.run(['mount', '-t', 'tmpfs', '-o', f'size={self.megabytes}m', 'none', self.root], check=True)
        return self

    def __exit__(self, *_):
        if self.own:
            subprocess.run(['umount', '--lazy', self.root], check=True)

    def disturb(self):
        if not self.own:
            return
        with contextlib.suppress(OSError), open(self.root / 'filler', 'wb', buffering=0) as file:
            while file.write(b'x' * 4096) == 4096:
                pass

    def calm(self):
        (self.root / 'filler').unlink(missing_ok=True)

    def small(self) -> list[str]:
        return [str(path.relative_to(self.root)) for path in self.root.glob('date=*/hour=*/[0-9]*.avro')]

    def merged(self) -> list[str]:
        return [str(path.relative_to(self.root)) for path in self.root.glob('hours/date=*/hour=*/[0-9]*.avro')]

    def open(self, path: str):
        return open(self.root / path, 'rb')

    def move_to_another_hour(self):
        for path in sorted(self.root.glob('date=*')):
            path.rename(self.root / _another_day(path.name + '/'))

    def local(self, folder: pathlib.Path) -> pathlib.Path:
        """A folder with the files."""
        return self.root


class Bucket:
    """Behind a proxy that fails half of the calls; its trouble is that all fail."""

    def __init__(self, store: ObjectStore, proxy: Unreliable, prefix: str):
        self.store, self.proxy, self.prefix = store, proxy, prefix
        self.settings = store.settings(prefix, proxy.address)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def disturb(self):
        self.proxy.away = True

    def calm(self):
        self.proxy.away = False

    def small(self) -> list[str]:
        return [key for key in self.store.keys(self.prefix) if not key.startswith('hours/')]

    def merged(self) -> list[str]:
        return [key for key in self.store.keys(self.prefix) if key.startswith('hours/')]

    def open(self, path: str):
        return io.BytesIO(self.store.read(self.prefix, path))

    def move_to_another_hour(self):
        for key in self.small():
            self.store.move(self.prefix, key, _another_day(key))

    def local(self, folder: pathlib.Path) -> pathlib.Path:
        """A copy as analysts make it: small files first. One that is gone by then has been merged."""
        for listed in (self.small, self.merged):
            for key in listed():
                with contextlib.suppress(FileNotFoundError):
                    content = self.open(key).read()
                    (folder / key).parent.mkdir(parents=True, exist_ok=True)
                    (folder / key).write_bytes(content)
        return folder
