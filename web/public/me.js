// Who I am to others: my name and who sees me.

import { hueOf, initials } from './format.js';

export class Me {
    #api;
    #user;
    #problem;
    #profile = {};
    #sharing = document.getElementById('sharing');
    #name = document.getElementById('name');

    /**
     * @param {import('./api.js').Api} api
     * @param {string} user
     * @param {(message: string) => void} problem told what a person should know
     */
    constructor(api, user, problem) {
        this.#api = api;
        this.#user = user;
        this.#problem = problem;
        this.#name.value = '';
        this.#showName();
        this.#showMode(null);
    }

    /** 'off', 'friends', 'public', or null: the server has not said. */
    get mode() {
        return this.#sharing.dataset.mode ?? null;
    }

    /** Reads both from the server. What it does not know yet stays blank. */
    async load() {
        const [profile, sharing] = await Promise.allSettled([this.#api.profile(), this.#api.sharing()]);
        if (profile.status === 'fulfilled') {
            this.#profile = profile.value;
            this.#name.value = profile.value.name ?? '';
            this.#showName();
        }
        if (sharing.status === 'fulfilled') this.#showMode(sharing.value.mode ?? null);
    }

    async saveName() {
        const name = this.#name.value.trim();
        if (name === '' || name === this.#profile.name) return;
        try {
            const avatar = this.#profile.avatar_url;
            await this.#api.saveProfile({ name, ...(avatar && { avatar_url: avatar }) });
            this.#profile = { ...this.#profile, name };
            this.#showName();
        } catch (error) {
            this.#problem(`Your name was not saved. ${error.message}`);
        }
    }

    /** @param {'off' | 'friends' | 'public'} mode */
    async share(mode) {
        const before = this.mode;
        this.#showMode(mode);
        try {
            await this.#api.share(mode);
        } catch (error) {
            this.#showMode(before);
            this.#problem(`Who sees you was not changed. ${error.message}`);
        }
    }

    #showName() {
        const person = { name: this.#profile.name || null, user: this.#user };
        const avatar = document.querySelector('#me .avatar');
        avatar.textContent = initials(person);
        avatar.style.setProperty('--hue', String(hueOf(this.#user)));
        document.getElementById('my-name').textContent = person.name ?? `User ${person.user}`;
    }

    #showMode(mode) {
        if (mode === null) delete this.#sharing.dataset.mode;
        else this.#sharing.dataset.mode = mode;
        for (const input of this.#sharing.querySelectorAll('input')) input.checked = input.value === mode;
    }
}
