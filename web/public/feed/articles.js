// Posts as articles of an ARIA feed. An article is made once and changed in place: focus and scrolling stay.

import { askForCard, make, menu, nameButton, setText } from '../dom.js';
import { displayName, hueOf, initials, webHost } from '../format.js';
import { ago, when, words } from '../words.js';
import { EditMark, editForm } from './edits.js';
import { showText } from './said.js';

export class Articles {
    #element;
    #onAct;
    #editsOf;
    #threads;
    /** @type {Map<string, Article>} */
    #articles = new Map();

    /**
     * @param {HTMLElement} element role=feed
     * @param {(post: any) => ({label: string, name: (post: any) => string, ask?: string, run: (post: any) => Promise<void>,
     *        edit?: (post: any, text: string) => Promise<void>} | null)} act what the button of a post does, after a question where there
     *        is one, and how it is edited by who may; null: there is none
     * @param {(id: string) => Promise<any>} editsOf the versions of a post
     * @param {import('./threads.js').Threads} threads
     */
    constructor(element, act, editsOf, threads) {
        this.#element = element;
        this.#onAct = act;
        this.#editsOf = editsOf;
        this.#threads = threads;
        element.addEventListener('keydown', (event) => this.#keyPressed(event));
    }

    /**
     * @param {readonly import('../../client/index.js').Post[]} posts in order
     * @param {boolean} hasMore there are older ones that are not listed
     * @param {number} now the server's time
     */
    show(posts, hasMore, now) {
        const listed = new Set(posts.map(({ id }) => id));
        const focused = this.#indexOfFocus();
        for (const [id, article] of this.#articles) {
            if (listed.has(id)) continue;
            article.element.remove();
            this.#threads.drop(article.thread);
            this.#articles.delete(id);
        }
        posts.forEach((post, index) => {
            let article = this.#articles.get(post.id);
            if (!article) this.#articles.set(post.id, (article = new Article(post, this.#onAct(post), this.#editsOf, this.#threads)));
            article.update(post, index + 1, hasMore ? -1 : posts.length, now);
            const here = this.#element.children[index];
            if (here !== article.element) this.#element.insertBefore(article.element, here ?? null);
        });
        if (focused >= 0 && this.#indexOfFocus() < 0) this.focus(Math.min(focused, posts.length - 1));
    }

    /** Time goes by. @param {number} now the server's time */
    tick(now) {
        for (const article of this.#articles.values()) article.tick(now);
    }

    /** @param {boolean} busy */
    busy(busy) {
        this.#element.setAttribute('aria-busy', String(busy));
    }

    /** @param {number} index @returns {boolean} there is such a post */
    focus(index) {
        const article = this.#element.children[index];
        if (article instanceof HTMLElement) article.focus({ preventScroll: false });
        return article !== undefined;
    }

    /** @param {string} id of a listed post @param {string} comment */
    openThread(id, comment) {
        return this.#articles.get(id)?.thread.open(comment);
    }

    #indexOfFocus() {
        return [...this.#element.children].findIndex((child) => child.contains(document.activeElement));
    }

    /** The feed pattern: Page Down and Page Up go from post to post, Control and End or Home leave it. */
    #keyPressed(event) {
        const at = this.#indexOfFocus();
        if (at < 0 || event.target.closest('textarea, select')) return;
        const { key, ctrlKey } = event;
        if (key === 'PageDown') this.focus(at + 1);
        else if (key === 'PageUp') this.focus(at - 1);
        else if (ctrlKey && key === 'Home') focusFirst();
        else if (ctrlKey && key === 'End') document.getElementById('older').focus();
        else return;
        event.preventDefault();
    }
}

/** What stands above all posts. */
function focusFirst() {
    const text = document.getElementById('text');
    (text.checkVisibility() ? text : document.getElementById('person')).focus();
}

let made = 0;
const LONGEST = 2000;

class Article {
    element = document.createElement('article');
    /** The comments below it. */
    thread;
    #post;
    #act;
    #avatar = make('span', 'avatar');
    #name = nameButton();
    #time = make('time', 'ago');
    #text = make('p', 'text');
    #media = make('ul', 'media');
    #actions = make('span', 'actions');
    #form = make('div', 'slot');
    #edits;
    #problem = make('p', 'problem');

    constructor(post, act, editsOf, threads) {
        this.#post = post;
        this.#act = act;
        this.#edits = new EditMark(() => editsOf(this.#post.id));
        this.thread = threads.make(post);
        this.element.tabIndex = 0;
        this.element.dataset.post = post.id;
        this.element.dataset.user = post.user;
        made += 1; // a post may be shown twice
        this.#name.id = `name-${made}`;
        this.#text.id = `text-${made}`;
        this.element.setAttribute('aria-labelledby', this.#name.id);
        this.element.setAttribute('aria-describedby', this.#text.id);
        this.#avatar.setAttribute('aria-hidden', 'true');
        this.#avatar.style.setProperty('--hue', String(hueOf(post.user)));
        this.#time.dateTime = new Date(post.time).toISOString();
        this.#time.title = when(post.time);
        this.#problem.setAttribute('role', 'alert');
        this.#problem.hidden = true;
        this.#name.addEventListener('click', () => askForCard(this.#name, this.#post));
        const who = make('span', 'who');
        who.append(this.#name, this.#time, this.#edits.element);
        const head = make('header');
        head.append(this.#avatar, who, this.#actions);
        this.element.append(head, this.#text, this.#edits.list, this.#form, this.#media, this.#problem, this.thread.element);
        if (act) this.#offer(false);
    }

    update(post, position, size, now) {
        if (post !== this.#post) this.thread.heard(post);
        this.#post = post;
        this.element.setAttribute('aria-posinset', String(position));
        this.element.setAttribute('aria-setsize', String(size));
        this.element.classList.toggle('unavailable', post.unavailable);
        setText(this.#avatar, initials(post));
        setText(this.#name, displayName(post));
        showText(this.#text, post.unavailable ? words.unavailable : post.text);
        this.#edits.update(post);
        if (this.#media.childElementCount !== post.media.length) this.#showMedia(post.media);
        this.tick(now);
    }

    tick(now) {
        setText(this.#time, ago(this.#post.time, now));
    }

    /** Links, not pictures: they may lead anywhere. */
    #showMedia(urls) {
        const items = urls.filter((url) => webHost(url) !== null).map((url, index) => {
            const link = make('a');
            Object.assign(link, { href: url, target: '_blank', rel: 'noopener noreferrer', textContent: words.attachment(index + 1, url) });
            const item = make('li');
            item.append(link);
            return item;
        });
        this.#media.replaceChildren(...items);
    }

    /** The button, or its question. @param {boolean} asking @param {boolean} [focus] */
    #offer(asking, focus = false) {
        const { label, name, ask } = this.#act;
        if (!asking) {
            const button = this.#button(name(this.#post), 'quiet', () => (ask ? this.#offer(true, true) : this.#run(button)));
            const edit = this.#act.edit ? [this.#button(words.editPost(this.#post), 'quiet', () => this.#openForm())] : [];
            const more = menu(words.morePost(this.#post), [...edit, button]);
            this.#actions.replaceChildren(more);
            if (focus) more.querySelector('summary').focus();
            return;
        }
        const question = make('span', 'question');
        question.textContent = ask;
        const yes = this.#button(label, 'danger', () => this.#run(yes));
        const no = this.#button(words.keep, '', () => this.#offer(false, true));
        yes.setAttribute('aria-label', name(this.#post));
        this.#actions.replaceChildren(question, yes, no);
        if (focus) no.focus();
    }

    #openForm() {
        const post = this.#post;
        if (post.unavailable) return;
        const form = editForm({
            text: post.text,
            label: words.editPost(post),
            most: LONGEST,
            save: (text) => this.#act.edit(post, text),
            close: () => {
                this.#form.replaceChildren();
                this.element.focus({ preventScroll: true });
            },
        });
        this.#form.replaceChildren(form.element);
        form.focus();
    }

    async #run(button) {
        button.disabled = true;
        this.#problem.hidden = true;
        try {
            await this.#act.run(this.#post);
        } catch (error) {
            setText(this.#problem, error.message);
            this.#problem.hidden = false;
            this.#offer(false, true);
        }
    }

    #button(label, style, run) {
        const button = make('button', style);
        button.type = 'button';
        button.textContent = label;
        button.addEventListener('click', run);
        return button;
    }
}
