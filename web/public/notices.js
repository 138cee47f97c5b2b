// Notices: a button with the number of unread ones, which the connection tells, and the list behind it, with those on top who ask to follow
// me. Opening it reads the list and marks it as read, on all devices. The list changes when it is opened, and not under the reader's finger.

import { setText } from './dom.js';
import { FollowRequests } from './follow-requests.js';
import { displayName, hueOf, initials, plain } from './format.js';
import { Announcer } from './status.js';
import { ago, reason, words } from './words.js';

const NAMED = 2; // of many users

const $ = (id) => document.getElementById(id);

/** @typedef {import('../client/index.js').Notice} Notice */

export class Notices {
    #showPerson;
    #showComment;
    #announcer = new Announcer($('notices-announce'));
    #tabs = new BroadcastChannel('starling.notices'); // only the newest tab of a user is connected
    #api = null;
    #user = null;
    /** Newest first. @type {Notice[]} */
    #list = [];
    #next = null;
    #read = false;
    #asked = 0; // pages so far: the answer to an earlier question than the last one is dropped
    #unread = 0;
    #fresh = 0; // so many of the list were unread when it was opened
    #requests;
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
        this.#requests = new FollowRequests((user) => this.#leave(() => showPerson(user)), () => this.#render());
        this.#tabs.onmessage = ({ data: { user, unread } }) => user === this.#user && this.#count(unread);
        $('notices').addEventListener('toggle', () => this.#toggled());
        $('older-notices').addEventListener('click', () => this.#older());
    }

    /** @param {import('./api.js').Api} api @param {import('../client/index.js').StarlingClient} client @param {string} user */
    signIn(api, client, user) {
        this.signOut();
        this.#api = api;
        this.#user = user;
        this.#requests.signIn(api);
        client.watchNotices().on('change', ({ unread, items, first }) => api === this.#api && this.#heard(unread, items.length > 0, first));
    }

    signOut() {
        this.#api = this.#user = this.#next = null;
        this.#read = false;
        this.#asked += 1;
        this.#list = [];
        this.#fresh = 0;
        this.#requests.signIn(null);
        this.#people.clear();
        this.#texts.clear();
        $('notices').open = false;
        this.#complain('');
        this.#count(0);
    }

    /** Time goes by. @param {number} now the server's time */
    tick(now) {
        this.#now = now;
        for (const row of this.#rows.values()) row.tick(now);
    }

    #toggled() {
        this.#fresh = 0;
        this.#complain('');
        if (!$('notices').open || !this.#api) return this.#render();
        this.#requests.read();
        this.#open();
    }

    /** @param {number} unread @param {boolean} isNew something that I want to be told at once @param {boolean} first it was there before */
    #heard(unread, isNew, first) {
        this.#tell(unread);
        if (!isNew || unread === 0) return;
        this.#announcer.gather(() => words.newNotices(this.#unread));
        if (!first) $('notices').querySelector('svg').animate(RINGING, matchMedia('(prefers-reduced-motion: reduce)').matches ? 0 : 600);
    }

    /** The server has said so: the other tabs hear it, too. @param {number} unread */
    #tell(unread) {
        this.#count(unread);
        this.#tabs.postMessage({ user: this.#user, unread });
    }

    #count(unread) {
        this.#unread = unread;
        this.#render();
    }

    /** The newest page is read now. */
    async #open() {
        const api = this.#api;
        const page = await this.#ask(null, (items) => (this.#list = items));
        if (!page) return;
        this.#fresh = page.unread;
        this.#tell(page.unread);
        if (page.unread === 0 || page.items.length === 0) return;
        const unread = await api.markNoticesRead(page.items[0].id).catch(() => null); // else they are unread the next time, too
        if (unread !== null && api === this.#api) this.#tell(unread);
    }

    async #older() {
        const before = this.#rows.size;
        await this.#ask(this.#next, (items) => (this.#list = [...this.#list, ...items]));
        if (this.#rows.size > before) $('notice-list').children[before].querySelector('button').focus();
    }

    /** @param {string | null} after @param {(items: Notice[]) => void} take @returns the page, unless it is of no use */
    async #ask(after, take) {
        const number = (this.#asked += 1);
        const answer = await this.#api.getNotices({ after }).catch((error) => ({ error }));
        if (number !== this.#asked || !$('notices').open) return null;
        if ('error' in answer) return this.#complain(words.noNotices(reason(answer.error)));
        take(answer.items.filter(({ what }) => what in words.notice).map((notice) => ({ ...notice, mine: notice.user === this.#user })));
        this.#next = answer.next;
        this.#read = true;
        this.#complain('');
        this.#meet();
        this.#readTexts();
        this.#render();
        return answer;
    }

    /** Asks who the users of the list are. */
    async #meet() {
        const api = this.#api;
        const strangers = [...new Set(this.#list.flatMap(named))].filter((user) => !this.#people.has(user));
        if (strangers.length === 0) return;
        for (const user of strangers) this.#people.set(user, { user, name: null });
        const people = await api.getUsers(strangers).catch(() => null);
        if (api !== this.#api) return;
        if (people === null) for (const user of strangers) this.#people.delete(user); // the next time, then
        else for (const person of people) this.#people.set(person.user, person);
        this.#render();
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
        setText($('notice-count'), this.#unread > 0 ? String(this.#unread) : '');
        setText($('notice-words'), this.#unread > 0 ? words.afterNewNotices : '');
        const list = this.#list.filter(({ what }) => what !== 'request' || !this.#requests.complete); // they stand above
        $('no-notices').hidden = list.length > 0 || this.#requests.count > 0 || !this.#read;
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
            const people = named(notice).map((user) => this.#people.get(user) ?? { user, name: null });
            row.update(people, this.#list.indexOf(notice) < this.#fresh, this.#texts.get(notice.id) ?? '', this.#now);
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
        $('notices-problem').hidden = message === '';
        return null;
    }
}

const RINGING = { rotate: ['0deg', '18deg', '-16deg', '10deg', '-6deg', '0deg'] };

/** @param {Notice} notice */
const named = ({ users }) => users.slice(0, NAMED);

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

    update(people, fresh, text, now) {
        setText(this.#avatar, initials(people[0]));
        setText(this.#what, words.notice[this.#notice.what](words.among(people.map(displayName), this.#notice.count), this.#notice));
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
