// A comment of a thread: made once and changed in place, so that focus and scrolling stay.

import { askForCard, make, menu, nameButton, reveal, setText } from '../dom.js';
import { displayName, hueOf, initials } from '../format.js';
import { ago, refusal, when, words } from '../words.js';
import { EditMark, editForm } from './edits.js';
import { LineForm } from './line-form.js';
import { showText } from './said.js';

const LONGEST_REASON = 1000;
const LONGEST = 10_000;

export class CommentRow {
    element = make('li', 'comment');
    #comment;
    #acts;
    #may = '';
    #avatar = make('span', 'avatar');
    #name = nameButton();
    #to = make('span', 'to');
    #time = make('time', 'ago');
    #text = make('p', 'comment-text');
    #edits = new EditMark(() => this.#acts.edits(this.#comment));
    #buttons = make('div', 'comment-acts');
    #like = this.#button('', () => this.#run(() => this.#acts.like(this.#comment, this.#comment.liked !== true)));
    #form = make('div', 'slot');
    #problem = make('p', 'problem');
    #replies = make('ol', 'replies');
    #more = this.#button('', () => this.#run(() => this.#acts.moreReplies(this.#comment)), 'more-replies');
    #answers = this.#button('', () => this.#run(() => this.#acts.answers(this.#comment)), 'show-answers');
    /** @type {Map<string, CommentRow>} */
    #rows = new Map();

