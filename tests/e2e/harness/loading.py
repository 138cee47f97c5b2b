"""How long the page takes, and how much it takes, until somebody's first friend stands: in a fresh browser, over a slow line if that is
asked for."""
import contextlib
import dataclasses
import json
from urllib.parse import urlsplit

SLOW_4G = {'latency': 150, 'downloadThroughput': 1.6e6 / 8, 'uploadThroughput': 750e3 / 8, 'offline': False}  # as Lighthouse has it
SLOW_CPU = 4  # times

_WATCH = '''
for (const [key, value] of Object.entries(%s)) sessionStorage.setItem(key, value);
new MutationObserver((_, observer) => {
    if (!document.querySelector(%s)) return;
    observer.disconnect();
    window.stoodAt = performance.now();
}).observe(document, { subtree: true, childList: true });'''


@dataclasses.dataclass
class Load:
    """ms: from the navigation until it stood in the document, in the frame that draws it.
    asked: (ms, path, bytes on the wire, headers) of each answer until then."""
    ms: float
    asked: list

    @property
    def bytes(self) -> int:
        return sum(size for _, _, size, _ in self.asked)

    @property
    def paths(self) -> list:
        return [path for _, path, _, _ in self.asked]


def session(token, place) -> dict:
    """What a tab keeps of somebody who is signed in."""
    return {'starling.token': token, **({'starling.place': f'{place[0]}, {place[1]}'} if place else {})}


def load(browser, address, kept, waits_for='#list > li', slow=False, again=False) -> Load:
    """Opens the address in a browser that was never there; again: that has just been there, instead."""
    with contextlib.closing(browser.new_context(viewport={'width': 390, 'height': 844}, service_workers='block')) as context:
        page = context.new_page()
        page.add_init_script(_WATCH % (json.dumps(kept), json.dumps(waits_for)))
        for _ in range(2 if again else 1):
            devtools, answers, done = context.new_cdp_session(page), {}, []
            devtools.send('Network.enable')
            if slow:
                devtools.send('Network.emulateNetworkConditions', SLOW_4G)
                devtools.send('Emulation.setCPUThrottlingRate', {'rate': SLOW_CPU})
            devtools.on('Network.responseReceived', lambda it: answers.update({it['requestId']: it}))
            devtools.on('Network.loadingFinished', lambda it: done.append(it))
            page.goto(address, wait_until='commit')
            page.wait_for_function('() => window.stoodAt', timeout=60_000)
            ms, requested = page.evaluate('[window.stoodAt, performance.getEntriesByType("navigation")[0].requestStart]')
            responses = [(it['timestamp'], answers[it['requestId']], it['encodedDataLength']) for it in done if it['requestId'] in answers]
            # The page counts its time from before the browser has made room for it; the browser says when it sent the first request.
            document = next(answer['response']['timing'] for _, answer, _ in responses if answer['type'] == 'Document')
            began = document['requestTime'] + (document['sendStart'] - requested) / 1000
            asked = [((at - began) * 1000, urlsplit(answer['response']['url']).path, size, answer['response']['headers'])
                     for at, answer, size in responses if (at - began) * 1000 <= ms]
            devtools.detach()
            if again:
                page.goto('about:blank')
        return Load(ms, asked)
