// The page for an address that leads nowhere.

import { translatePage } from './preferences.js';

translatePage();
