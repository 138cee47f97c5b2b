// My friends: who they are, who asks, whom I have asked and blocked; finding somebody, and an invitation as a link.

import { make, setText } from './dom.js';
import { Finder } from './finder.js';
import { displayName, hueOf, initials, parseHandle, parseUser } from './format.js';
import { t } from './texts.js';
import { ago, reason, words } from './words.js';

const PAGE = 1000;
const EVERY_MS = 60_000;
const AGAIN_MS = 1500; // what was asked for is decided by then

const $ = (id) => document.getElementById(id);
/** In the order of the panel. */
const STATES = ['invited', 'friends', 'requested', 'blocked'];
const ACTS = {
    invited: [['accept', 'acceptPerson', 'befriend'], ['refuse', 'refusePerson', 'part']],
    friends: [],
    requested: [['takeBack', 'takeBackPerson', 'part']],
    blocked: [['unblock', 'unblockPerson', 'unblock']],
};
const METHODS = { befriend: 'addFriend', part: 'removeFriend', block: 'block', unblock: 'unblock', round: 'roundFor', exact: 'exactFor' };

/** @typedef {{user: string, name: string | null, handle?: string, state: 'invited' | 'friends' | 'requested' | 'blocked', since: number | null, rounded: boolean}} Friendship */

export class Friends {
    #api = null;
    #me = '';
    #handle;
    #show;
    #asked = 0; // only the answer to the newest question counts
    #dueAt = 0;
    #now = Date.now();
    /** @type {Friendship[]} */
    #list = [];
    #told = () => {};
    #finder;

