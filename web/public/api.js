// The HTTP side of starling, for what the page needs of it. Same origin.

import { StarlingApi } from './vendor/client/index.js';

export class Api extends StarlingApi {
    profile() {
        return this.request('GET', '/v1/profile');
    }

    /** @param {{name: string, avatar_url?: string}} profile */
    saveProfile(profile) {
        return this.request('PUT', '/v1/profile', profile);
    }

    sharing() {
        return this.request('GET', '/v1/sharing');
    }

    /** @param {'off' | 'friends' | 'public'} mode @param {number | null} [until] ms; null: without end */
    share(mode, until = null) {
        return this.request('PUT', '/v1/sharing', { mode, ...(until !== null && { until }) });
    }
}
