// Who asks to follow me: the first thing behind the bell as long as somebody does.

import { UserList } from './user-list.js';

const PAGE = 20;
/** @type {(api: import('./api.js').Api) => import('./user-list.js').UserAct[]} */
const ACTS = (api) => [
    { label: 'accept', name: 'acceptPerson', act: 'accept', primary: true, run: (user) => api.acceptFollower(user) },
    { label: 'refuse', name: 'refusePerson', act: 'refuse', run: (user) => api.removeFollower(user) },
];

const $ = (id) => document.getElementById(id);

export class FollowRequests {
    #list;
    #api = null;

    /** @param {(user: string) => void} show @param {() => void} changed */
    constructor(show, changed) {
        this.#list = new UserList({
            list: $('request-list'),
            more: $('more-requests'),
            problem: $('requests-problem'),
            choose: ({ user }) => show(user),
            changed: () => {
                $('requests').hidden = this.count === 0;
                changed();
            },
            leave: () => $('notices').querySelector('summary').focus(),
        });
    }

    /** @param {import('./api.js').Api | null} api null: signed out */
    signIn(api) {
        this.#api = api;
        this.#list.open(null);
    }

    read() {
        const api = this.#api;
        if (this.complete) this.#list.again();
        else this.#list.open((query) => api.getFollowRequests({ ...query, limit: PAGE }), ACTS(api));
    }

    get count() {
        return this.#list.total;
    }

    /** Something was read. */
    get complete() {
        return this.#list.complete;
    }
}
