// The settings that the page reads before anybody has signed in.

const DEFAULTS = { ws_url: '', push_url: '', tile_url: '', map_url: '', map_attribution: '', radius_m: 8046.72, demo: false, oidc: null };
const DATE_IS_EXACT_TO_MS = 2000;

/**
 * The page's settings, and from the answer's date what is known of the server's clock before anything is reported.
 * @returns {Promise<{complete: boolean, wsUrl: string, pushUrl: string, radiusM: number, clockOffsetMs: number,
 *     ground: {tileUrl: string, mapUrl: string, attribution: string},
 *     demo: boolean, oidc: {issuer: string, client_id: string, scope: string} | null}>}
 */
export async function loadConfig() {
    let config = DEFAULTS;
    let offset = 0;
    let complete = true;
    try {
        const response = await fetch('/v1/config'); // which the document has asked for already
        const now = Date.now();
        if (!response.ok) throw new Error(`/v1/config answered ${response.status}`);
        config = { ...DEFAULTS, ...(await response.json()) };
        const date = Date.parse(response.headers.get('date') ?? '');
        if (Math.abs(date - now) > DATE_IS_EXACT_TO_MS) offset = date - now;
    } catch (error) {
        console.warn('the settings of this page could not be read, using the usual ones:', error);
        complete = false;
    }
    return {
        complete,
        wsUrl: webSocketUrl(config.ws_url, location),
        pushUrl: config.push_url,
        ground: { tileUrl: config.tile_url, mapUrl: config.map_url, attribution: config.map_attribution },
        radiusM: config.radius_m,
        demo: config.demo,
        oidc: config.oidc,
        clockOffsetMs: offset,
    };
}

/**
 * @param {string} setting empty: this host, port 8081
 * @param {{protocol: string, hostname: string, href: string}} page
 */
export function webSocketUrl(setting, page) {
    const secure = page.protocol === 'https:';
    if (!setting) return `${secure ? 'wss' : 'ws'}://${page.hostname}:8081/`;
    return new URL(setting, page.href).href.replace(/^http/, 'ws');
}
