// The thread below a post: a button with the number of comments, the post's like, and behind the button the comments. While it is open, the server says what
// happens under the post, and they are read again once in a while.

import { drawKey } from '../../client/index.js';
import { make, setText } from '../dom.js';
import { displayName } from '../format.js';
import { reason, refusal, words } from '../words.js';
import { CommentList } from './comment-list.js';
import { showRows } from './comment-row.js';
import { LikeButton } from './like-button.js';
import { LineForm } from './line-form.js';

const EVERY_MS = 60_000; // what is lost on the way is found within three minutes even so
const SOON_MS = 5000; // after a failure
const RARELY_MS = 60_000;
const LONGEST = 10_000;

export class Thread {
    element = make('div', 'discussion');
    #post;
    #parts;
    #list;
    #like;
    #count = null;
    #away = false; // comments cannot be read
    #opened = false;
    #live = null; // while it is open
    #busy = 0; // questions under way
    #dueAt = 0;
    #failures = 0;
    #toggle = make('button', 'quiet thread-toggle');
    #body = make('div', 'thread');
    #order = make('select');
    #problem = make('p', 'problem');
    #note = make('p', 'thread-note');
    #waiting = make('button', 'primary waiting');
    #comments = make('ol', 'comments');
    #more = make('button', 'more-comments');
    #all = make('button', 'all-comments');
    #end = make('p', 'small thread-end');
    #form = null;
    #slot = make('div', 'slot');
    /** @type {Map<string, import('./comment-row.js').CommentRow>} */
    #rows = new Map();
    #acts = {
        like: (comment, liked) => this.#after(this.#list.like(comment.id, liked)),
        edit: (comment, text) => this.#after(this.#list.edit(comment, text).catch((error) => this.#editedSince(error)), words.saved),
        edits: (comment) => this.#list.edits(comment.id),
        remove: (comment) => this.#after(this.#list.remove(comment.id), words.commentRemoved),
        report: (comment, why) => this.#after(this.#list.report(comment.id, why), words.reported),
        moreReplies: async (root) => {
            const first = await this.#list.moreReplies(root.id);
            if (this.#live && Number(this.#list.version) < this.#live.version) this.#live.read(this.#list.version);
            this.#show(first);
        },
        answers: (comment) => this.#read(() => this.#findAt(comment.id, true)),
        answerForm: (comment, close) => this.#writeForm(comment, close),
    };