    /**
     * @param {{show: (person: any) => void, handle: () => string, known: () => Iterable<any>}} parts show: opens somebody's card;
     *        handle: mine, or ''; known: who can be found by name
     */
    constructor({ show, handle, known }) {
        this.#show = show;
        this.#finder = new Finder($('friend'), $('friend-found'), known, show);
        this.#handle = handle;
        $('friends').addEventListener('toggle', () => $('friends').open && this.read());
        $('friend-form').addEventListener('submit', (event) => {
            event.preventDefault();
            this.find($('friend').value);
        });
        $('invite').addEventListener('click', () => this.#invite());
    }

    /** @param {import('./api.js').Api} api @param {string} user */
    signIn(api, user) {
        this.signOut();
        this.#api = api;
        this.#me = user;
        this.read();
    }

    signOut() {
        this.#api = null;
        this.#asked += 1;
        this.#list = [];
        $('friends').open = false;
        this.#finder.clear();
        this.#complain('');
        this.#render();
    }

    /** Time goes by. @param {number} now the server's time */
    tick(now) {
        this.#now = now;
        if (this.#api && performance.now() >= this.#dueAt) this.read();
    }

    /** Told whenever the list has been read anew. @param {() => void} told */
    onChange(told) {
        this.#told = told;
    }

    /** What there is between us; undefined: nothing, as far as is known. @param {string} user @returns {Friendship | undefined} */
    of(user) {
        return this.#list.find((one) => one.user === user);
    }

    async read() {
        const api = this.#api;
        const asked = (this.#asked += 1);
        this.#dueAt = performance.now() + EVERY_MS;
        try {
            const all = [];
            for (let after = null; ; ) {
                const { items, next } = await api.getFriends({ state: 'all', limit: PAGE, after });
                if (asked !== this.#asked) return;
                all.push(...items);
                if (next === null) break;
                after = next;
            }
            this.#complain('');
            if (JSON.stringify(all) === JSON.stringify(this.#list)) return; // what has the focus stays
            this.#list = all;
        } catch (error) {
            if (asked !== this.#asked) return;
            this.#complain(t('noFriendsRead', { why: reason(error) }));
        }
        this.#render();
        this.#told();
    }

    get list() {
        return this.#list;
    }

    /** Opens the card of somebody. @param {string} text a number, a handle, or how a name begins */
    async find(text) {
        const api = this.#api;
        const [user, handle] = [parseUser(text), parseHandle(text)];
        const known = user === null && $('friend').value === text ? this.#finder.first : undefined;
        if (known) return this.#show(known);
        if (user === null && handle === null) return this.#complain(words.noPerson);
        this.#complain('');
        try {
            const person = await (user === null ? api.getUserByHandle(handle) : api.getUser(user));
            if (api === this.#api) this.#show(person);
        } catch (error) {
            if (api !== this.#api) return;
            this.#complain(error.status === 404 && handle !== null ? words.nobody(handle) : words.personUnknown(reason(error)));
        }
    }

    /** befriend, part, block, unblock, round, exact. @param {string} act @param {string} user */
    async act(act, user) {
        const api = this.#api;
        await api[METHODS[act]](user);
        if (api !== this.#api) return;
        await this.read();
        this.#dueAt = performance.now() + AGAIN_MS; // a command may be decided a moment later
    }

    /** The link by which somebody finds me. */
    get link() {
        const handle = this.#handle();
        return `${location.origin}${location.pathname}#friend=${handle ? `@${handle}` : this.#me}`;
    }

    async #invite() {
        await shareLink(t('inviteText'), this.link, $('invite-note'));
    }

    #render() {
        const invited = this.#list.filter(({ state }) => state === 'invited').length;
        setText($('friend-count'), invited > 0 ? String(invited) : '');
        setText($('friend-words'), invited > 0 ? t('newInvitations', { count: invited }) : '');
        $('no-friends').hidden = this.#list.length > 0;
        const focused = document.activeElement;
        const place = $('friend-lists').contains(focused) ? [focused.closest('li')?.dataset.user, focused.dataset.act] : null;
        $('friend-lists').replaceChildren(...STATES.flatMap((state) => this.#section(state)));
        if (place) this.#refocus(place);
    }

    /** The list was made anew: the same button, or the next best thing. */
    #refocus([user, act]) {
        const row = $('friend-lists').querySelector(`[data-user="${user}"]`);
        (row?.querySelector(`[data-act="${act}"]`) ?? row?.querySelector('button') ?? $('friend')).focus();
    }

    #section(state) {
        const members = this.#list.filter((one) => one.state === state);
        if (members.length === 0) return [];
        const title = make('h3');
        title.id = `friends-${state}`;
        title.textContent = t(TITLES[state]);
        const list = make('ol');
        list.id = `people-${state}`;
        list.dataset.state = state;
        list.setAttribute('aria-labelledby', title.id);
        list.append(...members.map((one) => this.#row(one)));
        return [title, list];
    }

    #row(one) {
        const [row, open, avatar, who, name, since] = [make('li'), make('button', 'friend'), make('span', 'avatar'), make('span', 'who'), make('span', 'name'), make('span', 'ago')];
        row.dataset.user = one.user;
        open.type = 'button';
        open.dataset.act = 'open';
        avatar.setAttribute('aria-hidden', 'true');
        avatar.style.setProperty('--hue', String(hueOf(one.user)));
        avatar.textContent = initials(one);
        name.textContent = displayName(one);
        since.textContent = sinceOf(one, this.#now);
        who.append(name, since);
        open.append(avatar, who);
        open.addEventListener('click', () => this.#show(one));
        const acts = ACTS[one.state].map(([label, called, act], index) => {
            const button = make('button', index === 0 && one.state === 'invited' ? 'primary' : '');
            Object.assign(button, { type: 'button', textContent: t(label) });
            button.dataset.act = act;
            button.setAttribute('aria-label', t(called, { name: displayName(one) }));
            button.addEventListener('click', () => this.#press(button, act, one));
            return button;
        });
        row.append(open, ...acts);
        return row;
    }

    async #press(button, act, { user }) {
        button.disabled = true;
        try {
            await this.act(act, user);
        } catch (error) {
            this.#complain(t('friendNotChanged', { why: reason(error) }));
            button.disabled = false;
        }
    }

    #complain(message) {
        setText($('friends-problem'), message);
        $('friends-problem').hidden = message === '' || !$('friends').open;
    }
}

const TITLES = { invited: 'invitations', friends: 'myFriends', requested: 'requests', blocked: 'blockedPeople' };

/** Since when there is what there is between us, in words; '' where that is not kept. @param {Friendship} one @param {number} now */
export function sinceOf({ state, since }, now) {
    if (!since) return '';
    return t(state === 'friends' ? 'friendsSince' : 'sinceTime', { time: ago(since, now) });
}

/**
 * Hands a link, and the words that go before it, to what the device shares by; else copies both, ready for a message.
 * @param {string} text @param {string} url @param {HTMLElement} note
 */
export async function shareLink(text, url, note) {
    note.hidden = false;
    try {
        if (navigator.share) await navigator.share({ text, url });
        else await navigator.clipboard.writeText(`${text} ${url}`);
        setText(note, navigator.share ? '' : t('linkCopied'));
    } catch {
        setText(note, url); // to be copied by hand
    }
}
