// The page can be installed, and opens without a network: its service worker keeps it. A page that opened without the server says so,
// and is loaded again as soon as the server answers.

const RETRY_MS = 5000;

/** Keeps the page for when there is no network; when there is nothing else to load. */
export function keepPage() {
    // There are no service workers in a page without TLS that does not come from this machine.
    navigator.serviceWorker?.register('/sw.js').catch((error) => console.warn('this page does not open without a network:', error));
}

/** @param {boolean} reached whether the server has answered */
export function workOffline(reached) {
    document.getElementById('offline').hidden = reached;
    if (reached) return;
    const tryAgain = async () => {
        try {
            const response = await fetch('/v1/config', { cache: 'no-store' });
            if (response.ok) location.reload();
        } catch {
            // The next attempt is on its way.
        }
    };
    addEventListener('online', tryAgain);
    setInterval(tryAgain, RETRY_MS);
}