    /**
     * @param {import('../../client/index.js').Post} post
     * @param {{api: any, user: string, serverNow: () => number, drafts: import('./drafts.js').Drafts,
     *          watch: (subject: string) => import('../../client/index.js').LiveThread | null}} parts
     */
    constructor(post, parts) {
        this.#post = post;
        this.#count = post.comments;
        this.#parts = parts;
        this.#list = new CommentList(parts.api, `post:${post.id}`, parts.serverNow);
        this.#like = new LikeButton(post, parts.api);
        this.#body.id = `thread-${(made += 1)}`;
        this.#body.hidden = true;
        this.#body.setAttribute('role', 'group');
        this.#body.setAttribute('aria-label', words.thread(displayName(post)));
        this.#toggle.setAttribute('aria-controls', this.#body.id);
        this.#problem.setAttribute('role', 'alert');
        this.#note.setAttribute('role', 'status');
        for (const button of [this.#toggle, this.#waiting, this.#more, this.#all]) button.type = 'button';
        this.#order.setAttribute('aria-label', words.order);
        this.#order.append(...Object.entries(words.orders).map(([value, label]) => new Option(label, value)));
        this.#body.append(this.#order, this.#slot, this.#problem, this.#note, this.#all, this.#waiting, this.#comments, this.#more, this.#end);
        const acts = make('div', 'post-acts');
        acts.append(this.#toggle, this.#like.button);
        this.element.append(acts, this.#like.problem, this.#body);
        this.#toggle.addEventListener('click', () => (this.#opened ? this.close() : this.open()));
        this.#order.addEventListener('change', () => {
            const { value } = this.#order;
            this.#read(() => this.#list.begin(value));
        });
        this.#waiting.addEventListener('click', () => this.#readAnew());
        this.#all.addEventListener('click', () => this.#readAnew());
        this.#more.addEventListener('click', () => this.#read(() => this.#list.more()));
        this.#render();
    }

    get post() {
        return this.#post.id;
    }

    /** @returns {boolean} the number of comments is wanted, as far as that is known here */
    get wantsCount() {
        return !this.#opened && this.#count === null;
    }

    /** @param {number | null} count null: comments cannot be read @param {number | null} [likes] null: not known */
    counted(count, likes = null) {
        this.#like.heard({ likes });
        this.#count = count;
        this.#away = count === null;
        this.#render();
    }

    /** The post was read again. @param {import('../../client/index.js').Post} post */
    heard(post) {
        this.#like.heard(post);
        if (post.comments !== null && !this.#opened) this.counted(post.comments);
    }

    /** Shows the comments. @param {string | null} [at] and moves to that one */
    async open(at = null) {
        this.#opened = true;
        this.#note.textContent = '';
        this.#form ??= this.#makeForm();
        this.#render();
        if (at === null) await this.#read(() => (this.#list.read ? this.#list.refresh() : this.#list.begin()));
        else await this.#read(() => this.#findAt(at));
        this.#watch();
        this.#openDrafts();
    }

    close() {
        this.#opened = false;
        this.#live?.close();
        this.#live = null;
        this.#render();
    }

    /** Time goes by. */
    tick() {
        if (!this.#opened) return;
        for (const row of this.#rows.values()) row.tick(this.#parts.serverNow());
        if (performance.now() >= this.#dueAt) this.#read(() => this.#list.refresh());
    }

    // ---- what happens ----

    #watch() {
        if (!this.#opened || this.#live || !this.#list.read) return;
        this.#live = this.#parts.watch(`post:${this.#post.id}`);
        this.#live?.on('change', (change) => this.#happened(change));
        this.#live?.on('stale', () => this.#read(() => this.#list.refreshAll()));
        this.#live?.read(this.#list.version);
    }

    #happened(change) {
        this.#list.apply(change, this.#live.version);
        this.#like.heard(change);
        this.#count = this.#list.total;
        this.#render();
    }

    // ---- what is done ----

    async #findAt(id, answers = false) {
        const missing = await this.#list.beginAt(id, answers).then(() => null, (error) => error);
        if (missing === null) return id;
        if (missing.code !== 'no_comment') throw missing;
        await this.#list.begin();
        setText(this.#note, words.commentGone);
        return null;
    }

    #readAnew() {
        return this.#read(async () => {
            await this.#list.begin();
            return this.#list.roots[0]?.id ?? null;
        });
    }

    /** @param {() => Promise<string | null | void>} ask resolves to the comment that gets the focus */
    async #read(ask) {
        this.#busy += 1;
        this.#dueAt = Infinity; // one that is done says when
        this.#render();
        const answer = await ask().then((focus) => ({ focus }), (error) => ({ error }));
        this.#busy -= 1;
        const { error } = answer;
        this.#failures = error ? this.#failures + 1 : 0;
        const pause = Math.min(RARELY_MS, SOON_MS * 2 ** this.#failures);
        this.#dueAt = performance.now() + Math.max(error ? pause : EVERY_MS, error?.retryAfterMs ?? 0);
        if (error && !this.#list.read && isAway(error)) {
            this.counted(null);
            return this.close();
        }
        this.#away = false;
        if (!error) {
            this.#like.heard(this.#list);
            this.#count = this.#list.total;
            this.#live?.read(this.#list.version);
        }
        this.#complain(error ? words.noComments(reason(error)) : '');
        this.#show(answer.focus ?? null);
    }

    /** @param {Promise<any>} act @param {string} [note] */
    async #after(act, note = '') {
        await act;
        setText(this.#note, note);
        this.#count = this.#list.total;
        this.#render();
    }

    /** Somebody has edited it meanwhile: that is to be seen. */
    #editedSince(error) {
        if (error.code === 'old_version') this.#read(() => this.#list.refreshAll());
        throw error;
    }

    #makeForm() {
        const form = this.#writeForm(null, () => {});
        this.#slot.append(form.element);
        return form;
    }

