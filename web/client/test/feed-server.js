// A starling-ingest for tests of the feed: a timeline that the test changes, pages of it as GET /v1/feed has them,
// and answers that it is told to give. It is the API that a LiveFeed is given.

import { ApiError } from '../index.js';

export const post = (id, more = {}) =>
    Object.freeze({
        id: String(id), user: '7', name: 'Ada', avatarUrl: null, text: `post ${id}`, media: [], time: id, version: 1, edited: null,
        unavailable: false, comments: null, ...more,
    });

/** As on the wire. */
export const item = (id, more = {}) => ({
    id: String(id), user: 7, name: 'Ada', avatar_url: '', text: `post ${id}`, media: [], time: id, ...more,
});

/** A comment as on the wire: a root unless `more` says otherwise. */
export const comment = (id, more = {}) => ({
    id: String(id), user: 7, name: 'Ada', avatar_url: '', text: `comment ${id}`, time: id, floor: id, root: null, reply_to: null, likes: 0,
    reply_count: 0, replies: [], state: 'visible', ...more,
});

export class FeedServer {
    /** Newest first. */
    posts = [];
    version = 'v1';
    complete = true;
    /** The next answers: errors to throw, or functions that are given the page and return another one. */
    next = [];
    /** While there is a promise, answers wait for it. */
    held = null;
    /** The queries, in order; ids that were asked for one by one. */
    asked = [];
    askedOne = [];
    /** Posts that getPost finds though pages have them as unavailable. */
    found = new Map();

    async getFeed({ after = null, limit = 20 } = {}) {
        this.asked.push({ after, limit });
        const older = this.posts.filter(({ id }) => after === null || Number(id) < Number(after));
        const items = older.slice(0, limit);
        const page = {
            items,
            next: older.length > limit ? items[items.length - 1].id : null,
            complete: this.complete,
            version: after === null ? this.version : '',
        };
        const told = this.next.shift();
        await this.held;
        if (told instanceof Error) throw told;
        return told ? told(page) : page;
    }

    async getPost(id) {
        this.askedOne.push(id);
        const found = this.found.get(id);
        if (found === undefined) throw new ApiError(503, 'owner_unavailable', 'away');
        if (found === null) throw new ApiError(404, 'no_post', 'gone');
        return found;
    }

    /** Everything listed, as ids. */
    ids() {
        return this.posts.map(({ id }) => id);
    }
}

export const range = (from, to) => Array.from({ length: from - to + 1 }, (_, i) => post(from - i));
