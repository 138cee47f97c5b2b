// The requests of the moderators' page to the server. Same origin.

/** A problem that the server named. */
export class Problem extends Error {
    /** @param {number} status @param {string} code @param {string} detail */
    constructor(status, code, detail) {
        super(detail);
        this.status = status;
        this.code = code;
    }
}

export class ModerationApi {
    #token;

    /** @param {string} token */
    constructor(token) {
        this.#token = token;
    }

    async #request(method, path, body) {
        const response = await fetch(path, {
            method,
            headers: { Authorization: `Bearer ${this.#token}`, ...(body && { 'Content-Type': 'application/json' }) },
            body: body && JSON.stringify(body),
        });
        const answer = await response.json().catch(() => ({}));
        if (!response.ok) throw new Problem(response.status, answer.code ?? '', answer.detail ?? `the server answered ${response.status}`);
        return { status: response.status, answer };
    }

    /**
     * A page, the newest first. Conditions that are empty do not count.
     * @param {'comments' | 'posts' | 'users'} what
     * @param {Record<string, string>} conditions
     * @returns {Promise<{items: object[], next: string | null}>}
     */
    async search(what, conditions) {
        const query = new URLSearchParams(Object.entries(conditions).filter(([, value]) => value !== ''));
        return (await this.#request('GET', `/v1/moderation/${what}?${query}`)).answer;
    }

    /**
     * Changes the state of a comment, or of a post, which has no subject. Resolves with the new state, or with null: it is written, and not
     * decided yet.
     * @param {{subject?: string, id: string}} item subject: such as post:123
     * @param {'visible' | 'hidden' | 'deleted'} state
     * @param {string} reason
     * @returns {Promise<string | null>}
     */
    async decide({ subject, id }, state, reason) {
        const path = subject ? `comments/${subject.replace(':', '/')}/${id}` : `posts/${id}`;
        const { status, answer } = await this.#request('PUT', `/v1/moderation/${path}`, { state, reason });
        return status === 200 ? answer.state : null;
    }

    /** Forbids a user to post, comment and like, or allows it again. @param {number} user @param {string | null} reason */
    async ban(user, reason) {
        await this.#request(reason === null ? 'DELETE' : 'PUT', `/v1/moderation/bans/${user}`, reason === null ? undefined : { reason });
    }
}
