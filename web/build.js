// Puts what the page needs from elsewhere under public/vendor: Leaflet as npm delivers it, and our own client. There is
// no bundler: the browser loads the modules as they are.
import { cpSync, mkdirSync, rmSync } from 'node:fs';
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
