// The feed beside the map: my home timeline and my own posts, and what can be done with them.

import { reveal, setText } from '../dom.js';
import { Announcer } from '../status.js';
import { reason, words } from '../words.js';
import { Articles } from './articles.js';
import { Compose } from './compose.js';
import { Held } from './held.js';
import { OwnPosts } from './own-posts.js';
import { People } from './people.js';
import { Threads } from './threads.js';

const $ = (id) => document.getElementById(id);
const AHEAD = '600px'; // older posts are asked for before the reader is there

export class FeedView {
    #api = null;
    #live = null;
    #mine = null;
    #serverNow = () => Date.now();
    #askForToken;
    #told;
    #held = new Held();
    #announcer = new Announcer($('feed-announce'));
    #compose = new Compose((post) => this.#post(post));
    #people = new People((person, following) => this.#follow(person, following));
    #showing = 'home';
    #scrolled = { home: 0, mine: 0 };
    #loading = false;
    #stuck = ''; // why older posts did not come; only a click tries again
    #end = new IntersectionObserver((seen) => seen.at(-1).isIntersecting && this.#older(false), {
        root: $('feed-scroll'),
        rootMargin: AHEAD,
    });
    #threads = new Threads();
    #linked = null; // the post to which a notice led
    #articles = {
        home: new Articles($('home'), { label: words.unfollow, name: words.unfollowPerson, run: (post) => this.#follow(post, false) }, this.#threads),
        mine: new Articles($('mine'), { label: words.remove, name: words.removePost, ask: words.reallyRemove, run: (post) => this.#remove(post) }, this.#threads),
        linked: new Articles($('linked-post'), null, this.#threads),
    };

    /**
     * @param {{askForToken: () => void, told: (news: number) => void}} parts told: how many new posts wait
     */
    constructor({ askForToken, told }) {
        this.#askForToken = askForToken;
        this.#told = told;
        for (const name of ['home', 'mine']) $(`show-${name}`).addEventListener('click', () => this.#choose(name));
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
        this.#serverNow = () => client.serverNow();
        this.#threads.signIn(api, client, user, this.#serverNow);
        this.#mine = new OwnPosts(api, user, () => this.#render());
        this.#live = client.watchFeed(api);
        this.#live.on('change', () => this.#changed());
        this.#live.on('error', (error) => this.#failed(error));
        this.#compose.signIn(user);
        this.#people.signIn(api, user);
        this.#choose('home');
    }

    /** A newer token of the same user is in the api. */
    renewed() {
        this.#live?.refresh();
    }

    signOut() {
        this.#live?.close();
        this.#live = this.#mine = this.#api = null;
        this.#linked = null;
        this.#held = new Held();
        this.#scrolled = { home: 0, mine: 0 };
        this.#stuck = '';
        this.#note('');
        this.#compose.signIn('');
        this.#people.signIn(null, '');
        this.#render();
    }

    /** Signed out by hand: the draft goes, too. */
    forget() {
        this.signOut();
        this.#compose.signOut();
        this.#threads.forget();
    }

    /** Who it is, and whether I follow. @param {string} user */
    showPerson(user) {
        this.#people.look(user);
    }

    /** A comment below a post, with those around it. @param {string} post @param {string} comment */
    async showComment(post, comment) {
        const api = this.#api;
        const answer = await api.getPost(post).catch((error) => ({ error }));
        if (api !== this.#api) return;
        const { error } = answer;
        if (error) return this.#note(error.status === 404 ? words.postGone : reason(error));
        this.#note('');
        this.#link(null); // the same post once more begins anew
        this.#link(answer);
        reveal($('linked'));
        this.#articles.linked.focus(0);
        await this.#articles.linked.openThread(post, comment);
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
        mine.add(post);
        if (mine === this.#mine) this.#note(words.posted);
    }

    async #remove({ id }) {
        const mine = this.#mine;
        await this.#api.deletePost(id).catch((error) => {
            throw new Error(words.notRemoved(reason(error)));
        });
        mine.remove(id);
        this.#note(words.removed);
    }

    async #follow(person, following) {
        const live = this.#live;
        await (following ? this.#api.follow(person.user) : this.#api.unfollow(person.user)).catch((error) => {
            throw new Error(words.notFollowed(person, reason(error)));
        });
        if (live !== this.#live) return;
        this.#people.changed(person.user, following);
        this.#note(following ? words.followed(person) : words.unfollowed(person), following ? null : person);
        if (!following) live.drop(({ user }) => user === person.user);
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
        this.#follow(person, true).catch((error) => this.#note(error.message, person));
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

    #choose(name) {
        this.#scrolled[this.#showing] = $('feed-scroll').scrollTop;
        this.#showing = name;
        this.#stuck = '';
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
        if (this.#showing === 'mine' && !this.#mine?.complete) return void this.#older(false);
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
        return this.#showing === 'home' ? this.#live : this.#mine;
    }

    #changed() {
        const before = this.#held.count;
        this.#wasFailing = this.#live.failure !== null;
        this.#held.update(this.#live.list, this.#live.complete);
        if (this.#held.count > before) this.#announcer.gather(() => (this.#held.count > 0 ? words.newPosts(this.#held.count) : ''));
        this.#render();
    }

    #render() {
        const { home, mine, linked } = this.#articles;
        const source = this.#source;
        const now = this.#serverNow();
        home.show(this.#held.shown, this.#live?.hasMore ?? false, now);
        mine.show(this.#mine?.list ?? [], this.#mine?.hasMore ?? false, now);
        linked.show(this.#linked ? [this.#linked] : [], false, now);
        $('linked').hidden = this.#linked === null;
        this.#articles[this.#showing].busy(this.#loading);
        $('home').hidden = this.#showing !== 'home' || this.#held.shown.length === 0;
        $('mine').hidden = this.#showing !== 'mine' || !this.#mine?.list.length;
        const news = this.#held.count;
        $('news').hidden = news === 0 || this.#showing !== 'home';
        setText($('news'), words.newPosts(news));
        this.#told(news);
        const empty = (source?.list.length ?? 0) === 0;
        const read = source !== null && (this.#showing === 'mine' ? source.complete : source.version !== null);
        $('older').hidden = !read || !source.hasMore;
        $('older').setAttribute('aria-disabled', String(this.#loading));
        setText($('older'), this.#loading ? words.loading : words.older);
        setText($('older-problem'), this.#stuck);
        $('older-problem').hidden = this.#stuck === '';
        setText($('feed-end'), this.#ending(empty, read, source));
        $('feed-end').hidden = $('feed-end').textContent === '';
        this.#showFailure();
    }

    #ending(empty, read, source) {
        if (!read || source.hasMore) return '';
        if (!source.complete) return words.gathering;
        if (!empty) return words.end;
        return this.#showing === 'home' ? words.emptyHome : words.emptyMine;
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
