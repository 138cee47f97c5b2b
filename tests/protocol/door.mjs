// Calls StarlingApi of web/client for the end-to-end tests; README.md says how it is spoken to.

import { createInterface } from 'node:readline';
import { StarlingApi } from '../../web/client/index.js';

const { url, token, patience_s: patience = 30 } = JSON.parse(process.argv[2]);
const api = new StarlingApi({ url, token, patienceMs: patience * 1000 });

async function called({ call, arguments: given = [], options, all = false }) {
    const made = api[call](...given, ...(options ? [options] : []));
    if (!all) return { result: (await made) ?? null };
    const result = [];
    for await (const item of api.all(made)) result.push(item);
    return { result };
}

for await (const line of createInterface({ input: process.stdin })) {
    const answer = await called(JSON.parse(line)).catch((error) => {
        const { status = null, code = null, why = null, message } = error;
        return { error: error.constructor.name, status, code, why, message };
    });
    process.stdout.write(`${JSON.stringify(answer)}\n`);
}
