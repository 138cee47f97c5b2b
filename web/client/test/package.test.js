// What goes to a registry of packages: its metadata, its files, and a changelog that knows the version. Needs no network.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { test } from 'node:test';

const read = (name) => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8');
const about = JSON.parse(read('package.json'));

test('the archive has what users need, and no more', () => {
    const npm = (...words) => execFileSync('npm', words, { cwd: new URL('..', import.meta.url), encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    npm('run', 'prepack');
    const said = npm('pack', '--dry-run', '--json', '--offline', '--ignore-scripts');
    const listed = JSON.parse(said);
    const { name, version, files } = Array.isArray(listed) ? listed[0] : Object.values(listed)[0];
    assert.deepEqual([name, version], ['starling-client', about.version]);
    assert.deepEqual(
        files.map(({ path }) => path).sort(),
        ['CHANGELOG.md', 'LICENSE', 'README.md', 'index.cjs', 'index.d.cts', 'index.d.ts', 'index.js', 'package.json', ...readdirSync(new URL('../src', import.meta.url)).map((file) => `src/${file}`)].sort(),
    );
});

test('CommonJS can require it', async () => {
    const required = createRequire(import.meta.url)('starling-client');
    assert.deepEqual(Object.keys(required).sort(), Object.keys(await import('starling-client')).sort());
    assert.throws(() => new required.StarlingApi({ url: undefined, token: 't' }), TypeError);
});

test('the metadata is whole', () => {
    for (const member of ['description', 'license', 'keywords', 'main', 'types', 'exports', 'engines']) assert.ok(about[member], member);
    assert.equal(about.private, undefined);
    assert.equal(about.dependencies, undefined);
    assert.match(read('LICENSE'), /Apache License/);
});

test('the changelog begins with this version', () => {
    assert.equal(/^## (\d\S*)/m.exec(read('CHANGELOG.md'))[1], about.version);
});
