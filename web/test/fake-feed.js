// The feed's part of the fake server: posts and follows of one user's world, and what its edge says of them.

import { edit, marksOf, versionsOf } from './fake-edits.js';

const FIRST_ID = 250181845507911757n;
const MINUTE_MS = 60_000;
const SAID = [
    'Good morning from the harbour. The fog has just lifted.',
    'Has anybody seen a grey cat near the old mill? She answers to Minka, when she feels like it.',
    'First strawberries of the year!',
    'The number 9 tram is late again. Walking is faster, and the lindens are in bloom anyway.',
    'Reading group tonight at seven. We are at chapter twelve; whoever has not finished may bring cake instead.',
    'Finished the roof. Twenty-two days, one fall (not mine), no rain since. Of course it rains now.',
    'New on the shelf: three kinds of rye bread.',
    'Thank you all for the kind words. My father is home again.',
];

export class FakeFeed {
    /** post -> how many comments it has. Other posts say nothing about it. */
    counts = new Map();
    /** post -> who likes it */
    likes = new Map();
    /** The next answers to likes: {status, code, detail}; {status: 202}: not decided yet. */
    nextLikes = [];
    /** user -> name */
    people = new Map();
    following = new Set();
    /** Users who let only those see their posts whom they accept; whom of them I have asked. */
    closed = new Set();
    asking = new Set();
    /** Who follows me, who asks to, and who sees my posts. */
    followers = new Set();
    /** These follow everybody else. */
    known = new Set();
    /** These are friends of mine and of everybody else. */
    mutual = new Set();
    requests = new Set();
    visibility = 'everybody';
    /** user -> {bio, url} */
    about = new Map();
    /** handle -> user */
    handles = new Map();
    /** The newest last: {id, user, text, media, time, away}; away: cannot be read just now. */
    posts = [];
    complete = true;
    /** Of me, the newest first, as on the wire; and those of them that I have read. */
    notices = [];
    seen = new Set();
    /** kind -> {live, push} */
    preferences = Object.fromEntries(['follow', 'request', 'accepted', 'mention', 'reply', 'like', 'approach', 'arrived', 'left'].map((kind) => [kind, { live: true, push: true }]));
    /** The error that every request for the feed gets, if there is one: {status, code, detail, retryAfter}. */
    fail = null;
    /** Requests so far, as `METHOD path`. */
    asked = [];
    /** Answers of POST that are lost on the way, though the post is made. */
    loseAnswers = 0;
    #keys = new Map();
    #watchers = new Map();
    #bells = new Map(); // who watches my notices -> the ids that were said

    /** @param {number} me @param {Map<number, string | null>} people */
    constructor(me, people) {
        this.me = me;
        this.people = people;
    }

