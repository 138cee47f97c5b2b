// My places: a list in the settings, and a form beside the map in which one is drawn. Who is told gets a notice when I arrive or leave.

import { make, setText } from './dom.js';
import { displayName, formatDistance } from './format.js';
import { t } from './texts.js';
import { reason } from './words.js';

const PAGE = 1000; // there are no more
const NEW_RADIUS_M = 150;
const [LEAST_M, MOST_M] = [50, 50_000];
const TOLD = { me: 'toldMe', friends: 'toldFriends' };

const $ = (id) => document.getElementById(id);

/** @typedef {import('../client/index.js').NamedPlace} NamedPlace */

export class Places {
    #api = () => null;
    #map;
    #here;
    #friends;
    #showMap;
    #asked = 0;
    /** @type {NamedPlace[]} */
    #list = [];
    /** @type {{id: string, lat: number, lng: number, radiusM: number} | null} */
    #draft = null;

    /**
     * @param {{api: () => import('./api.js').Api | null, map: import('./map-later.js').MapLater, here: () => {lat: number, lng: number},
     *          friends: () => {user: string, name: string | null, state: string}[], showMap: () => void}} parts here: where I am
     */
    constructor({ api, map, here, friends, showMap }) {
        this.#api = api;
        this.#map = map;
        this.#here = here;
        this.#friends = friends;
        this.#showMap = showMap;
        $('places').addEventListener('toggle', () => $('places').open && this.read());
        $('me').addEventListener('toggle', () => ($('places').open = false));
        $('place-new').addEventListener('click', () => this.#begin({ id: drawId(), name: '', ...this.#here(), radiusM: NEW_RADIUS_M, tell: 'me' }));
        $('draft').addEventListener('submit', (event) => {
            event.preventDefault();
            this.#save();
        });
        $('draft-cancel').addEventListener('click', () => this.#end());
        $('draft').addEventListener('keydown', (event) => event.key === 'Escape' && this.#end());
        $('draft-radius').addEventListener('input', () => $('draft-radius').validity.valid && this.#change({ radiusM: $('draft-radius').valueAsNumber }));
        $('draft-tell').addEventListener('change', () => this.#offerFriends());
    }

    /** The next user must not find these places. */
    forget() {
        this.#asked += 1;
        this.#end(false);
        this.#show([]);
        this.#complain('');
    }

    /** Reads the list. @param {boolean} [quietly] nobody has asked for it */
    async read(quietly = false) {
        const asked = (this.#asked += 1);
        const answer = await this.#api()?.getPlaces({ limit: PAGE }).catch((error) => ({ error }));
        if (asked !== this.#asked || !answer) return;
        if (!quietly) this.#complain(answer.error ? t('placesNotRead', { why: reason(answer.error) }) : '');
        if (!answer.error) this.#show(answer.items);
    }

    /** @param {NamedPlace[]} list */
    #show(list) {
        this.#list = list;
        $('place-list').replaceChildren(...list.map((place) => this.#row(place)));
        this.#map.showPlaces(list.filter(({ id }) => id !== this.#draft?.id));
    }

    /** @param {NamedPlace} place */
    #row(place) {
        const [row, text, name, detail] = [make('li'), make('span'), make('span', 'text'), make('span', 'small')];
        name.textContent = place.name;
        name.id = `place-${place.id}`;
        const told = typeof place.tell === 'string' ? t(TOLD[place.tell]) : t('toldSome', { count: place.tell.length });
        detail.textContent = t('placeDetail', { radius: formatDistance(place.radiusM), told });
        text.append(name, detail);
        row.append(text, this.#button('changePlace', name.id, () => this.#begin(place)), this.#button('remove', name.id, () => this.#remove(place)));
        row.dataset.place = place.id;
        return row;
    }

    #button(text, about, act) {
        const button = make('button');
        button.type = 'button';
        button.textContent = t(text);
        button.setAttribute('aria-describedby', about);
        button.addEventListener('click', act);
        return button;
    }

    async #remove({ id }) {
        const error = await this.#api()?.deletePlace(id).then(() => null, (failure) => failure);
        $('places-summary').focus(); // the button goes
        if (error && error.code !== 'no_place') return this.#complain(t('placeNotRemoved', { why: reason(error) }));
        await this.read();
    }

    // ---- the form ----

    /** @param {NamedPlace} place */
    #begin({ id, name, lat, lng, radiusM, tell }) {
        $('me').open = false;
        this.#showMap();
        this.#draft = { id, lat, lng, radiusM };
        $('draft').hidden = false;
        $('nearby').classList.add('drafting');
        $('draft-name').value = name;
        $('draft-tell').value = typeof tell === 'string' ? tell : 'users';
        this.#friendBoxes(typeof tell === 'string' ? [] : tell);
        this.#offerFriends();
        this.#say('');
        this.#change({});
        this.#show(this.#list);
        $('draft-name').focus();
    }

    #end(focus = true) {
        if (this.#draft === null) return;
        this.#draft = null;
        $('draft').hidden = true;
        $('nearby').classList.remove('drafting');
        this.#map.draw(null);
        this.#show(this.#list);
        if (focus) $('map').focus({ preventScroll: true });
    }

    /** @param {{lat?: number, lng?: number, radiusM?: number}} change on the map, or in the field */
    #change(change) {
        if (this.#draft === null) return;
        const radiusM = Math.round(Math.max(LEAST_M, Math.min(MOST_M, change.radiusM ?? this.#draft.radiusM)));
        this.#draft = { ...this.#draft, ...change, radiusM };
        if (document.activeElement !== $('draft-radius')) $('draft-radius').value = String(radiusM);
        const { lat, lng } = this.#draft;
        this.#map.draw({ lat, lng, radiusM, onChange: (more) => this.#change(more) });
    }

    /** All friends, and whoever is chosen already. @param {readonly string[]} chosen */
    #friendBoxes(chosen) {
        const friends = this.#friends().filter(({ state }) => state === 'friends');
        const others = chosen.filter((user) => friends.every((friend) => friend.user !== user)).map((user) => ({ user, name: null }));
        $('draft-people').replaceChildren(...[...friends, ...others].map((friend) => {
            const [label, box, name] = [make('label'), make('input'), make('span', 'text')];
            Object.assign(box, { type: 'checkbox', value: friend.user, checked: chosen.includes(friend.user) });
            name.textContent = displayName(friend);
            label.append(box, name);
            return label;
        }));
    }

    #offerFriends() {
        $('draft-friends').hidden = $('draft-tell').value !== 'users';
    }

    async #save() {
        const { id, lat, lng, radiusM } = this.#draft;
        const users = [...$('draft-people').querySelectorAll(':checked')].map(({ value }) => value);
        const tell = $('draft-tell').value !== 'users' ? $('draft-tell').value : users.length > 0 ? users : 'me';
        $('draft-save').disabled = true;
        const error = await this.#api()?.setPlace(id, { name: $('draft-name').value.trim(), lat, lng, radiusM, tell }).then(() => null, (failure) => failure);
        $('draft-save').disabled = false;
        if (this.#draft?.id !== id) return;
        if (error) return this.#say(error.code === 'places_limit' ? t('tooManyPlaces') : t('placeNotSaved', { why: reason(error) }));
        this.#end();
        await this.read();
    }

    #say(message) {
        setText($('draft-problem'), message);
        $('draft-problem').hidden = message === '';
    }

    #complain(message) {
        setText($('places-problem'), message);
        $('places-problem').hidden = message === '';
    }
}

/** Of a new place. */
function drawId() {
    return [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