    /** @param {any} answered null: the post @param {() => void} close */
    #writeForm(answered, close) {
        const { drafts } = this.#parts;
        const place = answered ? `${this.#post.id}/${answered.id}` : this.#post.id;
        const done = () => {
            drafts.set(place, { text: '', key: '' });
            close();
        };
        return new LineForm({
            label: answered ? words.answerTo(answered) : words.writeComment,
            button: answered ? words.answer : words.comment,
            most: LONGEST,
            text: drafts.get(place).text,
            changed: (text) => drafts.set(place, { text, key: '' }), // another text is another comment
            cancel: answered ? done : undefined,
            send: async (text) => {
                const key = drafts.get(place).key || drawKey();
                drafts.set(place, { text, key });
                const comment = await this.#list.write({ text, key, replyTo: answered?.id ?? null }).catch((error) => {
                    throw new Error(error.passing && error.status !== 429 ? words.notPosted(reason(error)) : refusal(error));
                });
                done();
                await this.#after(Promise.resolve(), comment.state === 'held' ? words.commentHeld : words.commented);
                if (answered) this.#rowOf(comment.id)?.focus();
            },
        });
    }

    /** Answers that were not sent before a reload. */
    #openDrafts() {
        for (const { id, replies } of this.#list.roots) {
            for (const one of [id, ...replies.map((reply) => reply.id)]) {
                const row = this.#rowOf(one);
                const kept = this.#parts.drafts.get(`${this.#post.id}/${one}`).text !== '';
                if (kept && row && !row.asking) row.answer(false);
            }
        }
    }

    // ---- what is shown ----

    /** @param {string | null} focus the comment that gets it */
    #show(focus) {
        this.#render();
        if (focus) this.#rowOf(focus)?.focus();
    }

    #rowOf(id) {
        for (const row of this.#rows.values()) if (row.find(id)) return row.find(id);
        return null;
    }

    #render() {
        const list = this.#list;
        setText(this.#toggle, this.#away ? words.commentsAway : words.comments(this.#count));
        this.#toggle.setAttribute('aria-expanded', String(this.#opened));
        this.#body.hidden = !this.#opened;
        if (!this.#opened) return;
        this.#order.value = list.sort;
        this.#slot.hidden = list.closed;
        this.#order.hidden = list.target !== null;
        this.#all.hidden = list.target === null;
        setText(this.#all, words.allComments);
        this.#waiting.hidden = list.waiting === 0;
        setText(this.#waiting, words.newComments(list.waiting));
        const now = (comment) => this.#nowOf(comment);
        showRows(this.#comments, this.#rows, list.roots, this.#acts, now);
        for (const row of this.#rows.values()) row.tick(this.#parts.serverNow());
        this.#comments.hidden = list.roots.length === 0;
        this.#more.hidden = !list.hasMore;
        setText(this.#more, words.moreComments);
        setText(this.#end, this.#ending());
        this.#end.hidden = this.#end.textContent === '';
        this.#problem.hidden = this.#problem.textContent === '';
        this.#note.hidden = this.#note.textContent === '';
    }

    #nowOf(comment) {
        const list = this.#list;
        const mine = comment.user === this.#parts.user;
        return {
            answers: comment.replyTo !== comment.root ? list.find(comment.replyTo) : null,
            mine,
            mayDelete: mine || list.owner === this.#parts.user,
            mayWrite: !list.closed,
            target: comment.id === list.target,
            more: comment.root === null && list.hasMoreReplies(comment),
            answered: list.hasAnswers(comment),
        };
    }

    #ending() {
        if (!this.#list.read) return this.#busy > 0 ? words.loading : '';
        if (this.#list.closed) return words.closed;
        return this.#list.roots.length === 0 ? words.noCommentsYet : '';
    }

    #complain(message) {
        setText(this.#problem, message);
    }
}

let made = 0;

/** There are no comments here, or the process that has them is away. @param {any} error */
export function isAway(error) {
    return error.status === 404 || error.status === 405 || error.status >= 500;
}
