// All texts of the feed and of the notices. No DOM in here.

import { displayName, formatAgo, webHost } from './format.js';

const DAY_MS = 86_400_000;

const several = (count, one, many) => `${count.toLocaleString('en')} ${count === 1 ? one : many}`;

export const words = {
    newPosts: (count) => several(count, 'new post', 'new posts'),
    afterNewPosts: (count) => (count === 1 ? ' new post' : ' new posts'),
    count: (length, most) => `${length.toLocaleString('en')} / ${most.toLocaleString('en')}`,
    tooMany: (count) => `${several(count, 'character', 'characters')} too many`,

    post: 'Post',
    posting: 'Posting…',
    posted: 'Posted. It is among your own posts.',
    notPosted: (why) => `Not posted yet. ${why} Try again: it will be one post.`,
    postRefused: (why) => `Not posted. ${why}`,
    postDeleted: 'This post was made and deleted already. Post again to make another one.',

    remove: 'Delete',
    removePost: (post) => `Delete the post of ${when(post.time)}`,
    reallyRemove: 'Delete this post?',
    keep: 'Keep',
    removed: 'The post is deleted.',
    notRemoved: (why) => `The post was not deleted. ${why}`,

    follow: 'Follow',
    unfollow: 'Unfollow',
    followPerson: (person) => `Follow ${displayName(person)}`,
    unfollowPerson: (person) => `Unfollow ${displayName(person)}`,
    followAgain: 'Follow again',
    followed: (person) => `You follow ${displayName(person)} now.`,
    unfollowed: (person) => `You do not follow ${displayName(person)} any more.`,
    notFollowed: (person, why) => `Whether you follow ${displayName(person)} was not changed. ${why}`,
    myself: 'This is you.',
    noPerson: 'A user is a number, as in 1234, or a handle, as in @ada.',
    noHandle: 'A handle has 3 to 30 letters, digits and underscores.',
    handleTaken: (handle) => `Somebody else is called @${handle}.`,
    handleNotSaved: (why) => `Your handle was not saved. ${why}`,
    nobody: (handle) => `Nobody is called @${handle}.`,
    personUnknown: (why) => `Nobody was found. ${why}`,
    personLine: (person) => [handleOf(person), countsOf(person)].filter(Boolean).join(' · '),

    unavailable: 'This post cannot be shown just now. It appears by itself.',
    attachment: (number, url) => `Attachment ${number} (${webHost(url)})`,
    older: 'Show older posts',
    loading: 'Loading…',
    notOlder: (why) => `Older posts could not be read. ${why}`,
    end: 'This is where it begins.',
    emptyHome: 'No posts yet. Follow somebody, and what they post appears here.',
    emptyMine: 'You have not posted anything yet.',
    gathering: 'Your feed is just being gathered…',

    lookingAround: 'Looking around…',
    around: 'You see in which area they are, as they see yours. Nobody sees a place.',
    nobodyAround: 'Nobody around shares with everybody just now.',
    mustBePublic: 'Only who is seen by everybody sees others. Choose “everybody” under your name: people around learn your area, and not your place.',
    notAround: (why) => `People around cannot be shown. ${why}`,
    about: (distance) => `about ${distance}`,

    comments: (count) => (count === null ? 'Comments' : count === 0 ? 'Comment' : several(count, 'comment', 'comments')),
    commentsAway: 'Comments are not available',
    thread: (name) => `Comments on the post of ${name}`,
    order: 'Order of the comments',
    orders: { floor: 'Oldest first', newest: 'Newest first', heat: 'Popular first' },
    writeComment: 'Write a comment',
    comment: 'Comment',
    commented: 'Your comment is there.',
    commentHeld: 'Your comment is there, and is shown to others when a moderator has read it.',
    commentRemoved: 'The comment is deleted.',
    commentGone: 'The comment of the notice is not there any more. These are all comments.',
    commentUnavailable: 'This comment cannot be shown just now. It appears by itself.',
    commentStates: { held: 'This comment waits for a moderator.', hidden: 'A moderator has hidden this comment.', deleted: 'This comment is deleted.' },
    held: '(Only you see this, until a moderator has read it.)',
    removeComment: (comment) => `Delete the comment of ${displayName(comment)}`,
    reallyRemoveComment: 'Delete this comment?',
    floor: ({ floor, root }) => (root === null ? `Comment ${floor}` : `Reply ${floor}`),
    answer: 'Reply',
    answerTo: (comment) => `Reply to ${displayName(comment)}`,
    answers: (comment) => `to ${displayName(comment)}`,
    like: (likes) => (likes > 0 ? `♥ ${likes.toLocaleString('en')}` : '♥'),
    likeOf: (comment) => `Like the comment of ${displayName(comment)}, ${several(comment.likes, 'like', 'likes')}`,
    report: 'Report',
    reportOf: (comment) => `Report the comment of ${displayName(comment)}`,
    reportWhy: 'What is wrong with it?',
    reported: 'Thank you. The moderators will look at it.',
    cancel: 'Cancel',
    newComments: (count) => several(count, 'new comment', 'new comments'),
    moreComments: 'More comments',
    moreReplies: (count) => several(count, 'more reply', 'more replies'),
    allComments: 'Show all comments',
    noComments: (why) => `The comments cannot be read. ${why}`,
    noCommentsYet: 'Nobody has commented yet.',
    closed: 'No more comments can be written here.',

    notice: {
        follow: (name) => `${name} follows you`,
        mention: (name) => `${name} mentions you`,
        reply: (name) => `${name} answers you`,
    },
    newNotices: (count) => several(count, 'new notice', 'new notices'),
    afterNewNotices: ' new',
    isNew: 'New',
    noNotices: (why) => `Your notices cannot be read. ${why}`,
    postGone: 'This post is deleted.',

    refused: 'The server does not accept your token any more.',
    newToken: 'New token',
    away: (why, seconds) => `Your feed cannot be read. ${why} ${seconds > 1 ? `Trying again in ${seconds} s.` : 'Trying again.'}`,
    failed: (why) => `Your feed cannot be read. ${why}`,
    retry: 'Try now',
};

