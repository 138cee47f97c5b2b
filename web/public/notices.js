// Notices of follows, mentions and answers, and who asks to follow me: a button with the number of new ones and of those who ask, and the
// lists behind it. The page asks for them once a minute, as the server does not push them. The lists change when they are opened, and not
// under the reader's finger.

import { setText } from './dom.js';
import { FollowRequests } from './follow-requests.js';
import { displayName, hueOf, initials, plain } from './format.js';
import { Seen } from './seen.js';
import { Announcer } from './status.js';
import { ago, reason, words } from './words.js';

const EVERY_MS = 60_000;

const $ = (id) => document.getElementById(id);

/** @typedef {import('../client/index.js').Notice} Notice */

export class Notices {
    #showPerson;
    #showComment;
    #announcer = new Announcer($('notices-announce'));
    #api = null;
    /** @type {Seen | null} */
    #seen = null;
    /** Newest first. @type {Notice[]} */
    #list = [];
    #next = null;
    #read = false;
    #asked = 0; // pages so far: the answer to an earlier question than the last one is dropped
    #dueAt = 0;
    #count = 0;
    #requests;
    #told = 0; // new ones and requests
    /** Those that were new when they were shown. @type {Set<string>} */
    #fresh = new Set();
    /** user -> profile */
    #people = new Map();
    /** notice -> what was written */
    #texts = new Map();
    /** @type {Map<string, Row>} */
    #rows = new Map();
    #now = Date.now();

