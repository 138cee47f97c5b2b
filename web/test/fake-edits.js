// Edits of a text, as starling-ingest answers for them: of posts and comments alike.

/** @param {{text: string, edits?: any[], user: number, time: number}} item @param {{text: string, version: number}} body */
export function edit(item, { text, version }) {
    const edits = versionsOf(item);
    if (version !== edits[0].version) return [409, { code: 'old_version', detail: 'the text has been edited since that version' }];
    item.edits = [{ version: version + 1, text, time: Date.now(), user: item.user }, ...edits];
    item.text = text;
    return null;
}

/** The newest first. */
export function versionsOf({ text, edits, user, time }) {
    return edits ?? [{ version: 1, text, time, user }];
}

/** What the JSON of the item says of them. */
export function marksOf({ edits }) {
    return { version: edits?.[0].version ?? 1, edited: edits?.[0].time ?? null };
}
