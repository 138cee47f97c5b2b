// How the connection is, in a pill and, when it is not well, in a banner. What is spoken is spoken once, and little.

import { focusMain, setText } from './dom.js';
import { t } from './texts.js';

const SPEAK_AT_MOST_EVERY_MS = 10_000;
const LOST_FOR_SO_LONG_MS = 2000; // shorter gaps are not worth a word

const REASONS = {
    elsewhere: t('endedElsewhere'),
    token: t('tokenRefused'),
    expired: t('tokenExpired'),
    url: t('badAddress'),
};

export class Status {
    #state = document.getElementById('state');
    #banner = document.getElementById('banner');
    #retry = document.getElementById('retry');
    #announcer = new Announcer(document.getElementById('announce'));
    #change = { state: 'idle' };
    #lost = false; // and not found again: an attempt that is under way is no reason for the banner to blink
    #lostTimer = 0;
    #lostSpoken = true; // the first connection is worth a word, too

    /** @param {import('../client/index.js').StateChange} change */
    show(change) {
        this.#change = change;
        if (change.state !== 'connecting') this.#lost = change.state === 'waiting';
        this.#state.dataset.state = change.state;
        if (change.reason) this.#state.dataset.reason = change.reason;
        else delete this.#state.dataset.reason;
        this.tick();
        this.#speak(change);
    }

    /** The count-down, and whether this machine has a network at all. */
    tick() {
        const { state, retryAt } = this.#change;
        const offline = !navigator.onLine && state !== 'idle';
        const seconds = Math.max(0, Math.ceil(((retryAt ?? 0) - Date.now()) / 1000));
        const short = offline ? t('offline') : SHORT[state];
        this.#state.classList.toggle('offline', offline);
        setText(this.#state.querySelector('.text'), short);
        setText(this.#banner.querySelector('.text'), this.#sentence(offline, seconds));
        setText(this.#retry, state === 'closed' ? t('connectHere') : t('tryNow'));
        const focused = this.#banner.contains(document.activeElement);
        this.#retry.hidden = !this.#lost && this.#change.reason !== 'elsewhere';
        this.#banner.hidden = !(this.#lost || state === 'closed' || offline);
        // Whoever pressed the button in it is not to start from the top of the page again.
        if (focused && (this.#banner.hidden || this.#retry.hidden)) focusMain();
    }

    /** @param {() => string} sentence asked for when its turn comes: said politely, once in ten seconds at most */
    announce(sentence) {
        this.#announcer.gather(sentence);
    }

    #sentence(offline, seconds) {
        const { state, reason } = this.#change;
        if (state === 'closed') return REASONS[reason];
        if (offline) return t('deviceOffline');
        return seconds > 1 ? t('connectionLostFor', { seconds }) : t('connectionLost');
    }

    #speak({ state, reason }) {
        if (state === 'waiting' || state === 'connecting') {
            // From when it was lost on: attempts that fail do not begin it anew.
            if (!this.#lostSpoken) this.#lostTimer ||= setTimeout(() => this.#speakOfLoss(), LOST_FOR_SO_LONG_MS);
            return;
        }
        clearTimeout(this.#lostTimer);
        this.#lostTimer = 0;
        if (state === 'closed') {
            this.#announcer.say(REASONS[reason]);
            this.#lostSpoken = true;
        } else if (state === 'online' && this.#lostSpoken) {
            this.#announcer.say(t('connected'));
            this.#lostSpoken = false;
        }
    }

    #speakOfLoss() {
        this.#lostTimer = 0;
        this.#lostSpoken = true;
        this.#announcer.say(t('notConnected'));
    }
}

const SHORT = {
    idle: t('signedOut'),
    connecting: t('connecting'),
    online: t('connected'),
    waiting: t('reconnecting'),
    closed: t('disconnected'),
};

/** A live region: what matters is said at once, the rest at most once in ten seconds. */
export class Announcer {
    #element;
    #spokenAt = -Infinity;
    #timer = 0;
    #gathered = () => '';

    constructor(element) {
        this.#element = element;
    }

    /** At once: it matters. */
    say(sentence) {
        this.#spokenAt = performance.now();
        this.#element.textContent = sentence;
    }

    gather(sentence) {
        this.#gathered = sentence;
        if (!this.#timer) this.#saySoon();
    }

    #saySoon() {
        const wait = Math.max(0, this.#spokenAt + SPEAK_AT_MOST_EVERY_MS - performance.now());
        this.#timer = setTimeout(() => {
            this.#timer = 0;
            // Something that mattered more was said meanwhile, and is not to be cut short.
            if (performance.now() < this.#spokenAt + SPEAK_AT_MOST_EVERY_MS) return this.#saySoon();
            const text = this.#gathered();
            if (text) this.say(text);
        }, wait);
    }
}
