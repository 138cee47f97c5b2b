// The HTTP side of starling, for what the page needs of it. Same origin.

export class ApiError extends Error {
    /** @param {number} status @param {string} message */
    constructor(status, message) {
        super(message);
        this.status = status;
    }
}

export class Api {
    #token;

    /** @param {string} token */
    constructor(token) {
        this.#token = token;
    }

    profile() {
        return this.#request('GET', '/v1/profile');
    }

    /** @param {{name: string, avatar_url?: string}} profile */
    saveProfile(profile) {
        return this.#request('PUT', '/v1/profile', profile);
    }

    sharing() {
        return this.#request('GET', '/v1/sharing');
    }

    /** @param {'off' | 'friends' | 'public'} mode */
    share(mode) {
        return this.#request('PUT', '/v1/sharing', { mode });
    }

    /** @returns {Promise<any>} the JSON of the answer, {} when there is none */
    async #request(method, path, body) {
        let response;
        try {
            response = await fetch(path, {
                method,
                cache: 'no-store',
                headers: {
                    authorization: `Bearer ${this.#token}`,
                    ...(body && { 'content-type': 'application/json' }),
                },
                body: body && JSON.stringify(body),
            });
        } catch {
            throw new ApiError(0, 'The server cannot be reached.');
        }
        const answer = await response.json().catch(() => ({}));
        if (!response.ok) {
            // RFC 9457 where the server says why, the bare status where something between us does.
            throw new ApiError(response.status, answer.detail ?? answer.title ?? `The server answered ${response.status}.`);
        }
        return answer;
    }
}

const DEFAULTS = { ws_url: '', tile_url: '', radius_m: 8046.72 };
const DATE_IS_EXACT_TO_MS = 2000;

/**
 * The page's settings, and from the answer's date what is known of the server's clock before anything is reported.
 * @returns {Promise<{wsUrl: string, tileUrl: string, radiusM: number, clockOffsetMs: number}>}
 */
export async function loadConfig() {
    let config = DEFAULTS;
    let offset = 0;
    try {
        const response = await fetch('/v1/config', { cache: 'no-store' });
        const now = Date.now();
        if (!response.ok) throw new ApiError(response.status, `/v1/config answered ${response.status}`);
        config = { ...DEFAULTS, ...(await response.json()) };
        const date = Date.parse(response.headers.get('date') ?? '');
        if (Math.abs(date - now) > DATE_IS_EXACT_TO_MS) offset = date - now;
    } catch (error) {
        console.warn('the settings of this page could not be read, using the usual ones:', error);
    }
    return {
        wsUrl: webSocketUrl(config.ws_url, location),
        tileUrl: config.tile_url,
        radiusM: config.radius_m,
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