    /** Somebody has posted long ago. @param {number} count posts, by everybody in turn */
    fill(count, authors = [...this.people.keys()].slice(0, 8)) {
        for (const author of authors) this.following.add(author);
        for (let i = 0; i < count; i += 1) {
            const time = Date.now() - (count - i) * 7 * MINUTE_MS;
            this.posts.push({ id: this.#nextId(), user: authors[i % authors.length], text: SAID[i % SAID.length], media: [], time });
        }
    }

    /** Somebody posts, and those who watch are told. */
    publish(user, text, more = {}) {
        const post = { id: this.#nextId(), user, text, media: [], time: Date.now(), ...more };
        this.#change([post], [], () => this.posts.push(post));
        return post;
    }

    /** Somebody follows me, mentions me in a post, or answers me in a comment. @param {number} user @param {string | null} [post] */
    notify(user, post = null, comment = null) {
        const time = Date.now();
        const [what, id] = post === null ? ['follow', `${time}.1.${user}`] : comment ? ['reply', `${time}.3.${comment}`] : ['mention', `${time}.2.${post}`];
        this.#ring({ id, what, user, subject: post && `post:${post}`, comment, time });
    }

    /** Somebody, or I, at a place. @param {'arrived' | 'left'} what @param {number} user @param {string} place its name */
    place(what, user, place) {
        const time = Date.now();
        this.#ring({ id: `${time}.${what === 'arrived' ? 8 : 9}.${this.notices.length + 1}`, what, user, subject: null, comment: null, place, time });
    }

    /** Many do the same, the newest first: one notice, in the place of the former. @param {string} what @param {number[]} users @param {number} count */
    gather(what, users, count, post = null, comment = null) {
        const [subject, time] = [post && `post:${post}`, Date.now()];
        this.notices = this.notices.filter((one) => one.what !== what || one.subject !== subject || one.comment !== comment);
        this.#ring({ id: `${time}.6.${users[0]}`, what, user: users[0], subject, comment, time, count, users: users.slice(0, 3) });
    }

    #ring(notice) {
        this.notices.unshift(notice);
        this.ringing();
    }

    /** Without requests that no longer wait. */
    get listed() {
        return this.notices.filter(({ what, user }) => what !== 'request' || this.requests.has(user));
    }

    get unread() {
        return this.listed.filter(({ id }) => !this.seen.has(id)).length;
    }

    /** Those who watch are told how many are unread, and of those that they were not told of. */
    ringing(listeners = [...this.#bells.keys()]) {
        for (const say of listeners) {
            const said = this.#bells.get(say);
            const items = this.listed.slice(0, 20).filter(({ id, what }) => !said.has(id) && this.preferences[what].live);
            for (const { id } of items) said.add(id);
            say({ type: 'notices', unread: this.unread, items });
        }
    }

    watchNotices(say) {
        this.#bells.set(say, new Set());
        this.ringing([say]);
    }

    unwatchNotices(say) {
        this.#bells.delete(say);
    }

    #told(id, after, limit, body) {
        if (id === 'preferences') {
            Object.assign(this.preferences, body);
            return [200, this.preferences];
        }
        if (id === 'read') {
            for (const one of this.notices.slice(this.notices.findIndex((notice) => notice.id === body.until))) this.seen.add(one.id);
            this.ringing();
            return [200, { unread: this.unread }];
        }
        const items = this.listed.slice(after === null ? 0 : this.listed.findIndex((one) => one.id === after) + 1);
        return [200, { items: items.slice(0, limit), next: items.length > limit ? items[limit - 1].id : null, unread: this.unread }];
    }

    /** Somebody asks to follow me, or has accepted me. @param {number} user @param {'request' | 'accepted'} what */
    tell(user, what) {
        const time = Date.now();
        if (what === 'request') this.requests.add(user);
        this.#ring({ id: `${time}.${what === 'request' ? 4 : 5}.${user}`, what, user, subject: null, comment: null, time });
    }

    /** Somebody takes me. @param {number} user */
    accept(user) {
        this.asking.delete(user);
        this.changed(() => this.following.add(user));
    }

    /** @param {string} post @returns {Set<number>} */
    likesOf(post) {
        if (!this.likes.has(post)) this.likes.set(post, new Set());
        return this.likes.get(post);
    }

    /** Its author edits it, and those who watch are told. */
    edit(post, body) {
        let refused = null;
        this.changed(() => (refused = edit(post, body)));
        return refused;
    }

    remove(id) {
        this.#change([], [id], () => (this.posts = this.posts.filter((post) => post.id !== id)));
    }

    /** Follows and other changes that are no post and no deletion are told as stale. */
    changed(change) {
        change();
        for (const say of this.#watchers.keys()) say({ type: 'stale', what: 'feed', version: this.version, after_ms: 50 });
    }

    /** My home timeline, newest first. */
    get timeline() {
        return this.posts.filter(({ user }) => this.following.has(user)).reverse();
    }

    get version() {
        const newest = this.timeline.slice(0, 20);
        const edits = newest.reduce((sum, post) => sum + marksOf(post).version, 0);
        return `v${newest.map(({ id }) => id).join().length}-${edits}-${this.timeline[0]?.id}-${this.timeline.length}`;
    }

    watch(say, version) {
        this.#watchers.set(say, true);
        if (version !== undefined && version !== this.version) say({ type: 'stale', what: 'feed', version: this.version, after_ms: 50 });
    }

    unwatch(say) {
        this.#watchers.delete(say);
    }

    /** @returns {[number, any, object?] | null} status, JSON, headers; null: no such path */
    serve(method, path, query, body) {
        const known = /^\/v1\/(posts|feed|users|follows|followers|visibility|handles?|notices)(\/|$)/.test(path);
        if (!known) return null;
        this.asked.push(`${method} ${path}`);
        if (this.fail) return [this.fail.status, this.fail, this.fail.retryAfter ? { 'retry-after': this.fail.retryAfter } : {}];
        const limit = Number(query.get('limit') ?? 20);
        const after = query.get('after');
        const [, , what, id, list] = path.split('/');
        if (what === 'feed') {
            const [from, to] = [Number(query.get('from') ?? 0), Number(query.get('to') ?? Infinity)];
            const some = this.timeline.filter(({ time }) => time >= from && time < to);
            return [200, { ...this.#page(some, after, limit), complete: this.complete, version: after === null && !query.has('from') ? this.version : '' }];
        }
        if (what === 'posts' && method === 'POST') return this.#make(body);
        if (list === 'like') return this.#like(method, id);
        if (what === 'posts') return this.#one(method, id, list, body);
        if (what === 'notices') return this.#told(id, after, limit, body);
        if (what === 'visibility') return method === 'PUT' ? this.#see(body.posts) : [200, { posts: this.visibility }];
        if (what === 'follows' || what === 'followers') {
            if (id === 'requests') return this.#people(what === 'follows' ? this.asking : this.requests, after, limit);
            if (!id || method === 'GET') return null;
            if (Number(id) === this.me) return [400, { code: 'same_user', detail: 'the two users are the same' }];
            return what === 'follows' ? this.#follow(Number(id), method === 'PUT') : this.#follower(Number(id), method === 'PUT');
        }
        if (list === 'posts' && !this.sees(Number(id))) return [403, { code: 'followers_only', detail: 'only followers see the posts of this user' }];
        if (list === 'posts') return [200, this.#page(this.posts.filter(({ user }) => user === Number(id)).reverse(), after, limit)];
        if (list === 'mutual-friends') return this.#people(this.mutual, after, limit);
        if (list === 'following') return this.#people(this.following, after, limit);
        if (list === 'followers' && path.endsWith('/known')) return this.#people([...this.following].filter((user) => this.known.has(user)), after, limit, {});
        if (list === 'followers') return this.#people(Number(id) === this.me ? this.followers : [...this.people.keys()], after, limit);
        if (what === 'users' && !id) {
            const users = query.get('ids').split(',').map(Number);
            return [200, { items: users.map((user) => ({ user, ...this.profile(user), handle: this.#handleOf(user) ?? null })) }];
        }
        if (what === 'handle') return this.#setHandle(body?.handle);
        if (what === 'handles') return this.handles.has(id) ? this.#user(this.handles.get(id), id) : [404, { code: 'no_handle', detail: 'nobody has it' }];
        return this.#user(Number(id), this.#handleOf(Number(id)));
    }

    #handleOf(user) {
        return [...this.handles].find(([, one]) => one === user)?.[0];
    }

    #user(user, handle) {
        const posts = this.posts.filter((post) => post.user === user).length;
        const profile = this.profile(user);
        const about = profile.name === null ? { bio: null, url: null } : { bio: '', url: '', ...this.about.get(user) };
        return [200, { user, ...profile, ...about, handle, followers: 31, following: 12, posts, ...(user !== this.me && { follow: this.#followOf(user) }) }];
    }

    #setHandle(handle) {
        const taken = this.handles.get(handle) ?? this.me;
        if (taken !== this.me) return [409, { code: 'handle_taken', detail: 'somebody else has it' }];
        this.handles = new Map([...this.handles].filter(([, user]) => user !== this.me));
        if (handle === undefined) return [204];
        this.handles.set(handle, this.me);
        return [200, { user: this.me, handle }];
    }

    #make({ text, media = [], key }) {
        if (!this.#keys.has(key)) this.#keys.set(key, this.publish(this.me, text, { media }).id);
        if (this.loseAnswers > 0) {
            this.loseAnswers -= 1;
            return [0, null];
        }
        const post = this.posts.find(({ id }) => id === this.#keys.get(key));
        return post ? [201, this.#shown(post)] : [409, { code: 'post_deleted', detail: 'the post that this key made was deleted' }];
    }

    #one(method, id, list, body) {
        const post = this.posts.find((one) => one.id === id);
        if (method === 'DELETE') {
            if (post) this.remove(id);
            return [204];
        }
        if (!post || !this.sees(post.user)) return [404, { code: 'no_post', detail: 'there is no such post' }];
        if (method === 'PUT') return this.edit(post, body) ?? [200, this.#shown(post)];
        if (list === 'edits') return [200, { items: versionsOf(post), next: null }];
        return post.away ? [503, { code: 'owner_unavailable', detail: 'the owner is away' }] : [200, this.#shown(post)];
    }

    #like(method, id) {
        const told = this.nextLikes.shift();
        if (told) return [told.status, told];
        const author = this.posts.find((one) => one.id === id)?.user;
        if (!this.sees(author) && method === 'PUT') return [404, { code: 'no_post', detail: 'there is no such post' }];
        if (method === 'PUT') this.likesOf(id).add(this.me);
        else this.likesOf(id).delete(this.me);
        return [200, { likes: this.sees(author) ? this.likesOf(id).size : 0, liked: method === 'PUT' }];
    }

    /** Whether I see the posts of that user. */
    sees(user) {
        return !this.closed.has(user) || this.following.has(user);
    }

    #follow(user, wanted) {
        if (!wanted) this.unfollow(user);
        else if (this.sees(user)) this.changed(() => this.following.add(user));
        else this.asking.add(user);
        return [200, { user, following: this.following.has(user), state: this.#followOf(user) }];
    }

    /** "following", "requested" or null */
    #followOf(user) {
        return this.following.has(user) ? 'following' : this.asking.has(user) ? 'requested' : null;
    }

    /** A block ends follows and requests of both. */
    block(user) {
        this.unfollow(user);
        this.followers.delete(user);
        this.requests.delete(user);
    }

    /** I do not follow that user, and do not ask to. */
    unfollow(user) {
        this.asking.delete(user);
        this.changed(() => this.following.delete(user));
    }

    /** Somebody who asks to follow me is accepted, or does not follow me any more. */
    #follower(user, accepted) {
        if (accepted && !this.requests.has(user) && !this.followers.has(user)) return [404, { code: 'no_request', detail: 'the user has not asked to follow' }];
        this.requests.delete(user);
        this.followers[accepted ? 'add' : 'delete'](user);
        this.ringing();
        return accepted ? [200, { user, follower: true }] : [204];
    }

    #see(posts) {
        if (posts !== 'everybody' && posts !== 'followers') return [400, { code: 'bad_visibility', detail: '"posts" must be everybody or followers' }];
        this.visibility = posts;
        if (posts === 'everybody') {
            for (const user of this.requests) this.followers.add(user);
            this.requests.clear();
            this.ringing();
        }
        return [200, { posts: this.visibility }];
    }

    /** @param {Iterable<number>} users */
    #people(users, after, limit, counted = { total: [...users].length }) {
        const all = [...users].sort((a, b) => a - b);
        const left = all.filter((user) => after === null || user > Number(after));
        const items = left.slice(0, limit).map((user) => ({ user, ...this.profile(user), handle: this.#handleOf(user) ?? null }));
        return [200, { items, next: left.length > limit ? items.at(-1).user : null, ...counted }];
    }

    #page(posts, after, limit) {
        const older = posts.filter(({ id }) => after === null || BigInt(id) < BigInt(after));
        const items = older.slice(0, limit);
        return { items: items.map((post) => this.#shown(post)), next: older.length > limit ? items.at(-1).id : null };
    }

    #shown(post) {
        const { id, user, text, media, time, away } = post;
        if (away) return { id, user, time, unavailable: true };
        const counts = { likes: this.likesOf(id).size, liked: this.likesOf(id).has(this.me), ...(this.counts.has(id) && { comments: this.counts.get(id) }) };
        return { id, user, ...this.profile(user), text, media, time, ...marksOf(post), ...counts };
    }

    /** The author's part of a post or comment. @param {number} user */
    profile(user) {
        const name = user === this.me ? 'Mira Starling' : (this.people.get(user) ?? null);
        return { name, avatar_url: name === null ? null : '' };
    }

    #nextId() {
        return String(this.posts.length > 0 ? BigInt(this.posts.at(-1).id) + 4096n : FIRST_ID);
    }

    #change(items, gone, apply) {
        const since = this.version;
        apply();
        const mine = items.filter(({ user }) => this.following.has(user)).map((post) => this.#shown(post));
        if (this.version === since) return;
        for (const say of this.#watchers.keys()) say({ type: 'posts', since, version: this.version, items: mine, gone });
    }
}
