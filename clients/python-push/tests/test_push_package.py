"""The package as an index of packages gets it: its files, its metadata, and a changelog that knows the version. Needs no network."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

FOLDER = pathlib.Path(__file__).parents[1]


def test_the_package_has_what_users_need(tmp_path):
    copy = shutil.copytree(FOLDER, tmp_path / 'source', ignore=shutil.ignore_patterns('build', '*.egg-info', '__pycache__'))
    done = subprocess.run([sys.executable, '-c', 'import setuptools.build_meta as b; print(b.build_sdist("../dist"))'], cwd=copy,
                          env={**os.environ, 'PYTHONDONTWRITEBYTECODE': '1'}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    with tarfile.open(tmp_path / 'dist' / done.stdout.split()[-1]) as tar:
        files = {name.split('/', 1)[1]: tar.extractfile(name).read().decode() for name in tar.getnames() if tar.getmember(name).isfile()}
    modules = {f'starling_push/{path.name}' for path in (FOLDER / 'starling_push').glob('*.py')}
    assert modules | {'starling_push/py.typed', 'LICENSE', 'README.md', 'PKG-INFO', 'pyproject.toml'} <= set(files)
    version = re.search(r'^Version: (.+)$', files['PKG-INFO'], re.MULTILINE)[1]
    assert re.search(r'^## (\d\S*|Unreleased)', (FOLDER / 'CHANGELOG.md').read_text(), re.MULTILINE)[1] in (version, 'Unreleased')


def test_the_help_names_the_options():
    done = subprocess.run([sys.executable, '-m', 'starling_push', '--help'], cwd=FOLDER, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and all(option in done.stdout for option in ('--listen', '--key-file', '--api', '--token-file', '--contact', '--origin'))
