// The like of a post: a button that is pressed at once, and corrected by what the server answers.

import { make, setText } from '../dom.js';
import { refusal, words } from '../words.js';

export class LikeButton {
    button = make('button', 'quiet');
    problem = make('p', 'problem');
    #post;
    #api;
    #likes = null; // null: not known
    #liked = false;
    #wanted = null; // what was chosen, until it is decided
    #asking = false;

    /** @param {{id: string, likes: number | null, liked: boolean | null}} post @param {import('../api.js').Api} api */
    constructor(post, api) {
        this.#post = post;
        this.#api = api;
        this.button.type = 'button';
        this.button.addEventListener('click', () => this.#choose(!this.#pressed));
        this.problem.setAttribute('role', 'alert');
        this.problem.hidden = true;
        this.heard(post);
    }

    /** The post was read again, or its thread tells. @param {{likes: number | null, liked?: boolean | null}} now null: it says nothing */
    heard({ likes, liked = null }) {
        this.#likes = likes ?? this.#likes;
        if (!this.#asking) this.#liked = liked ?? this.#liked;
        this.#render();
    }

    get #pressed() {
        return this.#wanted ?? this.#liked;
    }

    /** Of several choices while one is asked for, the last one counts. @param {boolean} liked */
    async #choose(liked) {
        this.#wanted = liked;
        this.problem.hidden = true;
        this.#render();
        if (this.#asking) return;
        this.#asking = true;
        while (this.#wanted !== null) await this.#ask(this.#wanted);
        this.#asking = false;
    }

    async #ask(wanted) {
        const { id } = this.#post;
        const asked = wanted ? this.#api.likePost(id) : this.#api.unlikePost(id);
        const { likes, error } = await asked.then((count) => ({ likes: count, error: null }), (failure) => ({ likes: this.#likes, error: failure }));
        if (!error) this.#liked = wanted;
        if (error || this.#wanted === wanted) this.#wanted = null;
        this.#likes = likes;
        this.#render();
        if (!error) return;
        setText(this.problem, refusal(error));
        this.problem.hidden = false;
    }

    #render() {
        const likes = Math.max(0, (this.#likes ?? 0) + Number(this.#pressed) - Number(this.#liked));
        this.button.setAttribute('aria-pressed', String(this.#pressed));
        this.button.setAttribute('aria-label', words.likeOfPost({ ...this.#post, likes }));
        setText(this.button, words.like(likes));
    }
}
