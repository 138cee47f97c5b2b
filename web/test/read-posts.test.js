// Posts that are read page by page, and whether they may be seen.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { Api, followOf } from '../public/api.js';
import { ReadPosts } from '../public/feed/read-posts.js';
import { words } from '../public/words.js';

const page = (...ids) => ({ items: ids.map((id) => ({ id })), next: null });
const refused = (code) => Object.assign(new Error(code), { code, status: 403 });

let answers, asked, changes, posts;
beforeEach(() => {
    answers = [];
    asked = [];
    changes = 0;
    posts = new ReadPosts(async (query) => {
        asked.push(query.after);
        const answer = answers.shift();
        if (answer instanceof Error) throw answer;
        return answer;
    }, () => (changes += 1));
});
const ids = () => posts.list.map(({ id }) => id);

test('page by page, each post once', async () => {
    answers = [{ ...page('9', '8'), next: '8' }, page('8', '7')];
    await Promise.all([posts.older(), posts.older()]);
    await posts.older();
    assert.deepEqual([asked, ids(), posts.hasMore, posts.closed, changes], [[null, '8'], ['9', '8', '7'], false, false, 2]);
});

test('only followers see them: nothing is listed, and nothing more is to come; until I may', async () => {
    answers = [refused('followers_only'), page('9')];
    await posts.older();
    assert.deepEqual([ids(), posts.complete, posts.hasMore, posts.closed], [[], true, false, true]);
    await posts.again();
    assert.deepEqual([ids(), posts.closed], [['9'], false]);
});

test('read once more, they take the place of all, also when they may not be seen any more', async () => {
    answers = [{ ...page('9', '8'), next: '8' }, page('7'), page('10', '9'), refused('followers_only')];
    await posts.older();
    await Promise.all([posts.older(), posts.again()]); // one after the other
    assert.deepEqual([asked, ids()], [[null, '8', null], ['10', '9']]);
    await posts.again();
    assert.deepEqual([ids(), posts.closed], [[], true]);
});

test('other refusals are told, and what was read stays', async () => {
    answers = [page('9'), refused('banned')];
    await posts.older();
    await assert.rejects(posts.again(), { code: 'banned' });
    assert.deepEqual([ids(), posts.closed], [['9'], false]);
});

test('a follow is there, or asked for, or not', async () => {
    const told = [];
    const api = new Api({
        token: 't',
        fetch: async (url, { method }) => {
            asked.push(`${method} ${url}`);
            return new Response(JSON.stringify({ user: 8, following: told[0] === 'following', state: told.shift() }), { status: 200 });
        },
    });
    told.push('following', 'requested', null);
    assert.deepEqual([await api.setFollow('8', true), await api.setFollow('8', true), await api.setFollow('8', false)], ['following', 'requested', 'none']);
    assert.deepEqual(asked, ['PUT /v1/follows/8', 'PUT /v1/follows/8', 'DELETE /v1/follows/8']);
    assert.deepEqual(['following', 'requested', null, undefined].map((follow) => followOf({ follow })), ['following', 'requested', 'none', null]);
});

test('friends of both are named, or the first two of them', () => {
    const people = ['Mira', 'Ben', 'Noor', 'Ole'].map((name, user) => ({ user, name }));
    assert.deepEqual([1, 2, 3, 4, 1003].map((all) => words.mutualFriends(people.slice(0, all), all)), [
        '1 mutual friend: Mira', '2 mutual friends: Mira and Ben', '3 mutual friends: Mira, Ben and Noor',
        '4 mutual friends: Mira, Ben and 2 others', '1,003 mutual friends: Mira, Ben and 1,001 others',
    ]);
});

test('many of a kind are one notice, of two whom it names and of so many others', () => {
    const said = (what, names, count, comment = null) => words.notice[what](words.among(names, count), { comment });
    assert.deepEqual([said('like', ['Mira'], 1), said('like', ['Mira', 'Ben'], 2, '5'), said('like', ['Mira', 'Ben'], 14), said('like', ['Mira'], 2)], [
        'Mira likes your post', 'Mira and Ben like your comment', 'Mira, Ben and 12 others like your post', 'Mira and 1 other like your post',
    ]);
    assert.deepEqual(['follow', 'request', 'accepted'].map((what) => said(what, ['Mira', 'Ben'], 1003)), [
        'Mira, Ben and 1,001 others follow you', 'Mira, Ben and 1,001 others ask to follow you', 'Mira, Ben and 1,001 others accepted your requests to follow',
    ]);
});
