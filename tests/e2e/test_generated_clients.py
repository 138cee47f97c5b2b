"""Clients that three generators make of docs/openapi.yaml: all of each can be imported, and does what a user's app does."""
import importlib
import pathlib
import pkgutil
import subprocess
import sys

import pytest

from harness.broker import REPOSITORY
from harness.waiting import eventually, now_ms

DESCRIPTION = REPOSITORY / 'docs/openapi.yaml'
PROGRAMS = pathlib.Path(sys.executable).parent
WEB = REPOSITORY / 'web'
PLACE = 39.9847, 116.3184


@pytest.fixture(scope='module')
def generated(tmp_path_factory):
    folder = tmp_path_factory.mktemp('generated')
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def import_all(package):
    found = importlib.import_module(package)
    return [importlib.import_module(module.name) for module in pkgutil.walk_packages(found.__path__, package + '.')]


def test_openapi_python_client(shared_cluster, user, generated):
    pytest.importorskip('openapi_python_client')
    (generated / 'config.yaml').write_text('post_hooks: []\n')
    said = run(PROGRAMS / 'openapi-python-client', 'generate', '--path', DESCRIPTION, '--output-path', generated / 'by_one', '--meta', 'none',
               '--config', generated / 'config.yaml')
    assert [line for line in said.splitlines() if line.startswith(('WARNING', 'ERROR'))] == [
        'WARNING parsing GET /v1/openapi.yaml within page.']  # which is no JSON
    assert len(import_all('by_one')) > 150
    from by_one import AuthenticatedClient, models
    from by_one.api.history import get_history
    from by_one.api.locations import post_locations
    from by_one.api.people import put_sharing
    client, time = AuthenticatedClient(shared_cluster.http_url, shared_cluster.token(user)), now_ms()
    assert put_sharing.sync(client=client, body=models.NewSharing(mode=models.Mode.FRIENDS)).mode == 'friends'
    report = models.Report(lat=PLACE[0], lng=PLACE[1], time=time)
    assert post_locations.sync(client=client, body=models.ReportList(locations=[report])).accepted == 1
    page, = eventually(lambda: (page := get_history.sync(client=client)).items and [page])
    assert [(place.lat, place.time) for place in page.items] == [(PLACE[0], time)]
    refused = post_locations.sync(client=client, body=models.ReportList(locations=[report, models.Report(91, 0, time)]))
    assert (refused.code, refused.index) == ('bad_location', 1)


def test_openapi_generator(shared_cluster, user, generated):
    jar = pytest.importorskip('openapi_generator_cli')
    program = next(pathlib.Path(jar.__file__).parent.glob('*.jar'))
    run('java', '-jar', program, 'generate', '-i', DESCRIPTION, '-g', 'python', '-o', generated, '--package-name', 'by_two')
    assert len(import_all('by_two')) > 80
    import by_two
    with by_two.ApiClient(by_two.Configuration(shared_cluster.http_url, access_token=shared_cluster.token(user))) as client:
        assert by_two.PeopleApi(client).put_sharing(by_two.NewSharing(mode='friends')).mode == 'friends'
        report = by_two.Report(lat=PLACE[0], lng=PLACE[1], time=now_ms())
        taken = by_two.LocationsApi(client).post_locations(by_two.PostLocationsRequest(by_two.ReportList(locations=[report])))
        assert (taken.accepted, taken.sharing_off) == (1, 0)
        assert by_two.FriendsApi(client).get_friends(limit=5).items == []


SCRIPT = '''
import { client } from './sdk/client.gen';
import { getFriends, postLocations, putSharing } from './sdk';
declare const process: { argv: string[] };
const [url, token, lat, lng] = process.argv.slice(2);
client.setConfig({ baseUrl: url, auth: () => token });
const sharing = await putSharing({ body: { mode: 'friends' } });
const taken = await postLocations({ body: { locations: [{ lat: Number(lat), lng: Number(lng), time: Date.now() }] } });
const friends = await getFriends({ query: { limit: 5 } });
const refused = await postLocations({ body: { lat: 91, lng: 0, time: Date.now() } });
console.log(JSON.stringify([sharing.data?.mode, taken.data?.accepted, friends.data?.items, refused.error?.code]));
'''


def test_openapi_ts(shared_cluster, user, generated):
    programs = WEB / 'node_modules/.bin'
    if not (programs / 'openapi-ts').exists():
        pytest.skip('web/node_modules has no @hey-api/openapi-ts: npm ci there')
    node = subprocess.run(['node', '--version'], capture_output=True, text=True, check=True).stdout
    if int(node[1:].split('.')[0]) < 20:
        pytest.skip(f'openapi-ts needs node 20, and this is {node.strip()}')
    run(programs / 'openapi-ts', '-i', DESCRIPTION, '-o', generated / 'sdk', '-c', '@hey-api/client-fetch', cwd=generated)
    (generated / 'use.mts').write_text(SCRIPT)
    run(programs / 'tsc', '--noEmit', '--strict', '--target', 'es2022', '--module', 'preserve', '--moduleResolution', 'bundler', '--lib',
        'es2022,dom,dom.iterable', '--skipLibCheck', generated / 'use.mts')
    run(programs / 'esbuild', generated / 'use.mts', '--bundle', '--platform=node', '--format=esm', f'--outfile={generated / "use.mjs"}')
    said = run('node', generated / 'use.mjs', shared_cluster.http_url, shared_cluster.token(user), *map(str, PLACE))
    assert said.strip() == '["friends",1,[],"bad_location"]'
