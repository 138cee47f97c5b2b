// Puts what the page needs from elsewhere under public/vendor: Leaflet as npm delivers it, our own client, and the list of files that
// the service worker keeps. There is no bundler: the browser loads the modules as they are.
import { cpSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const vendor = here('public/vendor');

rmSync(vendor, { recursive: true, force: true });
mkdirSync(vendor, { recursive: true });
cpSync(here('node_modules/leaflet/dist'), `${vendor}/leaflet`, { recursive: true });
cpSync(here('node_modules/leaflet/LICENSE'), `${vendor}/leaflet/LICENSE`);
mkdirSync(`${vendor}/client`);
cpSync(here('client/index.js'), `${vendor}/client/index.js`);
cpSync(here('client/src'), `${vendor}/client/src`, { recursive: true });

// Leaflet has builds for others, too; moderators need a network.
const NOT_KEPT = /^(sw\.js|moderation)|leaflet\/leaflet(-src)?\.js|\.map$|LICENSE$/;
const shell = readdirSync(here('public'), { recursive: true })
    .filter((file) => statSync(here(`public/${file}`)).isFile() && !NOT_KEPT.test(file))
    .map((file) => (file === 'index.html' ? '/' : `/${file}`))
    .sort();
writeFileSync(`${vendor}/shell.json`, JSON.stringify(shell));
