"""The gateway against its own description: schemathesis makes requests of docs/openapi.yaml, good ones and bad ones, and looks at what
comes back: no status, content type, header or member that is not described, nothing bad taken, nothing good refused."""
import pathlib
import subprocess
import sys

import pytest
import requests
import yaml

from harness.broker import REPOSITORY
from harness.processes import clean_environment

EXAMPLES = 12  # of each request; all of it takes less than a minute


@pytest.fixture(scope='module')
def every_product(make_module_cluster):
    return make_module_cluster().start(feeds=1, comments=1, places=1, moderators=1)


@pytest.mark.timeout(400)
@pytest.mark.slow
def test_schemathesis_finds_nothing(every_product, user, tmp_path):
    every_product.share(user)
    every_product.http(user).ok('PUT', '/v1/profile', json={'name': 'Ada'})
    done = subprocess.run([
        pathlib.Path(sys.executable).parent / 'schemathesis',
        '--config-file', pathlib.Path(__file__).with_name('schemathesis.toml'), 'run', f'{every_product.http_url}/v1/openapi.yaml',
        '--header', f'Authorization: Bearer {every_product.token(user, scope="gateway moderator")}',
        '--seed', '1', '--max-examples', str(EXAMPLES), '--generation-database', 'none', '--continue-on-failure',
        '--workers', '1', '--no-color'],
        cwd=tmp_path, env=clean_environment(), capture_output=True, text=True, timeout=380)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_object_has_a_name_and_no_word_became_a_key():
    """Generators make classes of names. A comma in a description without quotes begins a key of its own, whose value is null."""
    described = yaml.safe_load((REPOSITORY / 'docs/openapi.yaml').read_text())

    def look(node, path):
        if isinstance(node, dict):
            named = len(path) == 3 and path[:2] == ('components', 'schemas')
            assert named or not (node.get('type') == 'object' and 'properties' in node), path
            for key, value in node.items():
                if key not in ('example', 'examples'):
                    assert value is not None, (path, key)
                    look(value, (*path, key))
        elif isinstance(node, list):
            for number, value in enumerate(node):
                look(value, (*path, number))

    look({key: described[key] for key in ('paths', 'components')}, ())


def test_every_list_comes_in_pages():
    """Of as many items as the description promises: 1 to 1000, and 20 for who does not say; a page of history may be larger,
    and one of known followers is of as many as the caller follows."""
    described = yaml.safe_load((REPOSITORY / 'docs/openapi.yaml').read_text())

    def followed(node):
        if '$ref' not in node:
            return node
        found = described
        for name in node['$ref'].split('/')[1:]:
            found = found[name]
        return found

    lists = 0
    for path, methods in described['paths'].items():
        answers = methods.get('get', {}).get('responses', {})
        said = followed(answers.get('200', {})).get('content', {}).get('application/json')
        if not said or not {'items', 'next'} <= set(followed(said['schema']).get('required', [])):
            continue
        asked = {one['name']: one['schema'] for one in map(followed, methods['get'].get('parameters', []))}
        most = 10_000 if path == '/v1/history' else 100 if path.endswith('/edits') else 1000  # a text has 100 versions at most
        most, usual = (400, 400) if path.endswith('/known') else (most, 20)
        assert asked['limit'] == {'type': 'integer', 'minimum': 1, 'maximum': most, 'default': usual}, path
        assert 'after' in asked, path
        lists += 1
    assert lists >= 15


def test_the_description_is_served(every_product):
    got = requests.get(f'{every_product.http_url}/v1/openapi.yaml', timeout=10)
    assert got.headers['Content-Type'] == 'application/yaml'
    assert got.content == (REPOSITORY / 'docs/openapi.yaml').read_bytes()
