// The texts of the feed, the notices and people around, as they are needed there. No DOM in here.

import { displayName, formatAgo, webHost } from './format.js';
import { locale, t } from './texts.js';

const DAY_MS = 86_400_000;

const named = (key) => (person) => t(key, { name: displayName(person) });
const counted = (key) => (count) => t(key, { count });
const followedBy = ([first, second, ...others]) => {
    const name = displayName(first);
    if (others.length > 0) return t('followedByMany', { name, count: others.length + 1 });
    return second ? t('followedByTwo', { name, other: displayName(second) }) : t('followedByOne', { name });
};
const because = (key) => (why) => t(key, { why });

export const words = {
    newPosts: counted('newPosts'),
    afterNewPosts: counted('afterNewPosts'),
    count: (length, most) => t('count', { length, most }),
    tooMany: counted('tooMany'),

    post: t('post'),
    posting: t('posting'),
    posted: t('posted'),
    postHeld: t('postHeld'),
    notPosted: because('notPosted'),
    postRefused: because('postRefused'),
    postDeleted: t('postDeleted'),

    remove: t('remove'),
    morePost: named('morePost'),
    moreComment: named('moreComment'),
    removePost: (post) => t('removePost', { time: when(post.time) }),
    reallyRemove: t('reallyRemove'),
    edit: t('edit'),
    editPost: (post) => t('editPost', { time: when(post.time) }),
    editComment: named('editComment'),
    edited: t('edited'),
    editedSince: t('editedSince'),
    save: t('save'),
    saved: t('saved'),
    keep: t('keep'),
    removed: t('removed'),
    notRemoved: because('notRemoved'),

    unfollow: t('unfollow'),
    unfollowPerson: named('unfollowPerson'),
    followAgain: t('followAgain'),
    followButton: { none: t('follow'), requested: t('isRequested'), following: t('isFollowed') },
    followButtonOf: { none: named('followPerson'), requested: named('isRequestedOf'), following: named('isFollowedPerson') },
    nowFollow: { none: named('unfollowed'), requested: named('askedToFollow'), following: named('followed') },
    withdrawn: named('withdrawn'),
    onlyFollowersSee: named('onlyFollowersSee'),
    listOf: {
        posts: ({ posts: count }) => (count === undefined ? t('showPosts') : t('posts', { count })),
        followers: ({ followers: count }) => (count === undefined ? t('showFollowers') : t('followers', { count })),
        following: ({ following: number }) => (number === undefined ? t('showFollowing') : t('follows', { number })),
    },
    followedBy,
    noneOf: { followers: t('noFollowers'), following: t('noFollowing') },
    noPeople: because('noPeople'),
    audience: { everybody: t('audienceEverybody'), followers: t('audienceFollowers') },
    postsAreFor: { everybody: t('postsForEverybody'), followers: t('postsForFollowers') },
    notFollowed: (person, why) => t('notFollowed', { name: displayName(person), why }),
    myself: t('myself'),
    noPerson: t('noPerson'),
    noHandle: t('noHandle'),
    handleTaken: (handle) => t('handleTaken', { handle }),
    handleNotSaved: because('handleNotSaved'),
    nobody: (handle) => t('nobody', { handle }),
    personUnknown: because('personUnknown'),

    unavailable: t('unavailable'),
    attachment: (number, url) => t('attachment', { number, host: webHost(url) }),
    older: t('older'),
    loading: t('loading'),
    notOlder: because('notOlder'),
    end: t('end'),
    emptyHome: t('emptyHome'),
    emptyMine: t('emptyMine'),
    emptyDay: t('emptyDay'),
    emptyPerson: t('emptyPerson'),
    gathering: t('gathering'),

    lookingAround: t('lookingAround'),
    around: t('around'),
    nobodyAround: t('nobodyAround'),
    mustBePublic: t('mustBePublic'),
    notAround: because('notAround'),
    about: (distance) => t('about', { distance }),

    comments: (count) => (count === null ? t('commentsUncounted') : count === 0 ? t('firstComment') : t('comments', { count })),
    commentsAway: t('commentsAway'),
    thread: (name) => t('thread', { name }),
    order: t('order'),
    orders: { floor: t('oldestFirst'), newest: t('newestFirst'), heat: t('popularFirst') },
    writeComment: t('writeComment'),
    comment: t('comment'),
    commented: t('commented'),
    commentHeld: t('commentHeld'),
    commentRemoved: t('commentRemoved'),
    commentGone: t('commentGone'),
    commentUnavailable: t('commentUnavailable'),
    commentStates: { held: t('stateHeld'), hidden: t('stateHidden'), deleted: t('stateDeleted') },
    held: t('held'),
    removeComment: named('removeComment'),
    reallyRemoveComment: t('reallyRemoveComment'),
    floor: ({ floor: number, root }) => t(root === null ? 'commentNumber' : 'replyNumber', { number }),
    answer: t('answer'),
    answerTo: named('answerTo'),
    answers: named('answers'),
    like: (likes) => (likes > 0 ? `♥ ${likes.toLocaleString(locale)}` : '♥'),
    likeOfPost: (post) => t('likeOfPost', { name: displayName(post), count: post.likes }),
    likeOf: (comment) => t('likeOf', { name: displayName(comment), count: comment.likes }),
    report: t('report'),
    reportOf: named('reportOf'),
    reportWhy: t('reportWhy'),
    reported: t('reported'),
    cancel: t('cancel'),
    newComments: counted('newComments'),
    moreComments: t('moreComments'),
    moreReplies: counted('moreReplies'),
    showAnswers: counted('showAnswers'),
    allComments: t('allComments'),
    noComments: because('noComments'),
    noCommentsYet: t('noCommentsYet'),
    closed: t('closed'),

    /** The first of so many. @param {string[]} names @param {number} all */
    among: (names, all) => {
        const listed = (some) => some.reduce((name, second) => t('listed', { name, second }));
        const [first, last, count] = [names.slice(0, -1), names.at(-1), all - names.length];
        if (count > 0) return { name: t('andOthers', { names: listed(names), count }), count: all };
        return { name: first.length > 0 ? t('both', { name: listed(first), second: last }) : last, count: all };
    },
    /** Those of the first page, of so many. */
    mutualFriends: (people, all) => t('mutualFriends', words.among(people.slice(0, all > 3 ? 2 : 3).map(displayName), all)),
    notice: {
        follow: (who) => t('followsYou', who),
        request: (who) => t('asksToFollowYou', who),
        accepted: (who) => t('acceptedYou', who),
        mention: (who) => t('mentionsYou', who),
        reply: (who) => t('answersYou', who),
        approach: (who) => t('wasNearYou', who),
        arrived: (who, { mine, place }) => t(mine ? 'youArrivedAt' : 'arrivedAt', { ...who, place }),
        left: (who, { mine, place }) => t(mine ? 'youLeft' : 'leftPlace', { ...who, place }),
        like: (who, { comment }) => t(comment === null ? 'likesYourPost' : 'likesYourComment', who),
    },
    newNotices: counted('newNotices'),
    afterNewNotices: t('afterNewNotices'),
    isNew: t('isNew'),
    noNotices: because('noNotices'),
    postGone: t('postGone'),

    refused: t('refused'),
    newToken: t('newToken'),
    away: (why, seconds) => (seconds > 1 ? t('feedAwayFor', { why, seconds }) : t('feedAway', { why })),
    failed: because('feedFailed'),
    retry: t('tryNow'),
};

