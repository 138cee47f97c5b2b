// The feed beside the map: my home timeline, that of a day, my own posts and somebody else's, and what can be done with them.

import { compareIds } from '../../client/index.js';
import { reveal, setText } from '../dom.js';
import { tellFollowed } from '../follow-button.js';
import { Announcer } from '../status.js';
import { reason, words } from '../words.js';
import { Articles } from './articles.js';
import { Compose } from './compose.js';
import { Held } from './held.js';
import { People } from './people.js';
import { PersonPage } from './person.js';
import { ReadPosts } from './read-posts.js';
import { Threads } from './threads.js';

const $ = (id) => document.getElementById(id);
const GONE = {}; // in the place of a post that is deleted
const EDITS = 100; // all of a text
const AHEAD = '600px'; // older posts are asked for before the reader is there

export class FeedView {
    #api = null;
    #live = null;
    #mine = null;
    #day = null; // the posts of a day
    #serverNow = () => Date.now();
    #askForToken;
    #told;
    #held = new Held();
    #announcer = new Announcer($('feed-announce'));
    #compose = new Compose((post) => this.#post(post));
    #people;
    #person = new PersonPage({
        follow: (person, wanted, before) => this.follow(person, wanted, before),
        show: (user) => this.#people.look(user),
        close: () => this.#leavePerson(),
        changed: () => this.#render(),
    });
    #showing = 'home';
    #scrolled = { home: 0, mine: 0, day: 0, person: 0 };
    #loading = false;
    #stuck = ''; // why older posts did not come; only a click tries again
    #end = new IntersectionObserver((seen) => seen.at(-1).isIntersecting && this.#older(false), {
        root: $('feed-scroll'),
        rootMargin: AHEAD,
    });
    #threads = new Threads();
    #linked = null; // the post to which a notice led
    #articles = {
        home: new Articles($('home'), (post) => this.#actOf(post), (id) => this.#editsOf(id), this.#threads),
        mine: new Articles($('mine'), (post) => this.#actOf(post), (id) => this.#editsOf(id), this.#threads),
        day: new Articles($('of-day'), (post) => this.#actOf(post), (id) => this.#editsOf(id), this.#threads),
        person: new Articles($('of-person'), () => null, (id) => this.#editsOf(id), this.#threads),
        linked: new Articles($('linked-post'), () => null, (id) => this.#editsOf(id), this.#threads),
    };
    #me = '';
    #made = []; // my posts of this visit, newest first: they stand in my timeline, too

    /**
     * @param {{askForToken: () => void, told: (news: number) => void, known: () => Iterable<any>}} parts told: how many new posts wait;
     *        known: who can be found by name
     */
    constructor({ askForToken, told, known }) {
        this.#people = new People((person) => this.#openPerson(person), known);
        this.#askForToken = askForToken;
        this.#told = told;
        $('show-home').addEventListener('click', () => this.#choose('home'));
        $('show-mine').addEventListener('click', () => this.#openMine());
        $('day').addEventListener('change', () => this.#chooseDay($('day').value));
        $('news').addEventListener('click', () => this.#release());
        $('older').addEventListener('click', () => this.#older(true));
        $('feed-retry').addEventListener('click', () => this.#retry());
        $('feed-undo').addEventListener('click', () => this.#undo());
        $('linked-close').addEventListener('click', () => {
            this.#link(null);
            $('show-home').focus();
        });
    }

    /**
     * @param {import('../api.js').Api} api
     * @param {import('../../client/index.js').StarlingClient} client
     * @param {string} user
     */
    signIn(api, client, user) {
        this.signOut();
        this.#api = api;
        this.#me = user;
        this.#serverNow = () => client.serverNow();
        this.#threads.signIn(api, client, user, this.#serverNow);
        this.#mine = new ReadPosts((query) => api.getPosts(user, query), () => this.#render());
        this.#live = client.watchFeed(api);
        this.#live.on('change', () => this.#changed());
        this.#live.on('error', (error) => this.#failed(error));
        this.#compose.signIn(user);
        this.#people.signIn(api, user);
        this.#person.signIn(api, user);
        this.#choose('home');
    }

    /** A newer token of the same user is in the api. */
    renewed() {
        this.#live?.refresh();
    }

    signOut() {
        this.#live?.close();
        this.#live = this.#mine = this.#day = this.#api = null;
        this.#linked = null;
        this.#made = [];
        this.#held = new Held();
        this.#scrolled = { home: 0, mine: 0, day: 0, person: 0 };
        this.#showing = 'home';
        this.#stuck = '';
        this.#note('');
        this.#compose.signIn('');
        this.#people.signIn(null, '');
        this.#person.signIn(null, '');
        this.#render();
    }

    /** Signed out by hand: the draft goes, too. */
    forget() {
        this.signOut();
        this.#compose.signOut();
        this.#threads.forget();
    }

    /** Somebody's page, and the focus on whether I follow. @param {string} user */
    showPerson(user) {
        return this.#people.look(user);
    }

    /** @param {'everybody' | 'followers'} posts who sees mine */
    mineAreFor(posts) {
        this.#compose.isFor(posts);
        this.#person.mineAreFor(posts);
    }

    /** A post, and a comment below it with those around it. @param {string} post @param {string | null} comment */
    async showComment(post, comment) {
        const api = this.#api;
        const answer = await api.getPost(post).catch((error) => ({ error }));
        if (api !== this.#api) return;
        const { error } = answer;
        if (error && error.status !== 404) return this.#note(reason(error));
        if (this.#showing === 'person') this.#choose('home');
        this.#note('');
        this.#link(null); // the same post once more begins anew
        this.#link(error ? GONE : answer);
        reveal($('linked'));
        if (error) return $('linked-close').focus();
        this.#articles.linked.focus(0);
        if (comment !== null) await this.#articles.linked.openThread(post, comment);
    }

    /** Whom I follow, as far as they are known here. */
    get followed() {
        return [...(this.#live?.list ?? []).filter(({ unavailable }) => !unavailable), ...this.#people.followed];
    }

    /** Time goes by. */
    tick() {
        if (!this.#live) return;
        this.#articles[this.#showing].tick(this.#serverNow());
        this.#articles.linked.tick(this.#serverNow());
        this.#threads.tick();
        this.#showFailure();
    }

    // ---- what is done ---------------------------------------------------------------------------------------------

    async #post(draft) {
        const mine = this.#mine;
        const post = await this.#api.createPost(draft);
        if (mine !== this.#mine) return;
        if (post.state === 'held') {
            this.#note(words.postHeld);
            return;
        }
        this.#made = [post, ...this.#made.filter(({ id }) => id !== post.id)];
        mine.add(post);
        this.#note(words.posted);
    }

    #actOf({ user }) {
        if (user === this.#me) {
            const edit = (post, text) => this.#edit(post, text);
            return { label: words.remove, name: words.removePost, ask: words.reallyRemove, run: (post) => this.#remove(post), edit };
        }
        return { label: words.unfollow, name: words.unfollowPerson, run: (post) => this.follow(post, false, 'following') };
    }

    async #edit({ id, version }, text) {
        const [mine, live] = [this.#mine, this.#live];
        const edited = await this.#api.editPost(id, { text, version }).catch((error) => {
            if (error.code === 'old_version') live.refresh();
            throw error;
        });
        if (mine !== this.#mine) return;
        this.#made = this.#made.map((post) => (post.id === id ? edited : post));
        mine.edited(edited);
        this.#day?.edited(edited);
        this.#note(words.saved);
        live.refresh();
    }

    /** @param {string} id */
    #editsOf(id) {
        return this.#api.getPostEdits(id, { limit: EDITS });
    }

    async #remove({ id }) {
        const mine = this.#mine;
        await this.#api.deletePost(id).catch((error) => {
            throw new Error(words.notRemoved(reason(error)));
        });
        this.#made = this.#made.filter((post) => post.id !== id);
        mine.remove(id);
        this.#day?.remove(id);
        this.#note(words.removed);
    }

    /** @param {any} person @param {boolean} wanted @param {import('../follow-button.js').FollowState} before */
    async follow(person, wanted, before) {
        const live = this.#live;
        const state = await this.#api.setFollow(person.user, wanted).catch((error) => {
            throw new Error(words.notFollowed(person, reason(error)));
        });
        if (live !== this.#live) return;
        tellFollowed(person.user, state);
        this.#note(before === 'requested' && !wanted ? words.withdrawn(person) : words.nowFollow[state](person), wanted ? null : person);
        if (!wanted) live.drop(({ user }) => user === person.user);
        live.refresh();
    }

    /** @param {string} text @param {any} [unfollowed] whom to offer to follow again */
    #note(text, unfollowed = null) {
        setText($('feed-note').querySelector('.text'), text);
        $('feed-undo').hidden = unfollowed === null;
        setText($('feed-undo'), words.followAgain);
        this.#unfollowed = unfollowed;
        $('feed-note').hidden = text === '';
    }
    #unfollowed = null;

    #undo() {
        const person = this.#unfollowed;
        this.follow(person, true, 'none').catch((error) => this.#note(error.message, person));
        document.getElementById('show-home').focus(); // the button goes
    }

    #link(post) {
        this.#linked = post;
        this.#render();
    }

    #release() {
        const count = this.#held.count;
        this.#held.release();
        $('feed-scroll').scrollTop = 0;
        this.#render();
        if (count > 0) this.#articles.home.focus(0);
    }

    #retry() {
        if (this.#live?.failure?.status === 401) this.#askForToken();
        else this.#live?.refresh();
    }

    /** @param {string} day as 2026-11-27, here; empty: none any more */
    #chooseDay(day) {
        const from = new Date(`${day}T00:00`);
        const to = new Date(from.getFullYear(), from.getMonth(), from.getDate() + 1);
        if (!(from.getTime() >= 0) || !this.#api) return this.#choose('home');
        const api = this.#api;
        this.#day = new ReadPosts((query) => api.getFeed({ ...query, from: from.getTime(), to: to.getTime() }), () => this.#render());
        this.#choose('day');
        $('feed-scroll').scrollTop = 0;
    }

    async #openMine() {
        const api = this.#api;
        this.#choose('mine');
        const me = await api?.getUser(this.#me).catch(() => null); // my posts are there without
        if (api === this.#api && this.#showing === 'mine') this.#person.show(me);
    }

    /** @param {import('../../client/index.js').User} person */
    #openPerson(person) {
        if (person.user === this.#me) return this.#openMine();
        this.#choose('person', person);
        $('feed-scroll').scrollTop = 0;
    }

    #leavePerson() {
        this.#choose('home');
        $('show-home').focus();
    }

    #choose(name, person = null) {
        if (name !== 'day') $('day').value = '';
        this.#scrolled[this.#showing] = $('feed-scroll').scrollTop;
        this.#showing = name;
        this.#stuck = '';
        this.#person.show(person);
        this.#note('');
        for (const one of ['home', 'mine']) {
            $(`show-${one}`).setAttribute('aria-pressed', String(one === name));
        }
        this.#render();
        $('feed-scroll').scrollTop = this.#scrolled[name];
        this.#readOn();
    }

    /** Reads older posts if the reader is at the end of what is shown, or as soon as that is so. */
    #readOn() {
        if (this.#showing !== 'home' && !this.#source?.complete) return void this.#older(false);
        // An observer tells of changes only, unless it has just begun: the end may have been out of sight and back in one frame.
        this.#end.unobserve($('older'));
        this.#end.observe($('older'));
    }

    async #older(byHand) {
        const source = this.#source;
        if (!source?.hasMore || this.#loading || (this.#stuck && !byHand)) return;
        this.#loading = true;
        this.#stuck = '';
        this.#render();
        const error = await source.older().then(() => null, (failure) => failure);
        this.#loading = false;
        if (error && source === this.#source) this.#stuck = words.notOlder(reason(error));
        this.#render();
        this.#readOn();
    }

    #failed(error) {
        if (!this.#wasFailing) this.#announcer.say(error.status === 401 ? words.refused : words.failed(reason(error)));
        this.#wasFailing = true;
        this.#render();
    }
    #wasFailing = false;

    // ---- what is shown --------------------------------------------------------------------------------------------

    get #source() {
        return { home: this.#live, mine: this.#mine, day: this.#day, person: this.#person.posts }[this.#showing];
    }

    get #home() {
        const shown = this.#held.shown;
        const made = this.#made.filter(({ id }) => !shown.some((post) => post.id === id));
        return [...made, ...shown].sort((a, b) => compareIds(b.id, a.id));
    }

    #changed() {
        const before = this.#held.count;
        this.#wasFailing = this.#live.failure !== null;
        this.#held.update(this.#live.list, this.#live.complete);
        if (this.#held.count > before) this.#announcer.gather(() => (this.#held.count > 0 ? words.newPosts(this.#held.count) : ''));
        this.#render();
    }

    #render() {
        const { home, mine, day, person, linked } = this.#articles;
        const source = this.#source;
        const now = this.#serverNow();
        const posts = this.#home;
        home.show(posts, this.#live?.hasMore ?? false, now);
        mine.show(this.#mine?.list ?? [], this.#mine?.hasMore ?? false, now);
        day.show(this.#day?.list ?? [], this.#day?.hasMore ?? false, now);
        person.show(this.#person.posts?.list ?? [], this.#person.posts?.hasMore ?? false, now);
        this.#person.render();
        linked.show(this.#linked && this.#linked !== GONE ? [this.#linked] : [], false, now);
        $('linked').hidden = this.#linked === null || this.#showing === 'person';
        $('compose').hidden = this.#showing === 'person';
        $('linked-gone').hidden = this.#linked !== GONE;
        $('linked-post').hidden = this.#linked === GONE;
        this.#articles[this.#showing].busy(this.#loading);
        const listed = this.#person.showsPosts;
        $('home').hidden = this.#showing !== 'home' || posts.length === 0;
        $('mine').hidden = this.#showing !== 'mine' || !this.#mine?.list.length || !listed;
        $('of-day').hidden = this.#showing !== 'day' || !this.#day?.list.length;
        $('of-person').hidden = this.#showing !== 'person' || !this.#person.posts?.list.length || !listed;
        const news = this.#held.count;
        $('news').hidden = news === 0 || this.#showing !== 'home';
        setText($('news'), words.newPosts(news));
        this.#told(news);
        const empty = (this.#showing === 'home' ? posts.length : (source?.list.length ?? 0)) === 0;
        const read = source !== null && (this.#showing === 'home' ? source.version !== null : source.complete);
        $('older').hidden = !(read || this.#stuck) || !source.hasMore || !listed;
        $('older').setAttribute('aria-disabled', String(this.#loading));
        setText($('older'), this.#loading ? words.loading : words.older);
        setText($('older-problem'), this.#stuck);
        $('older-problem').hidden = this.#stuck === '' || !listed;
        setText($('feed-end'), this.#ending(empty, read, source));
        $('feed-end').hidden = $('feed-end').textContent === '';
        this.#showFailure();
    }

    #ending(empty, read, source) {
        if (!read || source.hasMore || source.closed || !this.#person.showsPosts) return '';
        if (!source.complete) return words.gathering;
        if (!empty) return words.end;
        return { home: words.emptyHome, mine: words.emptyMine, day: words.emptyDay, person: words.emptyPerson }[this.#showing];
    }

    #showFailure() {
        const failure = this.#live?.failure ?? null;
        const wasFocused = $('feed-problem').contains(document.activeElement);
        $('feed-problem').hidden = failure === null;
        if (failure === null) {
            if (wasFocused) $('show-home').focus();
            return;
        }
        const refused = failure.status === 401;
        const at = this.#live.retryAt;
        const seconds = Math.max(0, Math.ceil(((at ?? 0) - Date.now()) / 1000));
        setText($('feed-problem').querySelector('.text'), refused ? words.refused : at === null ? words.failed(reason(failure)) : words.away(reason(failure), seconds));
        setText($('feed-retry'), refused ? words.newToken : words.retry);
    }
}
