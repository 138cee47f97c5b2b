// The HTTP side of starling, for what the page needs of it. Same origin.

import { StarlingApi } from '../client/index.js';

export class Api extends StarlingApi {
    profile() {
        return this.request('GET', '/v1/profile');
    }

    /** @param {{name: string, avatar_url?: string, bio?: string, url?: string}} profile */
    saveProfile(profile) {
        return this.request('PUT', '/v1/profile', profile);
    }

    /** Where I was. @param {{from: number, limit: number, after: string | null}} query */
    history({ from, limit, after }) {
        const next = after === null ? '' : `&after=${encodeURIComponent(after)}`;
        return this.request('GET', `/v1/history?from=${Math.max(0, Math.round(from))}&limit=${limit}${next}`);
    }

    /** What comes of it: a follow may have to be accepted. @param {string} user @param {boolean} wanted @returns {Promise<import('./follow-button.js').FollowState>} */
    async setFollow(user, wanted) {
        const following = await (wanted ? this.follow(user) : this.unfollow(user));
        return following ? 'following' : wanted ? 'requested' : 'none';
    }

    sharing() {
        return this.request('GET', '/v1/sharing');
    }

    /** @param {'off' | 'friends' | 'public'} mode @param {number | null} until ms; null: without end @param {boolean} details told to friends */
    share(mode, until, details) {
        return this.request('PUT', '/v1/sharing', { mode, ...(until !== null && { until }), ...(details && { details }) });
    }
}

/** How I follow somebody. @param {import('../client/index.js').User} user @returns {import('./follow-button.js').FollowState | null} null: not known, or it is me */
export function followOf({ follow }) {
    return follow === undefined ? null : (follow ?? 'none');
}
