"""The gateway against its own description: schemathesis makes requests of docs/openapi.yaml, good ones and bad ones, and looks at what
comes back: no status, content type, header or member that is not described, nothing bad taken, nothing good refused."""
import pathlib
import subprocess
import sys

import pytest
import requests

from harness.broker import REPOSITORY
from harness.processes import clean_environment

EXAMPLES = 12  # of each request; all of it takes less than a minute


@pytest.fixture(scope='module')
def every_product(make_module_cluster):
    return make_module_cluster(settings={'ingest:comments.user.rate': 0}).start(feeds=1, comments=1, moderators=1)


@pytest.mark.timeout(400)
@pytest.mark.slow
def test_schemathesis_finds_nothing(every_product, users, tmp_path):
    user, = users(1)
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


def test_the_description_is_served(every_product):
    got = requests.get(f'{every_product.http_url}/v1/openapi.yaml', timeout=10)
    assert got.headers['Content-Type'] == 'application/yaml'
    assert got.content == (REPOSITORY / 'docs/openapi.yaml').read_bytes()
