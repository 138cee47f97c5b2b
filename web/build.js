// Makes dist/, the page as it is served: what each document of public/ needs is bundled and minified, named by its content in assets/,
// preloaded, and packed beside itself. The service worker is told which files make the page.
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const DOCUMENTS = ['index.html', 'signin.html', 'link.html', 'moderation.html', '404.html'];
const AS_THEY_ARE = ['favicon.svg', 'icons', 'manifest.webmanifest'];
const PACKED = /\.(html|js|css|svg|webmanifest)$/;
const LEAST_PACKED = 1024; // bytes; a smaller one fits into a packet anyway
const MODULE = /<script type="module" src="([^"]+)"><\/script>\n/;
const STYLES = /(?:<link rel="stylesheet" href="[^"]+">\n)+/;

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const read = (document) => readFileSync(here(`public/${document}`), 'utf8');

/** The style sheets of a document, as one that imports them. */
const stylesOf = (document) => [...STYLES.exec(read(document))[0].matchAll(/href="([^"]+)"/g)].map(([, href]) => `@import "./${href}";`).join('\n');

/** Two documents with the same style sheets have one of them. */
const SHEETS = [...new Set(DOCUMENTS.map(stylesOf))];

rmSync(here('dist'), { recursive: true, force: true });
mkdirSync(here('dist'));
for (const file of AS_THEY_ARE) cpSync(here(`public/${file}`), here(`dist/${file}`), { recursive: true });

const { metafile: { outputs } } = await build({
    absWorkingDir: here('.'),
    entryPoints: [
        ...DOCUMENTS.map((document) => `public/${MODULE.exec(read(document))[1]}`),
        ...SHEETS.map((_, index) => ({ in: `sheet:${index}`, out: 'style' })),
    ],
    outdir: 'dist/assets',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    metafile: true,
    loader: { '.png': 'file' },
    plugins: [{
        name: 'sheets',
        setup(on) {
            on.onResolve({ filter: /^sheet:/ }, ({ path }) => ({ path, namespace: 'sheets' }));
            on.onLoad({ filter: /./, namespace: 'sheets' }, ({ path }) => ({ contents: SHEETS[path.slice(6)], loader: 'css', resolveDir: here('public') }));
        },
    }],
});

const made = (source) => Object.keys(outputs).find((name) => outputs[name].entryPoint === source);
const served = (output) => output.replace('dist', '');

/** The module and all that it imports at once. */
function together(output, before = new Set()) {
    before.add(output);
    for (const { path, kind } of outputs[output].imports) if (kind === 'import-statement' && !before.has(path)) together(path, before);
    return [...before];
}

for (const document of DOCUMENTS) {
    const modules = together(made(`public/${MODULE.exec(read(document))[1]}`));
    const [module, ...imported] = modules.map((output) => served(output));
    const preloads = imported.map((path) => `<link rel="modulepreload" href="${path}">\n`);
    const text = read(document)
        .replace(STYLES, `<link rel="stylesheet" href="${served(made(`sheets:sheet:${SHEETS.indexOf(stylesOf(document))}`))}">\n`)
        .replace(MODULE, `<script type="module" src="${module}"></script>\n${preloads.join('')}`);
    writeFileSync(here(`dist/${document}`), text);
}

const files = () => readdirSync(here('dist'), { recursive: true }).filter((file) => statSync(here(`dist/${file}`)).isFile()).sort();

// Moderators need a network, and so do signing in and links.
const shell = files().filter((file) => !/^(404|moderation|signin|link)|^assets\/(page|missing|signin|link-|layers|marker)/.test(file));
await build({
    entryPoints: [here('public/sw.js')],
    outfile: here('dist/sw.js'),
    minify: true,
    define: { FILES: JSON.stringify(shell.map((file) => `/${file.replace(/^index\.html$/, '')}`)) },
});

for (const file of files()) {
    const bytes = readFileSync(here(`dist/${file}`));
    if (!PACKED.test(file) || bytes.length < LEAST_PACKED) continue;
    writeFileSync(here(`dist/${file}.gz`), gzipSync(bytes, { level: 9 }));
    writeFileSync(here(`dist/${file}.br`), brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }));
}
