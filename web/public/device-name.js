// What this browser calls itself on the list of devices: "Firefox – Linux". No DOM in here.

const BROWSERS = {
    Edge: /\bEdg(e|A|iOS)?\//,
    Opera: /\bOPR\//,
    Firefox: /\b(Firefox|FxiOS)\//,
    Chrome: /\b(Chrome|CriOS|Chromium|HeadlessChrome)\//,
    Safari: /\bSafari\//,
};
const SYSTEMS = {
    Android: /\bAndroid\b/,
    iPhone: /\biPhone\b/,
    iPad: /\biPad\b/,
    Windows: /\bWindows\b/,
    ChromeOS: /\bCrOS\b/,
    macOS: /\bMac(intosh| OS X)\b/,
    Linux: /\bLinux\b/,
};

/** @param {Record<string, RegExp>} patterns @param {string} text */
const first = (patterns, text) => Object.keys(patterns).find((name) => patterns[name].test(text));

/** @param {string} userAgent @returns {string | undefined} undefined: it does not say */
export function deviceName(userAgent) {
    return [BROWSERS, SYSTEMS].map((patterns) => first(patterns, userAgent)).filter(Boolean).join(' – ') || undefined;
}