const handleOf = ({ handle }) => (handle ? `@${handle}` : '');
const countsOf = ({ followers, following, posts }) =>
    followers === undefined
        ? ''
        : `${several(followers, 'follower', 'followers')} · follows ${following.toLocaleString('en')} · ${several(posts, 'post', 'posts')}`;

/** @param {number} time ms since the epoch */
export function when(time) {
    return new Date(time).toLocaleString('en', { dateStyle: 'medium', timeStyle: 'short' });
}

/** @param {number} time ms since the epoch @param {number} now the server's time */
export function ago(time, now) {
    return now - time < DAY_MS ? formatAgo(now - time) : when(time);
}

/** The text for an error: the server's own words, if there are any. @param {Error} error */
export function reason(error) {
    const text = error.message.trim();
    return /[.!?]$/.test(text) ? text : `${text}.`;
}

const REFUSALS = {
    subject_closed: words.closed,
    blocked: 'You cannot answer here, as one of you has blocked the other.',
    banned: 'You may not comment any more.',
    not_allowed: 'The author lets only some people comment here.',
    level_too_low: 'Your account may not comment here yet.',
    no_subject: 'The post is deleted.',
    no_comment: 'This comment is not there any more.',
    comment_not_visible: 'This comment is not shown any more.',
    not_your_comment: 'Somebody else has written this comment.',
};

/** The text for what was refused of a comment. @param {any} error of the API */
export function refusal(error) {
    if (error.status !== 429) return REFUSALS[error.code] ?? reason(error);
    const seconds = Math.ceil((error.retryAfterMs ?? 1000) / 1000);
    return `You write faster than anybody may. Try again in ${several(seconds, 'second', 'seconds')}.`;
}
