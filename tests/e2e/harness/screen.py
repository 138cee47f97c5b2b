"""The page in a browser: what a person does on it, what it shows, and everything that it must not do."""
import json
import re
from urllib.parse import urlsplit

from playwright.sync_api import Browser

from .cluster import PAGE
from .geo import distance_m
from .loading import session
from .waiting import PATIENCE, eventually

WIDE = {'width': 1280, 'height': 800}
PHONE = {'width': 390, 'height': 844}

_ROWS = '''rows => rows.map(row => ({
    user: Number(row.dataset.user), distance: Number(row.dataset.distance), time: Number(row.dataset.time),
    stale: row.classList.contains('stale'), name: row.querySelector('.name').textContent}))'''

_HEAR = '''window.spoken = [];
new MutationObserver(changes => {
    const region = document.getElementById('announce');
    if (changes.some(change => change.target === region)) window.spoken.push(region.textContent);
}).observe(document, {subtree: true, childList: true});'''


class Screen:
    """One tab with the page. A context manager that, at its end, asserts that the browser had nothing to complain about
    and that the page talked to nobody but this machine.

    frames: every frame that the page received over WebSockets, parsed, in order. sockets: their addresses.
    allowed: a pattern of what the browser itself may say, where a test makes the server refuse or go away.
    luck: what Math.random() says, always. Between two attempts to connect the page waits for that much of a window of up
    to a minute.
    """

    def __init__(self, browser: Browser, address: str, viewport: dict, luck: float | None = None, **options):
        assert PAGE.is_dir(), 'make the page first: npm --prefix web ci && npm --prefix web run build'
        self.address, self.allowed, self.opened = address, None, 0
        self.requests, self.sockets, self.frames, self._complaints = [], [], [], []
        options.setdefault('service_workers', 'block')  # a page that was kept would hide that its server is away
        self._context = browser.new_context(viewport=viewport, **options)
        self.page = self._context.new_page()
        self.page.add_init_script(_HEAR + ('' if luck is None else f'Math.random = () => {luck};'))
        self.page.set_default_timeout(20_000 * PATIENCE)
        self.page.on('request', lambda request: self.requests.append(request.url))
        self.page.on('websocket', self._opened)
        self.page.on('pageerror', lambda error: self._complaints.append(error.message))
        self.page.on('console', lambda said: said.type in ('error', 'warning')
                     and 'blocked by Playwright' not in said.text and self._complaints.append(said.text))

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                self.assert_quiet()
        finally:
            self.close()

    def _opened(self, socket):
        self.sockets.append(socket.url)
        socket.on('framereceived', lambda data: self.frames.append(json.loads(data)))

    def close(self):
        self._context.close()

    def assert_quiet(self):
        unexpected = [text for text in self._complaints if not (self.allowed and re.search(self.allowed, text))]
        assert not unexpected, f'the browser complains: {unexpected}'
        outside = [url for url in self.requests + self.sockets if urlsplit(url).hostname != '127.0.0.1']
        assert not outside, f'the page asks others: {outside}'

    # what a person does

    def open(self, token=None, at=None):
        """The page; with a token, as a tab that is signed in and is at that place."""
        if token:
            self.opened += 1  # not again when the page is loaded again
            kept = json.dumps({**session(token, at), 'opened': self.opened})
            self.page.add_init_script(f'{{ const kept = {kept}; if (+(sessionStorage.opened ?? 0) < kept.opened) Object.assign(sessionStorage, kept); }}')
        self.page.goto(f'{self.address}/')
        return self

    def sign_in(self, token: str, lat: float, lng: float):
        """By hand, in the sheet that the page opens with."""
        self.page.fill('#token', token)
        self.page.fill('#start', f'{lat}, {lng}')
        self.page.click('#sign-in')

    def more(self):
        self.page.click('#more')

    def go(self, lat: float, lng: float):
        """By number, under my name."""
        with self.panel():
            self.page.fill('#place', f'{lat}, {lng}')
            self.page.click('#go')

    def share(self, mode: str):
        with self.panel():
            self.page.click(f'#sharing label:has(input[value={mode}])')

    def rename(self, name: str):
        with self.panel():
            self.page.fill('#name', name)
            self.page.click('#save-profile')

    def show_feed(self):
        """Opens the feed's tab on a narrow screen, where map and feed are two tabs."""
        if self.page.is_visible('#tab-feed'):
            self.page.click('#tab-feed')

    def take_news(self):
        """Shows new posts that wait, if there are any."""
        if self.page.is_visible('#news'):
            self.page.click('#news')

    def panel(self):
        return _Panel(self.page)

    # what the page shows

    def text(self, selector: str) -> str:
        return self.page.locator(selector).text_content().strip()

    def spoken(self) -> list[str]:
        """Everything that was announced since the page was loaded."""
        return self.page.evaluate('window.spoken')

    def rows(self) -> list[dict]:
        """The list, from the top: user, distance (m), time (ms), stale, name."""
        return self.page.eval_on_selector_all('#list > li', _ROWS)

    def row(self, user) -> dict | None:
        return next((row for row in self.rows() if row['user'] == user), None)

    def friends(self) -> set:
        return {row['user'] for row in self.rows()}

    def posts(self) -> list[int]:
        """The home timeline as shown: ids, from the top."""
        ids = self.page.eval_on_selector_all('#home > article', 'posts => posts.map(post => post.dataset.post)')
        return [int(post) for post in ids]

    def faces(self) -> set:
        """Who is on the map, by a marker or behind one."""
        shown = self.page.eval_on_selector_all('.face', "faces => faces.map(face => `${face.dataset.user} ${face.dataset.also}`)")
        return {int(user) for users in shown for user in users.split()}

    def face(self, user) -> tuple[float, float]:
        """Where on the glass that marker is."""
        box = self.page.locator(f'.face[data-user="{user}"]').bounding_box()
        return box['x'], box['y']

    def place(self) -> tuple[float, float]:
        """Where the page believes me to be."""
        return tuple(map(float, self.page.eval_on_selector('#map', 'map => [map.dataset.lat, map.dataset.lng]')))

    def told(self) -> dict:
        """friend -> item as the server last said it on the newest connection, by the page's own frames."""
        start = max((i for i, frame in enumerate(self.frames) if frame['type'] == 'welcome'), default=0)
        items = {}
        for frame in self.frames[start:]:
            for item in frame['items'] if frame['type'] == 'nearby' else frame.get('near', []):
                items[item['user']] = item
            for user in frame.get('gone', []):
                items.pop(user, None)
        return items

    # what must become true

    def wait_state(self, state: str, reason=None, timeout=20.0 * PATIENCE):
        wanted = f'#state[data-state="{state}"]' + (f'[data-reason="{reason}"]' if reason else '')
        self.page.wait_for_selector(wanted, timeout=timeout * 1000)

    def wait_friends(self, users, timeout=20.0 * PATIENCE):
        """Exactly these are on the list, and on the map."""
        wanted = set(users)

        def same():
            assert self.friends() == wanted, f'list: {sorted(self.friends())}, not {sorted(wanted)}'
            assert self.faces() == wanted, f'map: {sorted(self.faces())}, not {sorted(wanted)}'
            return True

        eventually(same, timeout)

    def wait_posts(self, expected, timeout=30.0 * PATIENCE):
        """Waits until the posts shown are the newest of these ids, twenty or more, once waiting ones are shown."""
        def right():
            self.take_news()
            shown, truth = self.posts(), expected()
            assert shown == truth[:max(len(shown), min(20, len(truth)))], f'{shown}, not {truth}'
            return True

        eventually(right, timeout)

    def wait_list(self, positions: dict, total: int, timeout=20.0 * PATIENCE) -> list[dict]:
        """Waits until the list is the nearest of positions {friend: (lat, lng)}, in order and to the centimetre, from
        where I am; as many as the list has rows. Returns the rows."""
        def right():
            here = self.place()
            truth = sorted((round(distance_m(*here, *at), 2), user) for user, at in positions.items())
            rows = self.rows()
            assert rows or not positions, 'the list is empty'
            shown, wanted = [row['user'] for row in rows], [user for _, user in truth[:len(rows)]]
            assert shown == wanted, f'list {shown}, not {wanted}'
            wrong = {row['user']: (row['distance'], metres) for row, (metres, _) in zip(rows, truth)
                     if abs(row['distance'] - metres) > 0.011}  # a hundredth, but for how it is rounded
            assert not wrong, f'distances shown and true: {wrong}'
            assert self.text('#total') == str(total), f"total {self.text('#total')}, not {total}"
            return True

        eventually(right, timeout)
        return self.rows()


class _Panel:
    """The panel under my name, open while something is done in it."""

    def __init__(self, page):
        self._page = page

    def __enter__(self):
        self._page.click('#me summary')

    def __exit__(self, *_):
        self._page.keyboard.press('Escape')
