/** The events of a browser's network, such as its return; null outside of browsers. */
export function browserNetwork() {
    const { addEventListener, removeEventListener } = globalThis;
    if (typeof addEventListener !== 'function') return null;
    return {
        addEventListener: addEventListener.bind(globalThis),
        removeEventListener: removeEventListener.bind(globalThis),
    };
}
