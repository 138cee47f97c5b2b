"""./dev release (tools/dev.d/release.sh) in a copy of this checkout, with nothing built. ctest's `dev_release`."""
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GIT = {'GIT_CONFIG_GLOBAL': os.devnull, 'GIT_CONFIG_NOSYSTEM': '1', 'GIT_AUTHOR_NAME': 'a', 'GIT_AUTHOR_EMAIL': 'a@example', 'GIT_COMMITTER_NAME': 'a',
       'GIT_COMMITTER_EMAIL': 'a@example'}
# What takes long, by what it leaves behind.
QUICK = '''command_package() { mkdir -p "$ROOT/build-package/debs"; echo "$*" >"$ROOT/build-package/debs/starling.deb"; }
prepare_e2e() { :; }
pytest_in() { echo "$STARLING_UPGRADE_FROM" >"$ROOT/build-package/upgraded"; }
'''


@unittest.skipUnless(shutil.which('git') and (ROOT / '.git').exists(), 'a release is a commit: it needs git, and a clone')
class Release(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.first = pathlib.Path(cls.folder.name) / 'first'
        cls.first.mkdir()
        files = subprocess.run(['git', 'ls-files', '-coz', '--exclude-standard'], cwd=ROOT, check=True, capture_output=True).stdout
        there = b'\0'.join(name for name in files.split(b'\0') if name and (ROOT / os.fsdecode(name)).exists())
        subprocess.run(f'tar --null -T - -cf - | tar -xf - -C {cls.first}', shell=True, cwd=ROOT, input=there, check=True)
        for words in ('init -q -b main', 'add -A', 'commit -qm one'):
            subprocess.run(['git', *words.split()], cwd=cls.first, check=True, env={**os.environ, **GIT})

    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(dir=self.folder.name)) / 'checkout'
        subprocess.run(['git', 'clone', '-q', self.first, self.root], check=True, env={**os.environ, **GIT})
        self.begun = self.git('rev-parse HEAD')
        self.old = re.search(r'project\(starling VERSION ([0-9.]+)', (self.root / 'CMakeLists.txt').read_text())[1]
        changes = self.root / 'CHANGELOG.md'
        self.unreleased = '## Unreleased\n' in changes.read_text()

    def git(self, words):
        return subprocess.run(['git', *words.split()], cwd=self.root, check=True, capture_output=True, text=True, env={**os.environ, **GIT}).stdout.strip()

    def release(self, *arguments, also=QUICK):
        """-> its exit code and what it says; `also` is said before it begins, in place of what takes long."""
        script = f'set -euo pipefail; for part in "$ROOT"/tools/dev.d/*.sh; do . "$part"; done; {also}\ncommand_release "$@"'
        done = subprocess.run(['bash', '-c', script, 'dev', *arguments], capture_output=True, text=True, timeout=120,
                              env={**os.environ, **GIT, 'ROOT': str(self.root)})
        return done.returncode, done.stdout + done.stderr

    def assert_untouched(self, changes=''):
        self.assertEqual((self.git('rev-parse HEAD'), self.git('status --porcelain'), self.git('tag')), (self.begun, changes, ''))

    def write_change(self):
        """A line of the changelog that is not released yet, if there is none."""
        if not self.unreleased:
            path = self.root / 'CHANGELOG.md'
            path.write_text(path.read_text().replace('\n## ', '\n## Unreleased\n\n- A change.\n\n## ', 1))
            self.git('commit -qam change')
            self.begun = self.git('rev-parse HEAD')

    def test_a_release_has_one_version_a_tag_and_sources(self):
        self.write_change()
        code, said = self.release('99.1.0', '--from', 'HEAD')
        self.assertEqual(code, 0, said)
        self.assertEqual(self.git('describe'), 'v99.1.0')
        self.assertEqual(self.git('rev-list --count ' + self.begun + '..HEAD'), '1')
        self.assertEqual(self.git('status --porcelain'), '')
        self.assertEqual(self.git('tag -n1').split(maxsplit=1)[1], 'starling 99.1.0')
        self.assertIn('99.1.0 in ', subprocess.run([self.root / 'tools/check/version'], check=True, capture_output=True, text=True).stdout)
        self.assertNotIn(self.old, self.git('grep -hF project(starling -- CMakeLists.txt'))
        for changes in (self.root / 'CHANGELOG.md', *self.root.glob('clients/*/CHANGELOG.md'), self.root / 'web/client/CHANGELOG.md'):
            self.assertRegex(changes.read_text(), re.compile(r'\A# [^\n]+\n(?:(?!## ).*\n)*## 99\.1\.0 - \d{4}-\d\d-\d\d\n\n\S'))
        built = self.root / 'build-package'
        self.assertEqual((built / 'debs/starling.deb').read_text(), '--twice\n')
        self.assertEqual((built / 'upgraded').read_text().strip(), self.begun)
        with tarfile.open(built / 'debs/starling-99.1.0.tar.gz') as sources:
            names = sources.getnames()
            self.assertIn('starling-99.1.0/CMakeLists.txt', names)
            self.assertIn(b'VERSION 99.1.0', sources.extractfile('starling-99.1.0/CMakeLists.txt').read())
        self.assertEqual({line.split()[1] for line in (built / 'debs/SHA256SUMS').read_text().splitlines()}, {'starling.deb', 'starling-99.1.0.tar.gz'})
        before = (built / 'debs/SHA256SUMS').read_bytes()
        script = '. "$ROOT/tools/dev.d/common.sh"; . "$ROOT/tools/dev.d/release.sh"; source_package 99.1.0'
        subprocess.run(['bash', '-euc', script], check=True, env={**os.environ, 'ROOT': str(self.root)})
        self.assertEqual((built / 'debs/SHA256SUMS').read_bytes(), before)

        code, said = self.release('99.0.9')
        self.assertEqual(code, 1)
        self.assertIn('99.0.9 is not newer than 99.1.0', said)
        code, said = self.release('99.1.1')
        self.assertIn('write there what users have to know', said)
        self.assertEqual((code, self.git('tag'), self.git('status --porcelain')), (1, 'v99.1.0', ''))

    def test_what_was_not_tried_is_said(self):
        self.write_change()
        code, said = self.release('99.1.0', '--untried', also='')
        self.assertEqual(code, 0, said)
        self.assertEqual(self.git('tag -n1').split(maxsplit=1)[1], 'starling 99.1.0, with neither packages built nor the upgrade tried')

    def test_what_cannot_be_released_is_refused(self):
        self.write_change()
        for arguments, reason in ((['99.1.0'], 'no release is tagged here'), (['99.1.0', '--from', 'nothing'], 'there is no commit nothing'),
                                  (['0.0.1', '--untried'], 'is not newer than ' + self.old), ([self.old, '--untried'], 'is not newer than'),
                                  (['99.1', '--untried'], '99.1 is no version'), ([], 'usage: ./dev release')):
            code, said = self.release(*arguments)
            self.assertEqual(code, 1, arguments)
            self.assertIn(reason, said)
            self.assert_untouched()
        (self.root / 'new').write_text('')
        code, said = self.release('99.1.0', '--untried')
        self.assertEqual(code, 1)
        self.assertIn('not committed', said)
        self.assert_untouched('?? new')

    def test_a_step_that_fails_leaves_nothing(self):
        self.write_change()
        for failing in ('command_package() { die "not the same bytes"; }', 'pytest_in() { return 1; }', 'source_package() { false; }'):
            code, said = self.release('99.1.0', '--from', 'HEAD', also=QUICK + failing)
            self.assertEqual(code, 1, failing + said)
            self.assertIn('Nothing is released, and the tree is as before', said)
            self.assert_untouched()
        hook = self.root / '.git/hooks/pre-commit'
        hook.write_text('#!/bin/sh\nexit 1\n')
        hook.chmod(0o755)
        code, said = self.release('99.1.0', '--from', 'HEAD')
        self.assertIn('the version cannot be committed', said)
        self.assert_untouched()


if __name__ == '__main__':
    unittest.main()
