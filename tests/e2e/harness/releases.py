"""The last release, built: what an upgrade begins with."""
import os
import pathlib
import shutil
import subprocess

from .broker import REPOSITORY

CACHE = REPOSITORY / '.cache/upgrade'
TARGETS = ('starling', 'starling-ingest', 'starling-router', 'starling-fanout', 'starling-feed', 'starling-comments',
           'starling-history-sink', 'starling-moderation')


class Missing(Exception):
    """Says why there is no last release to begin with."""


def last_tag() -> str:
    """Or the commit that STARLING_UPGRADE_FROM names."""
    if given := os.environ.get('STARLING_UPGRADE_FROM'):
        return given
    if not shutil.which('git'):
        raise Missing('there is no git here')
    found = subprocess.run(['git', '-C', REPOSITORY, 'describe', '--tags', '--abbrev=0', 'HEAD'], capture_output=True, text=True)
    if found.returncode:
        raise Missing('no release is tagged, or this clone does not have its tags: git fetch --tags --unshallow')
    return found.stdout.strip()


def build(folder: pathlib.Path, tag: str):
    """RuntimeError: it cannot be built. Whoever wanted it built does not want the test to be left out."""
    source = folder / 'source'
    source.mkdir(parents=True, exist_ok=True)
    archive = subprocess.Popen(['git', '-C', REPOSITORY, 'archive', tag], stdout=subprocess.PIPE)
    subprocess.run(['tar', '-x', '-C', source], stdin=archive.stdout, check=True)
    if archive.wait():
        raise RuntimeError(f'git archive {tag} fails')
    done = subprocess.run(['cmake', '-S', source, '-B', folder / 'build', '-G', 'Ninja', '-DCMAKE_BUILD_TYPE=Release',
                           '-DSTARLING_TESTS=OFF'], stdout=subprocess.DEVNULL)
    if done.returncode == 0:
        done = subprocess.run(['cmake', '--build', folder / 'build', '--target', *TARGETS], stdout=subprocess.DEVNULL)
    if done.returncode:
        raise RuntimeError(f'{tag} cannot be built here')


def last_release() -> tuple[str, pathlib.Path]:
    """-> its tag and the folder of its programs. It is built (some minutes) if STARLING_UPGRADE is set, and kept in .cache/upgrade."""
    tag = last_tag()
    folder = CACHE / tag
    if not all((folder / 'build' / name).exists() for name in TARGETS):
        if not os.environ.get('STARLING_UPGRADE'):
            raise Missing(f'{tag} is not built: STARLING_UPGRADE=1 builds it into .cache/upgrade')
        build(folder, tag)
    return tag, folder / 'build'
