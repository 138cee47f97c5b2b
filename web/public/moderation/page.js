// The page of moderators: search comments, hide, restore and delete them.

import { setText } from '../dom.js';
import { ModerationApi, Problem } from './api.js';

const TOKEN = 'starling.moderator'; // in sessionStorage
const REASONS_MAX = 1000;
const byId = (id) => document.getElementById(id);
const found = byId('found');

/** @type {ModerationApi | null} */
let api = null;
let conditions = {};
let searches = 0; // the newest one counts

/** Without articles it would be no feed. */
function list(articles) {
    found.append(...articles);
    found.hidden = !found.childElementCount;
}

function say(problem, text = '') {
    byId('problem').hidden = !problem;
    setText(byId('problem'), problem);
    setText(byId('said'), text);
}

function show(signedIn) {
    byId('sign-in-form').hidden = signedIn;
    byId('search-form').hidden = !signedIn;
    byId('sign-out').hidden = !signedIn;
}

function signIn(token) {
    sessionStorage.setItem(TOKEN, token);
    api = new ModerationApi(token);
    show(true);
    say('');
    byId('text').focus();
}

function signOut(problem = '') {
    sessionStorage.removeItem(TOKEN);
    api = null;
    searches++;
    found.replaceChildren();
    list([]);
    byId('older').hidden = true;
    show(false);
    say(problem);
}

function wordsFor(error) {
    if (!(error instanceof Problem)) return 'The server cannot be reached.';
    if (error.code === 'no_words') return 'There is no word to search for.';
    if (error.code === 'search_too_slow') return 'The search took too long. More conditions help.';
    if (error.code === 'moderation_unavailable') return 'Comments cannot be searched just now. Try again in a moment.';
    return error.message;
}

/** Shows why something failed. A token that does not count ends the session. */
function failed(error) {
    if (error instanceof Problem && error.status === 401) signOut('This token is not valid, or no longer. Sign in with another one.');
    else if (error instanceof Problem && error.code === 'moderators_only') signOut('This token is not of a moderator.');
    else say(wordsFor(error));
}

// ---- one comment ----

function element(tag, className, text) {
    const made = document.createElement(tag);
    made.className = className;
    made.textContent = text;
    return made;
}

function button(text, decide) {
    const made = element('button', '', text);
    made.type = 'button';
    made.addEventListener('click', decide);
    return made;
}

function setState(article, state) {
    article.dataset.state = state;
    setText(article.querySelector('.state'), state);
    const [restore, hide, remove] = article.querySelectorAll('.decide button');
    restore.textContent = state === 'held' ? 'Approve' : 'Restore';
    restore.hidden = state === 'visible' || state === 'deleted';
    hide.hidden = state === 'hidden' || state === 'deleted';
    remove.hidden = state === 'deleted';
    article.querySelector('.decide').hidden = state === 'deleted';
    if (state === 'deleted') setText(article.querySelector('.text'), 'deleted');
}

async function decide(article, comment, state) {
    const reason = article.querySelector('input');
    const outcome = article.querySelector('.outcome');
    if (!reason.value.trim()) {
        setText(outcome, 'Say why, first.');
        reason.focus();
        return;
    }
    const buttons = [...article.querySelectorAll('button')];
    for (const one of buttons) one.disabled = true;
    try {
        const now = await api.decide(comment.subject, comment.id, state, reason.value.trim());
        if (now) setState(article, now);
        setText(outcome, now ? `It is ${now} now.` : 'It is written, and will be decided in a moment. Search again to see it.');
        reason.value = '';
    } catch (error) {
        if (error instanceof Problem && error.status !== 401) setText(outcome, error.message);
        else failed(error);
    }
    for (const one of buttons) one.disabled = false;
}

function articleOf(comment) {
    const article = document.createElement('article');
    article.dataset.comment = comment.id;
    const about = element('p', 'about', '');
    about.append(
        element('span', 'name', comment.name ?? `user ${comment.user}`),
        element('span', 'user', `#${comment.user}`),
        element('time', 'time', new Date(comment.time).toLocaleString()),
        element('span', 'subject', comment.subject),
        element('span', 'state', ''),
    );
    if (comment.reports) about.append(element('span', 'reports', comment.reports === 1 ? 'reported once' : `reported ${comment.reports} times`));
    const row = element('div', 'decide', '');
    const reason = document.createElement('input');
    reason.maxLength = REASONS_MAX;
    reason.placeholder = 'Reason';
    reason.setAttribute('aria-label', 'Reason');
    row.append(
        reason,
        button('Restore', () => decide(article, comment, 'visible')),
        button('Hide', () => decide(article, comment, 'hidden')),
        button('Delete', () => decide(article, comment, 'deleted')),
    );
    const outcome = element('p', 'outcome', '');
    outcome.setAttribute('role', 'status');
    article.append(about, element('p', 'text', comment.text ?? ''), row, outcome);
    setState(article, comment.state);
    return article;
}

// ---- searching ----

const timeOf = (id) => (byId(id).value ? String(new Date(byId(id).value).getTime()) : '');

function conditionsOfForm() {
    return {
        text: byId('text').value.trim(),
        user: byId('user').value,
        type: byId('type').value || (byId('subject').value && 'post'),
        id: byId('subject').value,
        state: byId('state').value,
        reported: byId('reported').checked ? 'true' : '',
        from: timeOf('from'),
        to: timeOf('to'),
    };
}

async function readPage(after) {
    const search = ++searches;
    found.setAttribute('aria-busy', 'true');
    byId('older').disabled = true;
    try {
        const page = await api.search({ ...conditions, after });
        if (search !== searches) return;
        if (!after) found.replaceChildren();
        list(page.items.map(articleOf));
        byId('older').hidden = !page.next;
        byId('older').dataset.after = page.next ?? '';
        say('', found.childElementCount ? `${found.childElementCount}${page.next ? ' and more' : ''} found` : 'No comment is like that.');
    } catch (error) {
        if (search === searches) failed(error);
    } finally {
        if (search === searches) found.setAttribute('aria-busy', 'false');
        byId('older').disabled = false;
    }
}

// ---- the beginning ----

byId('sign-in-form').addEventListener('submit', (event) => {
    event.preventDefault();
    signIn(byId('token').value.trim());
    byId('token').value = '';
});
byId('search-form').addEventListener('submit', (event) => {
    event.preventDefault();
    conditions = conditionsOfForm();
    readPage('');
});
byId('older').addEventListener('click', () => readPage(byId('older').dataset.after));
byId('sign-out').addEventListener('click', () => signOut());

const token = sessionStorage.getItem(TOKEN);
if (token) signIn(token);
else show(false);
