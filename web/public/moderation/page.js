// The page of moderators: search comments and posts, hide, restore and delete them; see who was reported, and ban.

import { setText } from '../dom.js';
import { ModerationApi, Problem } from './api.js';

const TOKEN = 'starling.moderator'; // in sessionStorage
const REASONS_MAX = 1000;
const byId = (id) => document.getElementById(id);
const found = byId('found');

/** @type {ModerationApi | null} */
let api = null;
/** @type {'comments' | 'posts' | 'users'} */
let what = 'comments';
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
    if (error.code === 'moderation_unavailable') return 'Nothing can be searched just now. Try again in a moment.';
    return error.message;
}

/** Shows why something failed. A token that does not count ends the session. */
function failed(error) {
    if (error instanceof Problem && error.status === 401) signOut('This token is not valid, or no longer. Sign in with another one.');
    else if (error instanceof Problem && error.code === 'moderators_only') signOut('This token is not of a moderator.');
    else say(wordsFor(error));
}

// ---- one comment, post or person ----

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

/** Has `act` done with the reason of the article, and shows what it resolves with. reasoned: not without one. */
async function decide(article, act, reasoned = true) {
    const reason = article.querySelector('input');
    const outcome = article.querySelector('.outcome');
    if (reasoned && !reason.value.trim()) {
        setText(outcome, 'Say why, first.');
        reason.focus();
        return;
    }
    const buttons = [...article.querySelectorAll('button')];
    for (const one of buttons) one.disabled = true;
    try {
        setText(outcome, await act(reason.value.trim()));
        reason.value = '';
    } catch (error) {
        if (error instanceof Problem && error.status !== 401) setText(outcome, error.message);
        else failed(error);
    }
    for (const one of buttons) one.disabled = false;
}

/** An article about what a user has written, or about a user, without its buttons. */
function articleOf(item, ...more) {
    const article = document.createElement('article');
    const about = element('p', 'about', '');
    about.append(
        element('span', 'name', item.name ?? `user ${item.user}`),
        element('span', 'user', `#${item.user}`),
        element('time', 'time', new Date(item.time).toLocaleString()),
        ...more,
    );
    if (item.reports) about.append(element('span', 'reports', item.reports === 1 ? 'reported once' : `reported ${item.reports} times`));
    const row = element('div', 'decide', '');
    const reason = document.createElement('input');
    reason.maxLength = REASONS_MAX;
    reason.placeholder = 'Reason';
    reason.setAttribute('aria-label', 'Reason');
    row.append(reason);
    const outcome = element('p', 'outcome', '');
    outcome.setAttribute('role', 'status');
    article.append(about, element('p', 'text', item.text ?? item.reason ?? ''), row, outcome);
    return article;
}

async function change(article, item, state, reason) {
    const now = await api.decide(item, state, reason);
    if (now) setState(article, now);
    return now ? `It is ${now} now.` : 'It is written, and will be decided in a moment. Search again to see it.';
}

/** A comment, or a post, which has no subject. */
function articleOfText(item) {
    const subject = element('span', 'subject', item.subject ?? `post:${item.id}`);
    const article = articleOf(item, subject, element('span', 'state', ''));
    article.dataset[item.subject ? 'comment' : 'post'] = item.id;
    const decideOn = (state) => () => decide(article, (reason) => change(article, item, state, reason));
    article
        .querySelector('.decide')
        .append(button('Restore', decideOn('visible')), button('Hide', decideOn('hidden')), button('Delete', decideOn('deleted')));
    for (const url of item.media ?? []) {
        const link = element('a', 'media', url);
        link.href = url;
        link.rel = 'noopener noreferrer';
        link.target = '_blank';
        article.querySelector('.text').after(link);
    }
    setState(article, item.state);
    return article;
}

async function ban(person, reason) {
    await api.ban(person.user, reason);
    return reason === null ? 'May write again.' : 'Banned from posting, commenting and liking.';
}

function articleOfPerson(person) {
    const article = articleOf(person);
    article.dataset.user = person.user;
    article.querySelector('.decide').append(
        button('Ban', () => decide(article, (reason) => ban(person, reason))),
        button('Lift the ban', () => decide(article, () => ban(person, null), false)),
    );
    return article;
}

// ---- searching ----

const timeOf = (id) => (byId(id).value ? String(new Date(byId(id).value).getTime()) : '');

/** Shows the conditions that count for what is searched. */
function fitForm() {
    for (const field of byId('search-form').querySelectorAll('[data-of]')) field.hidden = !field.dataset.of.split(' ').includes(byId('what').value);
}

function conditionsOfForm() {
    if (what === 'users') return { reported: 'true', user: byId('user').value };
    const ofSubject = what === 'comments' && {
        type: byId('type').value || (byId('subject').value && 'post'),
        id: byId('subject').value,
    };
    return {
        text: byId('text').value.trim(),
        user: byId('user').value,
        ...ofSubject,
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
        const page = await api.search(what, { ...conditions, after });
        if (search !== searches) return;
        if (!after) found.replaceChildren();
        list(page.items.map(what === 'users' ? articleOfPerson : articleOfText));
        byId('older').hidden = !page.next;
        byId('older').dataset.after = page.next ?? '';
        say('', found.childElementCount ? `${found.childElementCount}${page.next ? ' and more' : ''} found` : 'There is none like that.');
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
    what = byId('what').value;
    conditions = conditionsOfForm();
    readPage('');
});
byId('what').addEventListener('change', fitForm);
byId('older').addEventListener('click', () => readPage(byId('older').dataset.after));
byId('sign-out').addEventListener('click', () => signOut());

fitForm();
const token = sessionStorage.getItem(TOKEN);
if (token) signIn(token);
else show(false);
