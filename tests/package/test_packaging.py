"""Checks of packages that need none built: pages, completion, units, settings, bill of materials. ctest's `packaging`:

    test_packaging.py DOCUMENT STARLING STARLING_LOAD FOLDER_OF_PROGRAMS
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGING = ROOT / 'packaging'
KINDS = ('ingest', 'router', 'fanout', 'feed', 'comments', 'places', 'history-sink', 'moderation')
DOCUMENT, STARLING, LOAD, PROGRAMS = sys.argv.pop(1), sys.argv.pop(1), sys.argv.pop(1), pathlib.Path(sys.argv.pop(1))


def said(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, f'{command}: {done.returncode}\n{done.stdout}{done.stderr}'
    return done.stdout + done.stderr


class Packaging(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.made = pathlib.Path(cls.folder.name)
        said(PACKAGING / 'pages.py', DOCUMENT, STARLING, LOAD, cls.made, '2026-01-31')

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def units(self):
        """As CMake writes them, with the built programs in the place of the installed ones."""
        template = (PACKAGING / 'systemd/daemon.service.in').read_text()
        for kind in KINDS:
            for at, text, config in (('', '', ''), ('@', ' (%i)', f' --config /etc/starling/{kind}@%i.properties')):
                unit = template
                for name, value in {'PROGRAM': f'starling-{kind}', 'KIND': kind, 'DESCRIPTION': kind, 'SBINDIR': PROGRAMS,
                                    'INSTANCE_TEXT': text, 'INSTANCE_CONFIG': config}.items():
                    unit = unit.replace(f'@{name}@', str(value))
                self.assertNotRegex(unit, '@[A-Z_]+@')
                file = self.made / f'starling-{kind}{at}.service'
                file.write_text(unit)
                yield file

    def test_pages_render_without_warnings(self):
        pages = sorted((self.made / 'man').iterdir())
        self.assertEqual(len(pages), len(KINDS) + 5)
        for page in pages:
            done = subprocess.run(['man', '--warnings', '-E', 'UTF-8', '-l', page], capture_output=True, text=True,
                                  env={**os.environ, 'MANWIDTH': '80', 'LC_ALL': 'C.UTF-8'})
            self.assertEqual((done.returncode, done.stderr), (0, ''), page.name)
            self.assertIn('SEE ALSO', done.stdout)

    def test_pages_have_every_setting_and_option(self):
        def page(name):
            return (self.made / 'man' / name).read_text().replace('\\-', '-').replace('\\(aq', "'")
        everything = page('starling.properties.5')
        for daemon in json.loads(said(DOCUMENT, 'tables'))['daemons']:
            own = page(f'{daemon["name"]}.8')
            for section in daemon['sections']:
                for setting in section['properties']:
                    self.assertIn(f'\\fB{setting["name"]}\\fR', everything)
                    if section['title'] != 'All daemons':
                        self.assertIn(f'\\fB{setting["name"]}\\fR', own)
        for program in STARLING, LOAD:
            command = page(pathlib.Path(program).name + '.1')
            for each in json.loads(said(program, '--help=json'))['commands']:
                for option in each['tables']['options']:
                    self.assertIn(f'\\fB--{option["name"]}\\fR', command)
        self.assertIn('\\fB--salt\\fR', page('starling.1'))  # of `comments import`, which has options of its own
        self.assertIn('\\fB--hot-reads\\fR', page('starling-plan.1'))
        self.assertIn('\\fB--subjects\\fR', page('starling-comments-convert.1'))

    def complete(self, program, *words):
        script = '. "$1"; shift; name=$1; COMP_WORDS=("$@"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); ' \
                 'compopt() { :; }; function=$(complete -p "$name" | sed -E "s/.*-F ([^ ]+).*/\\1/"); "$function"; printf "%s\\n" "${COMPREPLY[@]}"'
        return said('bash', '-euc', script, 'bash', self.made / 'completion' / program, program, *words).split()

    def test_completion(self):
        self.assertEqual(self.complete('starling', 'to'), ['topics'])
        self.assertEqual(self.complete('starling', 'dlq', ''), [*['list', 'show', 'replay'], '--offsets', '--reason', '--all', '--dry-run',
                                                                '--config', '--set', '--help'])
        self.assertEqual(self.complete('starling', 'topics', 'create', '--repl'), ['--replication'])
        self.assertEqual(self.complete('starling', 'comments', 'import', '--s'), ['--sort', '--salt', '--skip', '--set'])
        self.assertEqual(self.complete('starling-load', 'simulate', '--set'), ['--settle', '--settle-while', '--set'])
        self.assertEqual(self.complete('starling-plan', '--comm'), ['--comments', '--comment-pages'])
        self.assertEqual(self.complete('starling-comments-convert', '--s'), ['--subjects', '--skip'])
        self.assertEqual(self.complete('starling', 'history', '7', '--format', 'c'), ['csv'])
        self.assertEqual(self.complete('starling', 'status', '--set', 'kafka.b'), ['kafka.bootstrap.servers='])
        for kind in KINDS:
            self.assertEqual(self.complete(f'starling-{kind}', '--ch'), ['--check'])
            self.assertEqual(self.complete(f'starling-{kind}', '--set', 'ops.'), ['ops.listen='])

    def test_units_are_good_and_hardened(self):
        units = list(self.units())
        self.assertEqual(said('systemd-analyze', 'verify', '--man=no', *units), '')
        for unit in units:
            # An exposure of 1.1, on a scale to 10.
            said('systemd-analyze', 'security', '--offline=true', '--no-pager', '--threshold=11', unit)

    def test_packaged_settings_are_known(self):
        """To each daemon, with what all have; and the common ones to the command."""
        with tempfile.TemporaryDirectory() as folder:
            common, key = pathlib.Path(folder) / 'starling.properties', pathlib.Path(folder) / 'key'
            key.write_text('0' * 64)
            text = (PACKAGING / 'etc/starling.properties').read_text()
            common.write_text(re.sub('/etc/starling/(hs256.key|peer-token)', str(key), text))
            for kind in KINDS:
                own = pathlib.Path(folder) / f'{kind}.properties'
                own.write_text((PACKAGING / f'etc/{kind}.properties').read_text().replace('/usr/share/starling/web', folder))
                said(PROGRAMS / f'starling-{kind}', '--config', common, '--config', own, '--check')
                # Lines that are commented out there are settings, too.
                for name in re.findall(r'^#([a-z0-9.]+)=', own.read_text() + text, re.MULTILINE):
                    self.assertIn(f'\\fB{name}\\fR', (self.made / 'man/starling.properties.5').read_text().replace('\\-', '-'))
            done = subprocess.run([STARLING, 'status', '--config', common, '--what'], capture_output=True, text=True)
            self.assertIn('unknown option --what', done.stderr)  # and nothing of the file

    def test_the_first_of_three_machines(self):
        """The commands of OPERATIONS.md's second step make settings that each daemon takes, from those that are packaged."""
        page = (ROOT / 'docs/OPERATIONS.md').read_text()
        step = re.search(r'^2\. \*\*The first machine\.\*\*.*?\n\n((?:       [^\n]*\n)+)', page, re.MULTILINE | re.DOTALL)[1]
        loop = re.search(r'^ +for daemon in ([a-z -]+); do\n +runuser -u starling -- starling-\$daemon --check', page, re.MULTILINE)[1]
        self.assertEqual(sorted(loop.split()), sorted(KINDS))
        with tempfile.TemporaryDirectory() as folder:
            etc = pathlib.Path(folder)
            shutil.copytree(PACKAGING / 'etc', etc, dirs_exist_ok=True)
            for secret in ('hs256.key', 'peer-token'):
                (etc / secret).write_text('0' * 64)
            script = step.replace('/etc/starling', folder)
            self.assertEqual(said('bash', '-euc', script), '')
            for name in ('starling', 'ingest'):
                file = etc / f'{name}.properties'
                file.write_text(file.read_text().replace('/etc/starling', folder).replace('/usr/share/starling/web', folder))
            ports = set()
            for kind in KINDS:
                own = etc / f'{kind}.properties'
                said(PROGRAMS / f'starling-{kind}', '--config', etc / 'starling.properties', '--config', own, '--check')
                listening = re.findall(r'^([a-z]+)\.listen=\[::\]:(\d+)$', own.read_text(), re.MULTILINE)
                self.assertGreaterEqual({what for what, _ in listening}, {'ops'})
                self.assertEqual(re.findall(r'^#?[a-z]+\.listen=127', own.read_text(), re.MULTILINE), [])
                self.assertFalse(ports & {port for _, port in listening})
                ports |= {port for _, port in listening}
            self.assertIn('10.0.0.2:9092', (etc / 'starling.properties').read_text())

    def test_bill_of_materials(self):
        bom = json.loads(said(PACKAGING / 'sbom.py', '1.2', ROOT / 'web/package-lock.json', STARLING, PROGRAMS / 'starling-router'))
        references = [component['bom-ref'] for component in bom['components']]
        self.assertEqual(len(references), len(set(references)))
        for needed in ('starling-router', 'deb:librdkafka1', 'deb:libc6', 'npm:leaflet'):
            self.assertIn(needed, references)
        for dependency in bom['dependencies']:
            self.assertLessEqual(set(dependency['dependsOn']), set(references))

    def test_scripts_are_good(self):
        for script in ('postinst', 'prerm', 'postrm'):
            said('sh', '-n', PACKAGING / 'debian' / script)


if __name__ == '__main__':
    unittest.main()
