// Somebody's page, in the place of the timeline: who it is, whether I follow, what they have posted, and who follows whom. Mine, too.

import { followOf } from '../api.js';
import { FollowButton } from '../follow-button.js';
import { askForCard, setText } from '../dom.js';
import { displayName, hueOf, initials } from '../format.js';
import { UserList } from '../user-list.js';
import { words } from '../words.js';
import { ReadPosts } from './read-posts.js';
import { showText } from './said.js';

const PAGE = 50; // of people
const SEEN_MS = 2000; // after a change, until everybody sees what they may, and nothing else

const $ = (id) => document.getElementById(id);
/** What the page may list. */
const LISTS = { posts: null, followers: 'getFollowers', following: 'getFollowing', mutual: 'getMutualFriends', known: 'getKnownFollowers' };

export class PersonPage {
    #api = null;
    #me = '';
    #changed;
    #person = null;
    /** Somebody else's. @type {ReadPosts | null} */
    #posts = null;
    #shows = 'posts';
    /** What is said of those whom both of us know; nothing: there are none, or they are not read yet. */
    #said = { mutual: '', known: '' };
    #mineForFollowers = false;
    #button;
    #people;

    /**
     * @param {{follow: (person: any, wanted: boolean, before: any) => Promise<void>, show: (user: string) => void, close: () => void,
     *          changed: () => void}} parts show: somebody else's page
     */
    constructor({ follow, show, close, changed }) {
        this.#changed = changed;
        this.#button = new FollowButton($('follow'), follow, (message) => this.#complain(message));
        this.#people = new UserList({
            list: $('person-people'),
            more: $('more-people'),
            problem: $('people-problem'),
            choose: ({ user }) => show(user),
            changed: () => this.render(),
            leave: () => $('person-followers').focus(),
        });
        for (const list of Object.keys(LISTS)) $(`person-${list}`).addEventListener('click', () => this.#list(list));
        $('person-name').addEventListener('click', () => askForCard($('person-name'), this.#person));
        $('person-close').addEventListener('click', close);
        document.addEventListener('followed', ({ detail }) => detail.user === this.#person?.user && this.#followed());
    }

    /** @param {import('../api.js').Api | null} api null: signed out @param {string} user */
    signIn(api, user) {
        this.#api = api;
        this.#me = user;
        this.#mineForFollowers = false;
        this.show(null);
    }

    /** Who it is; null: nobody. @param {import('../../client/index.js').User | null} person */
    show(person) {
        const api = this.#api;
        this.#person = person;
        const other = person !== null && person.user !== this.#me;
        this.#button.show(person, other ? followOf(person) : null);
        this.#posts = other ? new ReadPosts((query) => api.getPosts(person.user, query), () => this.#changed()) : null;
        this.#complain('');
        this.#said = { mutual: '', known: '' };
        this.#list('posts');
        if (!other) return;
        this.#find(person, 'mutual', ({ items, total }) => words.mutualFriends(items, total));
        this.#find(person, 'known', ({ items }) => words.followedBy(items));
    }

    async #find(person, list, say) {
        const page = await this.#api[LISTS[list]](person.user).catch(() => ({ items: [] })); // the person's page is whole without them
        if (person !== this.#person || page.items.length === 0) return;
        this.#said[list] = say(page);
        this.render();
    }

    /** Of somebody else, as far as they are read. */
    get posts() {
        return this.#posts;
    }

    /** Posts are listed, and not people. */
    get showsPosts() {
        return this.#person === null || this.#shows === 'posts';
    }

    /** @param {'everybody' | 'followers'} posts who sees mine */
    mineAreFor(posts) {
        this.#mineForFollowers = posts === 'followers';
        this.render();
    }

    /** The posts that are seen may have changed with that. */
    #followed() {
        const posts = this.#posts;
        this.render();
        setTimeout(() => posts === this.#posts && posts?.again().catch(() => {}), SEEN_MS); // else it stays as it was
    }

    /** @param {keyof typeof LISTS} list */
    #list(list) {
        const api = this.#api;
        const { user } = this.#person ?? {};
        const [read, mine] = [LISTS[list], user === this.#me];
        this.#shows = list;
        const acts = mine && list === 'followers'
            ? [{ label: 'removeFollower', name: 'removeFollowerPerson', act: 'remove', careful: true, run: (who) => api.removeFollower(who) }]
            : [];
        this.#people.open(read === null ? null : (query) => api[read](user, { ...query, limit: PAGE }), acts);
        this.#changed();
    }

    render() {
        const person = this.#person;
        $('person-page').hidden = person === null;
        if (person === null) return;
        const mine = person.user === this.#me;
        const card = $('person-card');
        const avatar = card.querySelector('.avatar');
        card.dataset.user = person.user;
        avatar.style.setProperty('--hue', String(hueOf(person.user)));
        setText(avatar, initials(person));
        setText($('person-name'), displayName(person));
        $('person-close').hidden = mine; // what else there is stands above
        setText(card.querySelector('.ago'), [mine ? words.myself : '', person.handle ? `@${person.handle}` : ''].filter(Boolean).join(' '));
        for (const name of ['bio', 'url']) showText($('person-page').querySelector(`.${name}`), person[name] ?? '');
        const closed = this.#posts?.closed === true;
        const locked = closed || this.#button.state === 'requested' || (mine && this.#mineForFollowers);
        $('person-lock').toggleAttribute('hidden', !locked);
        const counts = this.#people.complete ? { ...person, [this.#shows]: this.#people.total } : person;
        for (const list of Object.keys(LISTS)) {
            const said = this.#said[list];
            setText($(`person-${list}`), said ?? words.listOf[list](counts));
            $(`person-${list}`).hidden = said === '';
            $(`person-${list}`).setAttribute('aria-pressed', String(list === this.#shows));
        }
        $('person-people').setAttribute('aria-label', this.#said[this.#shows] ?? words.listOf[this.#shows]({}));
        setText($('person-closed').querySelector('.text'), words.onlyFollowersSee(person));
        $('person-closed').hidden = !closed || this.#shows !== 'posts';
        setText($('no-people'), words.noneOf[this.#shows] ?? '');
        $('no-people').hidden = this.#shows === 'posts' || !this.#people.complete || this.#people.total > 0;
    }

    #complain(message) {
        setText($('follow-problem'), message);
        $('follow-problem').hidden = message === '';
    }
}