    /**
     * @param {(user: string) => void} showPerson shows who it is, and lets me follow
     * @param {(post: string, comment: string | null) => void} showComment shows the post, and its thread at the comment
     */
    constructor(showPerson, showComment) {
        this.#showPerson = showPerson;
        this.#showComment = showComment;
        this.#requests = new FollowRequests((user) => this.#leave(() => showPerson(user)), () => this.#show());
        $('notices').addEventListener('toggle', () => this.#toggled());
        $('older-notices').addEventListener('click', () => this.#older());
    }

    /** @param {import('./api.js').Api} api @param {string} user */
    signIn(api, user) {
        this.signOut();
        this.#api = api;
        this.#seen = new Seen(localStorage, user);
        this.#hear([this.#requests.signIn(api), this.#readNewest()]);
    }

    signOut() {
        this.#api = this.#seen = this.#next = null;
        this.#read = false;
        this.#asked += 1;
        this.#list = [];
        this.#count = this.#told = 0;
        this.#requests.signIn(null);
        this.#fresh.clear();
        this.#people.clear();
        this.#texts.clear();
        $('notices').open = false;
        this.#complain('');
        this.#render();
    }

    /** Time goes by. @param {number} now the server's time */
    tick(now) {
        this.#now = now;
        if (!$('notices').open && performance.now() >= this.#dueAt) this.#hear([this.#requests.readNew(), this.#readNewest()]);
        for (const row of this.#rows.values()) row.tick(now);
    }

    #toggled() {
        if ($('notices').open) {
            this.#show();
            this.read();
        } else {
            this.#fresh.clear();
            this.#complain('');
        }
    }

    /** @param {import('../client/index.js').Visibility} posts who sees my posts */
    mineAreFor(posts) {
        this.#requests.mineAreFor(posts);
    }

    /** Asks what is new, and who asks to follow me. */
    read() {
        if (this.#api) this.#hear([this.#requests.read(), this.#readNewest()]);
    }

    /** Both are told of in one sentence. @param {Promise<void>[]} answers */
    async #hear(answers) {
        const before = this.#told;
        await Promise.all(answers);
        if (this.#told > before) this.#announcer.gather(() => words.noticesAndRequests(this.#count, this.#requests.count));
    }

    /** The newest page. */
    #readNewest() {
        this.#dueAt = performance.now() + EVERY_MS;
        return this.#ask(null, (items) => (this.#list = items));
    }

    async #older() {
        const before = this.#rows.size;
        await this.#ask(this.#next, (items) => (this.#list = [...this.#list, ...items]));
        if (this.#rows.size > before) $('notice-list').children[before].querySelector('button').focus();
    }

    /** @param {string | null} after @param {(items: Notice[]) => void} take */
    async #ask(after, take) {
        if (!this.#api) return;
        const number = (this.#asked += 1);
        const answer = await this.#api.getNotices({ after }).catch((error) => ({ error }));
        if (number !== this.#asked) return;
        if ('error' in answer) return this.#complain(words.noNotices(reason(answer.error)));
        take(answer.items.filter(({ what }) => what in words.notice));
        this.#next = answer.next;
        this.#read = true;
        this.#complain('');
        this.#show();
    }

    #show() {
        const news = this.#seen?.news(this.#list) ?? [];
        const open = $('notices').open;
        this.#count = open ? 0 : news.filter((notice) => !this.#isWaiting(notice)).length;
        if (open) {
            for (const { id } of news) this.#fresh.add(id);
            this.#seen?.add(this.#list);
            this.#meet();
            this.#readTexts();
        }
        this.#told = this.#count + this.#requests.count;
        this.#render();
    }

    /** Of a request that stands above the list. @param {Notice} notice */
    #isWaiting({ what, user }) {
        return what === 'request' && this.#requests.has(user);
    }

    /** Asks who the users of the list are. */
    #meet() {
        const api = this.#api;
        for (const user of new Set(this.#list.map((notice) => notice.user))) {
            if (this.#people.has(user)) continue;
            this.#people.set(user, { user, name: null });
            api?.getUser(user).then(
                (person) => {
                    if (api !== this.#api) return;
                    this.#people.set(user, person);
                    this.#render();
                },
                () => api === this.#api && this.#people.delete(user), // the next time, then
            );
        }
    }

    /** Asks what the notices of the list are about. */
    #readTexts() {
        const api = this.#api;
        for (const { id, post, comment } of this.#list) {
            if (post === null || this.#texts.has(id)) continue;
            this.#texts.set(id, '');
            const answer = comment === null ? api.getPost(post) : api.getComment(`post:${post}`, comment);
            answer
                .then(({ text }) => text ?? words.commentUnavailable, (error) => (error.status === 404 ? (comment === null ? words.postGone : words.commentGone) : null))
                .then((text) => {
                    if (api !== this.#api) return;
                    if (text === null) this.#texts.delete(id); // the next time, then
                    else this.#texts.set(id, text);
                    this.#render();
                });
        }
    }

    #render() {
        const list = this.#list.filter((notice) => !this.#isWaiting(notice));
        const more = this.#next !== null && this.#count === list.length ? '+' : '';
        const [all, requests] = [this.#told, this.#requests.count];
        setText($('notice-count'), all > 0 ? `${all}${more}` : '');
        setText($('notice-words'), requests > 0 ? words.afterRequests(requests) : all > 0 ? words.afterNewNotices : '');
        $('no-notices').hidden = list.length > 0 || requests > 0 || !this.#read;
        $('older-notices').hidden = this.#next === null;
        const listed = new Set(list.map(({ id }) => id));
        for (const [id, row] of this.#rows) {
            if (listed.has(id)) continue;
            row.element.remove();
            this.#rows.delete(id);
        }
        list.forEach((notice, index) => {
            let row = this.#rows.get(notice.id);
            if (!row) this.#rows.set(notice.id, (row = new Row(notice, () => this.#chosen(notice))));
            row.update(this.#people.get(notice.user) ?? { user: notice.user, name: null }, this.#fresh.has(notice.id), this.#texts.get(notice.id) ?? '', this.#now);
            const here = $('notice-list').children[index];
            if (here !== row.element) $('notice-list').insertBefore(row.element, here ?? null);
        });
    }

    /** @param {Notice} notice */
    #chosen(notice) {
        this.#leave(() => (notice.post === null ? this.#showPerson(notice.user) : this.#showComment(notice.post, notice.comment)));
    }

    #leave(to) {
        $('notices').open = false;
        to();
    }

    #complain(message) {
        setText($('notices-problem'), message);
        $('notices-problem').hidden = message === '' || !$('notices').open;
    }
}

/** A notice: a button that says what it is about, and leads there. */
class Row {
    element = document.createElement('li');
    #notice;
    #button = document.createElement('button');
    #avatar = part('avatar');
    #what = part('what');
    #new = part('sr');
    #ago = part('ago');
    #text = part('text');

    /** @param {Notice} notice @param {() => void} onClick */
    constructor(notice, onClick) {
        this.#notice = notice;
        Object.assign(this.element.dataset, { notice: notice.id, what: notice.what, user: notice.user });
        this.#avatar.setAttribute('aria-hidden', 'true');
        this.#avatar.style.setProperty('--hue', String(hueOf(notice.user)));
        this.#button.type = 'button';
        this.#button.className = 'friend';
        this.#button.addEventListener('click', onClick);
        const who = part('who');
        who.append(this.#what, this.#text, this.#ago);
        this.#button.append(this.#avatar, who, this.#new);
        this.element.append(this.#button);
    }

    update(person, fresh, text, now) {
        setText(this.#avatar, initials(person));
        setText(this.#what, words.notice[this.#notice.what](displayName(person)));
        setText(this.#text, plain(text));
        setText(this.#new, fresh ? words.isNew : '');
        this.element.classList.toggle('new', fresh);
        this.tick(now);
    }

    tick(now) {
        setText(this.#ago, ago(this.#notice.time, now));
    }
}

function part(name) {
    const span = document.createElement('span');
    span.className = name;
    return span;
}
