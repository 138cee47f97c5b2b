"""The package as an index of packages gets it: its metadata, its files, and a changelog that knows the version. Needs no network."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

import pytest

import starling_client

FOLDER = pathlib.Path(__file__).parents[1]


@pytest.fixture(scope='module')
def archive(tmp_path_factory):
    """The source distribution, built of a copy, as builds write beside their sources."""
    folder = tmp_path_factory.mktemp('package')
    copy = shutil.copytree(FOLDER, folder / 'source', ignore=shutil.ignore_patterns('build', '*.egg-info', '__pycache__'))
    done = subprocess.run([sys.executable, '-c', 'import setuptools.build_meta as b; print(b.build_sdist("../dist"))'], cwd=copy,
                          env={**os.environ, 'PYTHONDONTWRITEBYTECODE': '1'}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    with tarfile.open(folder / 'dist' / done.stdout.split()[-1]) as tar:
        return {name.split('/', 1)[1]: tar.extractfile(name).read().decode() for name in tar.getnames() if tar.getmember(name).isfile()}


def test_the_archive_has_what_users_need(archive):
    modules = {f'starling_client/{path.name}' for path in (FOLDER / 'starling_client').glob('*.py')}
    assert modules | {'starling_client/py.typed', 'LICENSE', 'README.md', 'PKG-INFO', 'pyproject.toml'} <= set(archive)
    assert 'Apache License' in archive['LICENSE']


def test_the_metadata_is_whole(archive):
    head = archive['PKG-INFO'].split('\n\n', 1)[0]
    fields = re.findall(r'^([A-Z][A-Za-z-]*): (.+)$', head, re.MULTILINE)
    found = dict(fields)
    assert found['Name'] == 'starling-client' and found['Version'] == starling_client.__version__
    assert found['License'] == 'Apache-2.0' and found['Summary'] and found['Keywords']
    assert found['Requires-Python'] == '>=3.10' and found['Description-Content-Type'] == 'text/markdown'
    assert ('Classifier', 'Typing :: Typed') in fields


def test_the_changelog_begins_with_this_version():
    """Or with what is not released yet, above it."""
    assert re.search(r'^## (\d\S*)', (FOLDER / 'CHANGELOG.md').read_text(), re.MULTILINE)[1] == starling_client.__version__


def test_everything_public_is_there():
    assert [name for name in starling_client.__all__ if not hasattr(starling_client, name)] == []
