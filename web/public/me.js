// My profile, my handle, and who sees me and my posts.

import { displayName, hueOf, initials, parseHandle } from './format.js';
import { locale, t } from './texts.js';
import { reason, words } from './words.js';

const LONGEST_TIMER_MS = 2 ** 31 - 1; // what setTimeout can do

export class Me {
    #api;
    #user;
    #problem;
    #ended;
    #postsAreFor;
    #profile = {};
    #sharing = document.getElementById('sharing');
    #visibility = document.getElementById('visibility');
    #wishes = 0; // who is to see my posts: only the answer to the newest one counts
    /** What others see of me, by the names of the profile's members. */
    #fields = Object.fromEntries(['name', 'bio', 'url'].map((name) => [name, document.getElementById(name)]));
    #handle = document.getElementById('handle');
    #hasHandle = false;
    #until = null;
    #details = false;
    #told = document.getElementById('tell-details');
    #untilTimer = null;

    /**
     * @param {import('./api.js').Api} api
     * @param {string} user
     * @param {(message: string) => void} problem told what a person should know
     * @param {() => void} ended called when my sharing has ended by itself
     * @param {(posts: import('../client/index.js').Visibility) => void} postsAreFor told who sees my posts, as the server says
     */
    constructor(api, user, problem, ended, postsAreFor) {
        this.#api = api;
        this.#user = user;
        this.#problem = problem;
        this.#ended = ended;
        this.#postsAreFor = postsAreFor;
        this.#showVisibility(null);
        this.#showProfile({});
        this.#showHandle('');
        this.#showMode(null);
    }

    /** 'off', 'friends', 'public', or null: the server has not said. */
    get mode() {
        return this.#sharing.dataset.mode ?? null;
    }

    /** When my sharing ends by itself, ms; null: it has no end. */
    get until() {
        return this.#until;
    }

    /** Nothing comes of it any more by itself. */
    forget() {
        clearTimeout(this.#untilTimer);
        this.#ended = () => {};
        this.#postsAreFor = () => {};
    }

    /** Reads all from the server. Fields that it does not know yet stay blank. */
    async load() {
        const wishes = this.#wishes;
        const asked = [this.#api.profile(), this.#api.sharing(), this.#api.getUser(this.#user), this.#api.getVisibility()];
        const [profile, sharing, shown, visibility] = await Promise.allSettled(asked);
        if (profile.status === 'fulfilled') this.#showProfile(profile.value);
        if (shown.status === 'fulfilled') this.#showHandle(shown.value.handle ?? '');
        if (sharing.status === 'fulfilled') this.#showSharing(sharing.value);
        if (visibility.status === 'fulfilled' && wishes === this.#wishes) this.#hearVisibility(visibility.value);
    }

    async saveProfile() {
        const typed = Object.entries(this.#fields).map(([name, { value }]) => [name, value.trim()]);
        const { name, bio, url } = Object.fromEntries(typed);
        if (name === '' || typed.every(([member, text]) => text === (this.#profile[member] ?? ''))) return;
        try {
            const avatar = this.#profile.avatar_url;
            await this.#api.saveProfile({ name, ...(avatar && { avatar_url: avatar }), ...(bio && { bio }), ...(url && { url }) });
            this.#showProfile({ ...this.#profile, name, bio, url });
            this.#problem('');
        } catch (error) {
            this.#problem(t('profileNotSaved', { why: reason(error) }));
        }
    }

    /** Empty: I have none any more. */
    async saveHandle() {
        const typed = this.#handle.value.trim();
        const handle = parseHandle(`@${typed.replace(/^@/, '')}`);
        if (typed !== '' && handle === null) return this.#problem(words.noHandle);
        if (typed === '' && !this.#hasHandle) return;
        try {
            if (typed !== '') this.#showHandle(await this.#api.setHandle(handle));
            else await this.#api.dropHandle().then(() => this.#showHandle(''));
            this.#problem('');
        } catch (error) {
            this.#problem(error.code === 'handle_taken' ? words.handleTaken(handle) : words.handleNotSaved(reason(error)));
        }
    }

    /** @param {'off' | 'friends' | 'public'} mode @param {number | null} until ms; null: without end @param {boolean} [details] told to friends */
    async share(mode, until, details = this.#told.checked) {
        const before = [this.mode, this.#until, this.#details];
        this.#showMode(mode, until, details);
        try {
            this.#showSharing(await this.#api.share(mode, until, details));
        } catch (error) {
            this.#showMode(...before);
            this.#problem(t('sharingNotChanged', { why: reason(error) }));
        }
    }

    /** @param {import('../client/index.js').Visibility} posts who is to see my posts */
    async showPosts(posts) {
        const before = this.#visibility.dataset.posts ?? null;
        const wish = (this.#wishes += 1);
        this.#showVisibility(posts);
        try {
            const now = await this.#api.setVisibility(posts);
            if (wish === this.#wishes) this.#hearVisibility(now);
        } catch (error) {
            if (wish === this.#wishes) this.#showVisibility(before);
            this.#problem(t('visibilityNotChanged', { why: reason(error) }));
        }
    }

    #hearVisibility(posts) {
        this.#showVisibility(posts);
        this.#postsAreFor(posts);
    }

    #showVisibility(posts) {
        if (posts === null) delete this.#visibility.dataset.posts;
        else this.#visibility.dataset.posts = posts;
        for (const input of this.#visibility.querySelectorAll('input')) input.checked = input.value === posts;
        const note = document.getElementById('visibility-note');
        note.textContent = posts === null ? '' : words.postsAreFor[posts];
        note.hidden = posts === null;
    }

    #showProfile(profile) {
        this.#profile = profile;
        for (const [name, field] of Object.entries(this.#fields)) field.value = profile[name] ?? '';
        const person = { name: this.#profile.name || null, user: this.#user };
        const avatar = document.querySelector('#me .avatar');
        avatar.textContent = initials(person);
        avatar.style.setProperty('--hue', String(hueOf(this.#user)));
        document.getElementById('my-name').textContent = displayName(person);
    }

    #showHandle(handle) {
        this.#hasHandle = handle !== '';
        this.#handle.value = handle;
    }

    #showSharing({ mode, until, details }) {
        this.#showMode(mode ?? null, until ?? null, details === true);
    }

    #showMode(mode, until = null, details = false) {
        this.#details = details;
        this.#told.checked = details;
        if (mode === null) delete this.#sharing.dataset.mode;
        else this.#sharing.dataset.mode = mode;
        for (const input of this.#sharing.querySelectorAll('[name="sharing"]')) input.checked = input.value === mode;
        for (const choice of [this.#told, document.getElementById('until')]) choice.disabled = mode === null || mode === 'off';
        this.#showUntil(until);
    }

    #showUntil(until) {
        this.#until = until;
        clearTimeout(this.#untilTimer);
        const at = until === null ? '' : new Date(until).toLocaleTimeString(locale, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
        document.getElementById('ends').textContent = at && t('untilTime', { time: at });
        // The server ends it, by its clock.
        if (until !== null) this.#untilTimer = setTimeout(() => this.load().then(() => this.#ended()), Math.min(Math.max(until - Date.now() + 500, 1000), LONGEST_TIMER_MS));
    }
}
