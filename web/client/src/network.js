/** What tells of the network's return, in a browser. */
export function browserNetwork() {
    const { addEventListener, removeEventListener } = globalThis;
    if (typeof addEventListener !== 'function') return null;
    return {
        addEventListener: addEventListener.bind(globalThis),
        removeEventListener: removeEventListener.bind(globalThis),
    };
}