    /**
     * @param {any} comment
     * @param {{like: Function, edit: Function, edits: Function, remove: Function, report: Function, moreReplies: Function, answers: Function,
     *         answerForm: Function}} acts each given
     *        the comment; answerForm: (comment, close) => LineForm. All but that throw errors of the API.
     */
    constructor(comment, acts) {
        this.#comment = comment;
        this.#acts = acts;
        this.element.dataset.comment = comment.id;
        this.element.dataset.user = comment.user;
        this.element.tabIndex = -1;
        this.#avatar.setAttribute('aria-hidden', 'true');
        this.#avatar.style.setProperty('--hue', String(hueOf(comment.user)));
        this.#time.dateTime = new Date(comment.time).toISOString();
        this.#time.title = `${words.floor(comment)}, ${when(comment.time)}`;
        this.#name.addEventListener('click', () => askForCard(this.#name, this.#comment));
        this.#problem.setAttribute('role', 'alert');
        this.#problem.hidden = true;
        const head = make('div', 'comment-head');
        head.append(this.#avatar, this.#name, this.#to, this.#time, this.#edits.element);
        this.element.append(head, this.#text, this.#edits.list, this.#buttons, this.#problem, this.#form);
        this.element.append(...(comment.root === null ? [this.#replies, this.#more] : [this.#answers]));
    }

    /**
     * @param {any} comment
     * @param {{answers: any, mine: boolean, mayDelete: boolean, mayWrite: boolean, target: boolean, more: boolean, answered: boolean}} now
     *        answers: the reply that is answered; more: more replies can be listed; answered: its answers can be
     * @param {(reply: any) => object} nowOf the same of a reply
     */
    update(comment, now, nowOf) {
        this.#comment = comment;
        const { state } = comment;
        this.element.dataset.state = state;
        this.element.classList.toggle('target', now.target);
        setText(this.#avatar, initials(comment));
        setText(this.#name, displayName(comment));
        setText(this.#to, now.answers ? words.answers(now.answers) : '');
        showText(this.#text, said(comment, now.mine));
        this.#text.classList.toggle('said', comment.text !== null && state === 'visible');
        this.#edits.update(comment);
        this.#like.setAttribute('aria-pressed', String(comment.liked === true));
        this.#like.setAttribute('aria-label', words.likeOf(comment));
        setText(this.#like, words.like(comment.likes));
        this.#offer(now);
        setText(this.#more, words.moreReplies(comment.replyCount - comment.replies.filter((one) => one.state === 'visible').length));
        this.#more.hidden = !now.more;
        setText(this.#answers, words.showAnswers(comment.replyCount));
        this.#answers.hidden = !now.answered;
        showRows(this.#replies, this.#rows, comment.replies, this.#acts, nowOf);
        this.#replies.hidden = comment.replies.length === 0;
    }

    /** Time goes by. @param {number} at the server's time */
    tick(at) {
        setText(this.#time, ago(this.#comment.time, at));
        for (const row of this.#rows.values()) row.tick(at);
    }

    /** @param {string} id @returns {CommentRow | null} this one, or one of its replies */
    find(id) {
        return this.#comment.id === id ? this : (this.#rows.get(id) ?? null);
    }

    focus() {
        this.element.focus({ preventScroll: true });
        reveal(this.element);
    }

    /** A form or a question is open. */
    get asking() {
        return this.#form.childElementCount > 0;
    }

    /** Opens the form in which it is answered. */
    answer(focus = true) {
        this.#fill(this.#acts.answerForm(this.#comment, () => this.#empty()), focus);
    }

    /** The buttons, where what may be done has changed. */
    #offer({ mine, mayDelete, mayWrite }) {
        const { state } = this.#comment;
        const shown = state === 'visible';
        const mayEdit = mine && this.#comment.text !== null;
        const may = [shown, mayWrite, mayEdit, mayDelete && state !== 'deleted', shown && !mine].join();
        if (may === this.#may) return;
        const hadFocus = this.#buttons.contains(document.activeElement);
        this.#may = may;
        const buttons = [];
        if (shown) buttons.push(this.#like);
        if (shown && mayWrite) buttons.push(this.#named(words.answer, words.answerTo, () => this.answer()));
        const rare = [];
        if (mayEdit) rare.push(this.#named(words.edit, words.editComment, () => this.#edit()));
        if (mayDelete && state !== 'deleted') rare.push(this.#named(words.remove, words.removeComment, () => this.#ask()));
        if (shown && !mine) rare.push(this.#named(words.report, words.reportOf, () => this.#complainForm()));
        if (rare.length > 0) buttons.push(menu(words.moreComment(this.#comment), rare));
        this.#buttons.replaceChildren(...buttons);
        if (hadFocus && !this.#buttons.contains(document.activeElement)) this.focus();
    }

    #ask() {
        const question = make('p', 'question');
        question.textContent = words.reallyRemoveComment;
        const yes = this.#named(words.remove, words.removeComment, () =>
            this.#run(async () => {
                await this.#acts.remove(this.#comment);
                this.#empty();
            }),
        );
        yes.className = 'danger';
        const no = this.#button(words.keep, () => this.#empty());
        const row = make('div', 'ask');
        row.append(question, yes, no);
        this.#form.replaceChildren(row);
        no.focus();
    }

    #edit() {
        const comment = this.#comment;
        const form = editForm({
            text: comment.text,
            label: words.editComment(comment),
            most: LONGEST,
            save: (text) => this.#acts.edit(comment, text),
            close: () => this.#empty(),
        });
        this.#fill(form, true);
    }

    #complainForm() {
        const form = new LineForm({
            label: words.reportWhy,
            button: words.report,
            most: LONGEST_REASON,
            cancel: () => this.#empty(),
            send: async (text) => {
                await this.#acts.report(this.#comment, text).catch((error) => {
                    throw new Error(refusal(error));
                });
                this.#empty();
            },
        });
        this.#fill(form, true);
    }

    #fill(form, focus) {
        this.#form.replaceChildren(form.element);
        if (focus) form.focus();
    }

    #empty() {
        const hadFocus = this.#form.contains(document.activeElement);
        this.#form.replaceChildren();
        if (hadFocus) this.focus();
    }

    /** @param {() => Promise<void>} act */
    async #run(act) {
        if (this.element.getAttribute('aria-busy') === 'true') return;
        this.element.setAttribute('aria-busy', 'true');
        this.#problem.hidden = true;
        const error = await act().then(() => null, (failure) => failure);
        this.element.removeAttribute('aria-busy');
        if (!error) return;
        setText(this.#problem, refusal(error));
        this.#problem.hidden = false;
    }

    #named(label, name, run) {
        const button = this.#button(label, run);
        button.setAttribute('aria-label', name(this.#comment));
        return button;
    }

    #button(label, run, style = 'quiet') {
        const button = make('button', style);
        button.type = 'button';
        button.textContent = label;
        button.addEventListener('click', run);
        return button;
    }
}

/**
 * Rows for comments, in order.
 * @param {HTMLElement} list @param {Map<string, CommentRow>} rows @param {readonly any[]} comments @param {any} acts
 * @param {(comment: any) => any} nowOf what CommentRow.update is told of a comment
 */
export function showRows(list, rows, comments, acts, nowOf) {
    const listed = new Set(comments.map(({ id }) => id));
    for (const [id, row] of rows) {
        if (listed.has(id)) continue;
        row.element.remove();
        rows.delete(id);
    }
    comments.forEach((comment, index) => {
        let row = rows.get(comment.id);
        if (!row) rows.set(comment.id, (row = new CommentRow(comment, acts)));
        row.update(comment, nowOf(comment), nowOf);
        const here = list.children[index];
        if (here !== row.element) list.insertBefore(row.element, here ?? null);
    });
}

function said({ text, state }, mine) {
    if (state === 'visible') return text ?? words.commentUnavailable;
    if (state === 'held' && mine && text !== null) return `${text}\n${words.held}`;
    return words.commentStates[state];
}