/** @param {number} time ms since the epoch */
export function when(time) {
    return new Date(time).toLocaleString(locale, { dateStyle: 'medium', timeStyle: 'short' });
}

/** @param {number} time ms since the epoch @param {number} now the server's time */
export function ago(time, now) {
    return now - time < DAY_MS ? formatAgo(now - time) : when(time);
}

/** The text for an error: the server's own words, if there are any. @param {any} error */
export function reason(error) {
    if (error.code === 'unreachable') return t('unreachable');
    const text = error.message.trim();
    const detail = /[.!?。！？]$/.test(text) ? text : `${text}.`;
    return error.status > 0 ? t('serverSays', { detail }) : detail;
}

const REFUSALS = {
    subject_closed: 'closed',
    blocked: 'blocked',
    banned: 'banned',
    not_allowed: 'notAllowed',
    level_too_low: 'levelTooLow',
    no_subject: 'postGone',
    no_comment: 'commentNotThere',
    comment_not_visible: 'commentNotShown',
    not_your_comment: 'notYourComment',
    too_many_edits: 'tooManyEdits',
    text_held: 'textHeld',
};

/** The text for what was refused of a comment. @param {any} error of the API */
export function refusal(error) {
    if (error.status === 429) return t('tooFast', { count: Math.ceil((error.retryAfterMs ?? 1000) / 1000) });
    return error.code in REFUSALS ? t(REFUSALS[error.code]) : reason(error);
}
