/** Degrees, WGS 84. The wire carries multiples of 1e-7. */
export interface LatLng {
    readonly lat: number;
    readonly lng: number;
}

/** What a phone says beside the place; absent: it does not. */
export interface Details {
    /** 0 to 1. */
    readonly battery?: number;
    readonly charging?: boolean;
    /** Metres a second. */
    readonly speed?: number;
    /** Degrees, clockwise from north. */
    readonly course?: number;
    readonly activity?: 'still' | 'walking' | 'running' | 'cycling' | 'driving' | 'transit' | 'unknown';
    /** Metres. */
    readonly verticalAccuracy?: number;
}

/** A friend who is near. Details, and the accuracy: of friends who share them. */
export interface Friend extends LatLng, Details {
    /** Metres. */
    readonly accuracy?: number;
    /** User id, 0 to 2^63-1 in decimal: a number would not hold it. */
    readonly user: string;
    /** null: no profile yet. */
    readonly name: string | null;
    readonly avatarUrl: string | null;
    /** Metres from where I am now. */
    readonly distance: number;
    /** When the friend last reported, ms since the epoch by the server's clock. */
    readonly time: number;
    /** Has missed a few reports, and may be somewhere else by now. */
    readonly stale: boolean;
    /** The friend lets me see only about where they are: the place is the centre of a cell. */
    readonly rounded: boolean;
}

/**
 * A JWT whose `sub` is the user; or a function that gets one from wherever the application has them. The function is asked
 * for every connection, before a token ends (which renews it on the open connection), and once more when the server
 * refuses one (1008, 4003). If it throws, the attempt counts as failed, and there is another.
 */
export type Token = string | (() => string | Promise<string>);

export interface Welcome {
    readonly user: string;
    /** The id of this session among my devices; undefined: the server says none. */
    readonly session?: string;
    readonly serverTime: number;
    readonly radiusM: number;
    readonly reportEveryS: number;
    readonly inactiveAfterS: number;
}

/**
 * idle: not connected and not trying. connecting: until the server's welcome. online. waiting: lost, tries again by
 * itself. closed: ended for a reason that only a person can mend; connect() or renew() starts again.
 */
export type State = 'idle' | 'connecting' | 'online' | 'waiting' | 'closed';

/** token: refused (1008, for the token's sake). expired: 4003; neither if a token function has a better one. elsewhere: ended from another device (4001). url: not a WebSocket address. */
export type ClosedReason = 'token' | 'expired' | 'elsewhere' | 'url';

export interface StateChange {
    state: State;
    /** With closed. */
    reason?: ClosedReason;
    /** The close code, with waiting and closed. */
    code?: number;
    /** When the next attempt is due, ms since the epoch by the local clock; with waiting. */
    retryAt?: number;
    /** The error that ended the connection, or kept it from being made; with waiting, and with closed unless the address is none. */
    error?: ConnectionEnded;
}

/**
 * page: a page came, or was given up. update: friends came, moved or went. expiry: somebody was silent for too long.
 * stale: somebody has become stale. move: I moved. more: more of what is known is listed.
 */
export type ChangeCause = 'page' | 'update' | 'expiry' | 'stale' | 'move' | 'more';

export interface Change {
    cause: ChangeCause;
    /** Friends who were not known to be near before; with update. */
    came: Friend[];
    /** Friends who are not near any more; with update and expiry. */
    gone: string[];
}

export interface ClientEvents {
    state: StateChange;
    welcome: Welcome;
    change: Change;
    /** The answer to discover(). */
    strangers: Strangers;
    /** Users of those answers who no longer share with everybody, or all of them when I do not: take them off the screen at once. */
    strangers_gone: { gone: string[] };
    /**
     * The server's error frames, and bad_frame, bad_url, no_token and offline of our own. Nothing ends because of one. about: `discover`
     * if it is the answer to that. retryAfterMs: asking again before that is of no use.
     */
    error: { code: string; message: string; about?: string; retryAfterMs?: number };
}

export interface NetworkEvents {
    addEventListener(type: 'online', listener: () => void): void;
    removeEventListener(type: 'online', listener: () => void): void;
}

export interface Clock {
    now(): number;
    setTimeout(run: () => void, ms: number): any;
    clearTimeout(timer: any): void;
}

export interface ClientOptions {
    /** ws: or wss: address of the edge. */
    url: string;
    token: Token;
    /** The name of this device, which my list of devices shows: 1 to 64 bytes. */
    device?: string;
    /** My position. Without it, and until move(), I see no friends and am seen by none; feeds can be watched all the same. */
    position?: LatLng & { accuracy?: number } & Details;
    /** Moves closer together than this make one report. Default 1000. */
    throttleMs?: number;
    /**
     * Ask for the pages beyond what more() wants, too, one every quarter of a second: for a map of everybody, and so that
     * the list is right at once after a move of mine (else within the friends' next reports). Default false.
     */
    prefetch?: boolean;
    /** A friend whose last report is this old is stale. Default: four times the server's report_every_s. */
    staleAfterMs?: number;
    /** Server time minus local time, as far as it is known before the first welcome. Default 0. */
    clockOffsetMs?: number;
    /** Default: the global one. In Node before 22, the `ws` package's. */
    WebSocket?: any;
    /** Tells of the network's return by an event `online`. Default: the browser's window, where there is one. */
    network?: NetworkEvents;
    /** For tests. */
    clock?: Clock;
    /** For tests: 0 <= random() < 1. */
    random?: () => number;
}

export class StarlingClient {
    constructor(options: ClientOptions);

    readonly state: State;
    /** null before the first welcome. */
    readonly welcome: Welcome | null;
    /** My position; null: not known. */
    readonly position: LatLng | null;
    /** The nearest friends, twenty and as many more as more() asked for. */
    readonly list: readonly Friend[];
    /** Every friend known to be near, nearest first: pages and whoever an update named. */
    readonly known: readonly Friend[];
    /** How many friends are near: exact once complete, else as the server said last (and at least what is known). */
    readonly total: number;
    /** more() would list more. */
    readonly hasMore: boolean;
    /** Every page has come. */
    readonly complete: boolean;

    /** ms since the epoch by the server's clock. */
    serverNow(): number;
    /** Listens; the function that comes back takes the listener away. */
    on<K extends keyof ClientEvents>(type: K, listener: (event: ClientEvents[K]) => void): () => void;
    /** Connects now, and again whenever the connection is lost. @throws NoWebSocket none was given, and there is none here */
    connect(): void;
    /**
     * The network has changed: start afresh at once. Does nothing while idle or closed. Called by itself when the browser
     * says that it is online again.
     */
    reconnect(): void;
    /**
     * The device has slept, or the page was out of sight: what looks like a connection may have ended without a word. Says hello
     * once more, and connects anew if nobody answers within ten seconds. Does nothing unless online.
     */
    check(): void;
    /** Leaves and forgets the list. */
    close(): void;
    /** A newer token of the same user: renews an open connection, or opens the one that ended for want of it. */
    renew(token: Token): void;
    /** I am here now. @throws InvalidPosition */
    move(position: LatLng & { accuracy?: number } & Details): void;
    /** Twenty more in the list. */
    more(): void;
    /**
     * Asks for a page of strangers nearby over the connection: the same as StarlingApi.getStrangers. The event `strangers` is the answer, or
     * `error` with about `discover`. One question at a time: of several, the last one is answered.
     */
    discover(query?: ListQuery): void;
    /** Reads my home timeline and keeps it up to date from now on. One at a time: an earlier one is closed. */
    watchFeed(api: StarlingApi): LiveFeed;
    /**
     * Tells what happens under a subject from the call of the thread's read() on. An earlier thread of the same subject is closed.
     * @throws RangeError not a subject
     */
    watchComments(subject: string): LiveThread;
    /** Tells my notices from now on, as they come. One at a time: an earlier one is closed. */
    watchNotices(): LiveNotices;
}

export interface Post {
    /** A whole number in decimal; later posts have higher ones. */
    readonly id: string;
    /** The author. */
    readonly user: string;
    /** null: no profile yet. */
    readonly name: string | null;
    readonly avatarUrl: string | null;
    /** null: unavailable. */
    readonly text: string | null;
    readonly media: readonly string[];
    /** ms since the epoch. */
    readonly time: number;
    /** Of its text, from 1; each edit adds one. */
    readonly version: number;
    /** When its text was last edited, ms since the epoch; null: never. */
    readonly edited: number | null;
    /** held: nobody else sees it before a moderator approves it; hidden: by a moderator, who reads it; null: it is shown. */
    readonly state: string | null;
    /** The post is there, but what it says cannot be read just now. */
    readonly unavailable: boolean;
    /** How many comments it has, a few seconds ago at most; null: not known. */
    readonly comments: number | null;
    /** How many like it, a few seconds ago at most; null: not known. */
    readonly likes: number | null;
    /** Whether I like it; null: not known. */
    readonly liked: boolean | null;
}

/** A version of the text of a post or comment. */
export interface Edit {
    readonly version: number;
    readonly text: string;
    /** When it was written, ms since the epoch. */
    readonly time: number;
    /** Who wrote it: the author, or a moderator. */
    readonly user: string;
    readonly name: string | null;
    readonly avatarUrl: string | null;
}

export interface Comment {
    /** A whole number in decimal; unique over all subjects. */
    readonly id: string;
    /** The author. */
    readonly user: string;
    /** null: no profile yet. */
    readonly name: string | null;
    readonly avatarUrl: string | null;
    /** null: the comment is not visible, or its text could not be read in time. */
    readonly text: string | null;
    /** ms since the epoch. */
    readonly time: number;
    /** Of its text, from 1; each edit adds one. */
    readonly version: number;
    /** When its text was last edited, ms since the epoch; null: never. */
    readonly edited: number | null;
    /** Its number under the subject; of a reply, under its root. From 1 on, without gaps. */
    readonly floor: number;
    /** null: it is a root. */
    readonly root: string | null;
    /** The comment that a reply answers; null: it is a root. */
    readonly replyTo: string | null;
    readonly likes: number;
    /** Visible replies under a root; of a reply, those that answer it. */
    readonly replyCount: number;
    /** The first replies of a root on a page; else empty. */
    readonly replies: readonly Comment[];
    /** held: it waits for a moderator. hidden: a moderator took it away. */
    readonly state: 'visible' | 'held' | 'hidden' | 'deleted';
    /** Whether I like it; null: not asked for, or not known in time. */
    readonly liked: boolean | null;
}

/** replies: how many first ones come along with each root, 0 to 20, default 3. liked: say which ones I like. */
export interface CommentsQuery extends ListQuery {
    /** floor, the oldest first; newest; heat, the time with four hours more for each doubling of the likes. Default floor. */
    sort?: 'floor' | 'newest' | 'heat';
    replies?: number;
    liked?: boolean;
}

export interface CommentPage extends Page<Comment> {
    /** Visible comments and replies of the subject. */
    total: number;
    /** Users who like the subject itself. */
    likes: number;
    /** Of comments, states, likes, pins and settings. For LiveThread. */
    version: string;
    /** Nobody can write any more. */
    closed: boolean;
    /** The user who may pin and delete; null: nobody has registered the subject. */
    owner: string | null;
    /** The newest pin first, at most 10. */
    pinned: Comment[];
    /** For the next question of the same page; null: something was missing, so it is not to be kept. */
    etag: string | null;
}

export interface CommentAround {
    item: Comment;
    /** null: the comment is a root. */
    root: Comment | null;
    /** Roots around a root, replies of the same root around a reply. */
    around: Comment[];
}

export interface Profile {
    readonly user: string;
    /** null: no profile yet. */
    readonly name: string | null;
    readonly avatarUrl: string | null;
}

/** With what is told of one user, and not of many. */
export interface WholeProfile extends Profile {
    /** null: none. */
    readonly bio: string | null;
    readonly url: string | null;
}

/** Somebody of my friends, requests, invitations or blocks. */
export interface Friendship extends ListedUser {
    /** requested: I have asked. invited: I was asked, and addFriend() accepts. */
    readonly state: 'friends' | 'requested' | 'invited' | 'blocked';
    /** When we became friends, or I was invited, or blocked the other one, ms since the epoch; null: not kept. */
    readonly since: number | null;
    /** I let them see only about where I am. */
    readonly rounded: boolean;
}

/** The friendship of us two now, as I see it. */
export interface FriendOutcome {
    readonly user: string;
    readonly state: 'none' | 'requested' | 'invited' | 'friends' | 'blocked';
    readonly since: number | null;
}

/** state: which of them; default friends. */
export interface FriendsQuery extends ListQuery {
    state?: 'friends' | 'requested' | 'invited' | 'blocked' | 'all';
}

/** off: nobody sees me. friends: my friends do. public: strangers around who share publicly, too, by cells. */
export type SharingMode = 'off' | 'friends' | 'public';

export interface Sharing {
    readonly mode: SharingMode;
    /** When sharing ends by itself, ms since the epoch; null: it has no end, or is off. */
    readonly until: number | null;
    /** Friends who see the exact place are told accuracy and details, too. */
    readonly details: boolean;
}

/** A link by which whoever has it sees where I am, without an account. */
export interface Link {
    readonly id: string;
    /** When it ends, ms since the epoch. */
    readonly until: number;
    /** It shows the centre of the cell that I am in, of about a kilometre. */
    readonly rounded: boolean;
    readonly made: number;
}

/** What a link shows. lat, lng and time are null while nothing is known of where its user is. */
export interface LinkPlace {
    readonly name: string;
    readonly lat: number | null;
    readonly lng: number | null;
    readonly time: number | null;
    readonly until: number;
}

/** A place of mine. Each time that I arrive there or leave it, those in `tell` get a notice of that: friends, while we both share. */
export interface NamedPlace extends LatLng {
    /** Chosen by the app: 1 to 32 of A-Z, a-z, 0-9, - and _; not `events`. */
    readonly id: string;
    readonly name: string;
    /** Whole, 50 to 50,000. */
    readonly radiusM: number;
    /** I, all my friends, or these (50 at most). */
    readonly tell: 'me' | 'friends' | readonly string[];
}

export interface PlaceEvent {
    /** Rises. */
    readonly number: number;
    /** The id of the place. */
    readonly place: string;
    /** Of the place then. */
    readonly name: string;
    readonly what: 'arrived' | 'left';
    /** Of the report that said so, ms since the epoch. */
    readonly time: number;
}

/** Where I am, or was. */
export interface Report extends LatLng, Details {
    /** When the position was taken, ms since the epoch; default: now. */
    readonly time?: number;
    /** Metres. */
    readonly accuracy?: number;
}

/** A friend near me, as a socket would list it. */
export interface NearbyFriend extends Profile, LatLng, Details {
    /** Metres. */
    readonly accuracy?: number;
    /** Metres from my last report. */
    readonly distance: number;
    /** Of the friend's last report, ms since the epoch. */
    readonly time: number;
    /** The friend lets me see only about where they are. */
    readonly rounded: boolean;
}

export interface NearbyPage extends Page<NearbyFriend> {
    /** Of my report that the list is about; null: there is none that counts. */
    time: number | null;
}

/** The friends who can see me now. */
export interface Audience extends Page<{ readonly user: string; /** I am on this friend's list now. */ readonly near: boolean }> {
    mode: SharingMode;
    /** false: nobody can see me now. */
    visible: boolean;
}

/** Where I was. */
export interface Place extends LatLng, Details {
    /** ms since the epoch. */
    readonly time: number;
    /** Metres; null: not known. */
    readonly accuracy: number | null;
    /** When the server took it. */
    readonly received: number;
}

/** Who sees somebody's posts, but for whom a block keeps away. */
export type Visibility = 'everybody' | 'followers';

export type ExportKind = 'account' | 'friends' | 'links' | 'places' | 'place-events' | 'following' | 'followers' | 'requesting' | 'requested' | 'muted' | 'posts' | 'devices' | 'notices' | 'comments' | 'edits' | 'likes' | 'reports' | 'history';

/** Something that is kept of me: its kind, and the members that openapi.yaml names, as they are there. `user` is text. */
export interface Exported {
    readonly kind: ExportKind;
    readonly [member: string]: unknown;
}

/** An open session of mine. */
export interface Device {
    readonly id: string;
    /** null: it has said no name. */
    readonly device: string | null;
    /** ms since the epoch */
    readonly since: number;
    readonly current: boolean;
}

/** A page is of one kind, and may be empty. */
export interface ExportPage extends Page<Exported> {
    kind: ExportKind;
}

export interface User extends WholeProfile {
    /** undefined: the user has none. Handle and counts are undefined, too, while the process that has them does not answer. */
    readonly handle?: string;
    readonly followers?: number;
    readonly following?: number;
    readonly posts?: number;
    /** How I follow the user; null: I do not. undefined as the counts are, and of myself. */
    readonly follow?: 'following' | 'requested' | null;
}

/** request: asks to follow me. accepted: I may follow. reply: answers my comment, or comments on what is mine. like: of such a one.
 * approach: a friend who has come near while I had no session. arrived, left: a friend at a place of the friend's, or I at one of mine. */
export type NoticeKind = 'follow' | 'request' | 'accepted' | 'mention' | 'reply' | 'like' | 'approach' | 'arrived' | 'left';

/** Somebody does something that is about me; many such things of one day that are alike are one. */
export interface Notice {
    /** The same event has the same one. */
    readonly id: string;
    readonly what: NoticeKind;
    /** The user who does so; of many, the newest one. */
    readonly user: string;
    /** The id of the post that mentions me or is liked, or below which the comment is; null: there is none. */
    readonly post: string | null;
    /** The id of the comment that mentions or answers me, or is liked; null: there is none. */
    readonly comment: string | null;
    /** The name of the place; null: it is about none. */
    readonly place: string | null;
    /** ms since the epoch. */
    readonly time: number;
    /** How many users do so. */
    readonly count: number;
    /** The newest of them, three at most. */
    readonly users: readonly string[];
}

export interface NoticePage extends Page<Notice> {
    /** How many of the whole list are unread: the first ones. */
    unread: number;
}

/** live: open screens are told at once. push: devices are told. */
export interface NoticePreference {
    readonly live: boolean;
    readonly push: boolean;
}

export type NoticePreferences = { readonly [kind in NoticeKind]?: NoticePreference };

/** after: the `next` of the page before. limit: 1 to 1000, default 20. */
export interface ListQuery {
    after?: string | null;
    limit?: number;
}

/** next: for `after`; null: this was the last page. */
export interface Page<T> {
    items: T[];
    next: string | null;
}

export interface FeedPage extends Page<Post> {
    /** false: posts may be missing; the same question has them a moment later. */
    complete: boolean;
    /** To be compared, and nothing else; empty on later pages, and on those of some time. */
    version: string;
}

/** Somebody of a list. */
export interface ListedUser extends Profile {
    /** undefined: none, or not known just now. */
    readonly handle?: string;
}

export interface People extends Page<ListedUser> {
    /** Of all pages. */
    total: number;
}

/** Somebody around who shares with everybody, as I do. */
export interface Stranger {
    readonly user: string;
    /** null: not known. */
    readonly name: string | null;
    readonly avatarUrl: string | null;
    /** The centre of the cell that the user is in. */
    readonly lat: number;
    readonly lng: number;
    /** Metres from my last report to that centre. */
    readonly distance: number;
    /** Of the user's last report, rounded down to five minutes; ms since the epoch. */
    readonly time: number;
}

export interface Strangers extends Page<Stranger> {
    /** How large cells are, in degrees. */
    cell: { height: number; width: number };
}

/** The server refused, or was not reached. */
export class ApiError extends Error {
    constructor(status: number, code: string, message: string, retryAfterMs?: number | null, problem?: Record<string, unknown>, cause?: unknown);
    /** Of the answer; 0: there was none. 202: not decided yet. */
    readonly status: number;
    /** As in openapi.yaml; besides `unreachable`, `pending`, `bad_answer` and `unknown`. */
    readonly code: string;
    readonly retryAfterMs: number | null;
    /** All members of the server's problem+json; {} where something else answered. */
    readonly problem: Record<string, unknown>;
    /** The same request may succeed later. */
    readonly passing: boolean;
}

/** No answer came: no network, the connection was refused, or it took too long. */
export class Unreachable extends ApiError {
    /**
     * refused: nobody listens there. certificate: it is not trusted here. tls: https: to a port that speaks http:. origin: the
     * server answers, but does not allow this page's origin (`ingest.cors.origins`); browsers tell no more than that. null: not known.
     */
    readonly why: 'origin' | 'refused' | 'unknown_host' | 'certificate' | 'tls' | null;
}
/** 202: the command is safe, its outcome was not known in time. The same request again finds it out. */
export class Undecided extends ApiError {}
/** 400, 413 and other 4xx: the request is wrong, and will be next time. `code` says what about it. */
export class BadRequest extends ApiError {}
/** 401: the token is missing, forged, or of the wrong audience. */
export class TokenRefused extends ApiError {}
/** 401 token_expired: a new one of the same user will do. */
export class TokenExpired extends TokenRefused {}
/** 403: this user may not do that. */
export class Forbidden extends ApiError {}
/** 404. */
export class NotFound extends ApiError {}
/** 409: it is somebody else's already, or says something else than before. */
export class Conflict extends ApiError {}
/** 429: not so fast. retryAfterMs says when. */
export class TooManyRequests extends ApiError {}
/** 5xx: the server cannot just now. retryAfterMs is its guess of when it can. */
export class ServerUnavailable extends ApiError {}

/**
 * A connection of StarlingClient ended, or could not be made. By itself the client comes back from all but ConnectionTokenRefused and
 * ConnectedElsewhere.
 */
export class ConnectionEnded extends Error {
    constructor(code: number, reason: string, message: string, retries?: boolean);
    /** Of the close frame (CloseCode); 1006: there was none. */
    readonly code: number;
    /** The server's word. */
    readonly reason: string;
    /** The client tries again by itself, at `retryAt` of the event. */
    readonly retries: boolean;
}

/** 1006: the network, or nobody listens there. */
export class ConnectionLost extends ConnectionEnded {}
/**
 * It could not be made. The kinds of this class say why, where that is known: with the package `ws`. WebSockets of browsers, and Node's
 * own, do not tell.
 */
export class NotConnected extends ConnectionLost {}
/** Nobody listens at that address. */
export class ConnectionRefused extends NotConnected {}
/** wss: to a port that speaks ws:, or, as it seems, the other way round. */
export class TlsMismatch extends NotConnected {}
/** The server's certificate is not trusted here, has expired, or is of another host. */
export class CertificateRefused extends NotConnected {}
/** A web server answered that takes no WebSockets: the address of the HTTP API, perhaps. */
export class NotAnEdge extends NotConnected {}
/** 1008 and 4003 for the token's sake. */
export class ConnectionTokenRefused extends ConnectionEnded {}
/** The token has expired: a new one of the same user will do. */
export class ConnectionTokenExpired extends ConnectionTokenRefused {}
/** 4001: the user has ended the session from another device. */
export class ConnectedElsewhere extends ConnectionEnded {}
/** 1012: the server is going away, another one will take over. */
export class ServerRestarting extends ConnectionEnded {}
/** 1013: the server takes no more connections just now. */
export class ServerOverloaded extends ConnectionEnded {}
/** 4002: nothing was taken from the connection for a minute. */
export class TooSlow extends ConnectionEnded {}
/** 1002, 1003, 1007, 1008 (not about a token) and 1009: the server did not like what was said. A bug, or a hello that came too late. */
export class ProtocolBroken extends ConnectionEnded {}

/** What was given as a position is none: `message` says which coordinate is missing, no number or out of range. */
export class InvalidPosition extends RangeError {
    constructor(message: string);
}

/** There is no WebSocket here, as in Node before 22, and none was given as an option. */
export class NoWebSocket extends Error {
    constructor();
}

export interface ApiOptions {
    /** Of starling-ingest, without a path. Default: where the page came from. */
    url?: string;
    token: Token;
    /** Writes are repeated for so long while the server cannot, or has not decided. Default 30,000. */
    patienceMs?: number;
    /** Default: the global one. */
    fetch?: (url: string, init: any) => Promise<any>;
    /** For tests. */
    clock?: Clock;
    /** For tests: 0 <= random() < 1. */
    random?: () => number;
}

/** Everything that users do over HTTP. It all throws ApiError, of the kind that is meant. */
export class StarlingApi {
    constructor(options: ApiOptions);
    renew(token: Token): void;

    /** The same key again is the same post: keep it where a failed call may be repeated later. Default: a new one. */
    createPost(post: { text: string; media?: string[]; key?: string }): Promise<Post>;
    getPost(id: string): Promise<Post>;
    /** Its author and moderators may, who give a reason. version: that was read; Conflict: somebody has edited it since, or 99 times. */
    editPost(id: string, edit: { text: string; version: number; reason?: string }): Promise<Post>;
    /** All versions of its text, the newest first. */
    getPostEdits(id: string, query?: ListQuery): Promise<Page<Edit>>;
    deletePost(id: string): Promise<void>;
    /** Resolves to how many like it now. */
    likePost(id: string): Promise<number>;
    unlikePost(id: string): Promise<number>;
    /** Who likes a post, by user id, rising. Whom I have blocked is left out. */
    getLikes(id: string, query?: ListQuery): Promise<Page<ListedUser>>;
    /** A page of a user's posts, newest first; from and to in ms since the epoch. */
    getPosts(user: string, query?: ListQuery & { from?: number; to?: number }): Promise<Page<Post>>;
    /** A page of my home timeline, newest first; or of its posts from one time (inclusive) to another (exclusive), in ms since the epoch. */
    getFeed(query?: ListQuery & { from?: number; to?: number }): Promise<FeedPage>;

    /** A page of my notices, newest first. The server keeps 200. */
    getNotices(query?: ListQuery): Promise<NoticePage>;
    /** All up to that notice are read, on all devices. Resolves to how many are unread now. */
    markNoticesRead(until: string): Promise<number>;
    /** How I am told of each kind. */
    getNoticePreferences(): Promise<NoticePreferences>;
    /** Kinds that are not named stay as they are. Resolves to what holds now. */
    setNoticePreferences(preferences: NoticePreferences): Promise<NoticePreferences>;

    /** A page of strangers nearby, nearest first. Only who shares with everybody may ask: else not_public. */
    getStrangers(query?: ListQuery): Promise<Strangers>;

    /** A page of roots with their first replies. A subject is as post:123. */
    getComments(subject: string, query?: CommentsQuery): Promise<CommentPage>;
    /** null: the page of the same query is still that of the ETag. */
    getComments(subject: string, query: CommentsQuery | undefined, etag: string | null): Promise<CommentPage | null>;
    /** The replies of a root, the oldest first. */
    getReplies(subject: string, root: string, query?: ListQuery & { liked?: boolean }): Promise<Page<Comment>>;
    /** The replies that answer a reply, the oldest first; of a root, all its replies. */
    getAnswers(subject: string, id: string, query?: ListQuery & { liked?: boolean }): Promise<Page<Comment>>;
    getComment(subject: string, id: string, query?: { liked?: boolean }): Promise<Comment>;
    /** A comment with so many neighbours on each side, default 3. */
    getCommentAround(subject: string, id: string, query?: { around?: number; liked?: boolean }): Promise<CommentAround>;
    /** The same key again is the same comment: keep it where a failed call may be repeated later. Default: a new one. */
    postComment(subject: string, comment: { text: string; replyTo?: string | null; key?: string }): Promise<Comment>;
    /** As editPost and getPostEdits. */
    editComment(subject: string, id: string, edit: { text: string; version: number; reason?: string }): Promise<Comment>;
    getCommentEdits(subject: string, id: string, query?: ListQuery): Promise<Page<Edit>>;
    /** Its author, the subject's owner and moderators may. It keeps its floor and its replies, and loses its text. */
    deleteComment(subject: string, id: string): Promise<void>;
    /** Resolves to how many like it now. */
    likeComment(subject: string, id: string): Promise<number>;
    unlikeComment(subject: string, id: string): Promise<number>;
    /** Resolves to whether it is pinned now. The subject's owner may. */
    pinComment(subject: string, id: string): Promise<boolean>;
    unpinComment(subject: string, id: string): Promise<boolean>;
    /** Tells the moderators. reason: 1 to 1000 code points. */
    reportComment(subject: string, id: string, reason: string): Promise<void>;
    /** As reportComment; so is reportUser. */
    reportPost(id: string, reason: string): Promise<void>;
    reportUser(user: string, reason: string): Promise<void>;

    /** The comments of a user, the newest first: only my own. */
    getCommentsOf(user: string, query?: ListQuery): Promise<Page<Comment & { readonly subject: string }>>;

    /** A page of my friends, or requests, invitations or blocks, with names; by user id, rising. */
    getFriends(query?: FriendsQuery): Promise<Page<Friendship>>;
    /** Asks for a friendship (`requested`), or accepts one (`friends`). */
    addFriend(user: string): Promise<FriendOutcome>;
    /** Ends a friendship, refuses an invitation, or takes a request back. */
    removeFriend(user: string): Promise<FriendOutcome>;
    /** Ends what there was, and prevents it from then on. The other one is not told. */
    block(user: string): Promise<FriendOutcome>;
    unblock(user: string): Promise<FriendOutcome>;
    /**
     * A page of the friends near me, the nearest first: for who has no connection. since: the time of a report just made; the answer waits
     * up to two seconds until the list is about it.
     */
    getNearby(query?: ListQuery & { since?: number }): Promise<NearbyPage>;
    /** A page of the friends who can see me now, near or not. */
    getAudience(query?: ListQuery): Promise<Audience>;
    /**
     * A link that shows where I am until then, within 31 days; it ends with endLink, and when I stop sharing. The url is told this once, and
     * relative to the API's. Each call makes another one. Conflict `not_sharing`, `links_limit`.
     */
    createLink(link: { until: number; rounded?: boolean }): Promise<{ id: string; url: string }>;
    /** A page of those that have not ended. */
    getLinks(query?: ListQuery): Promise<Page<Link>>;
    endLink(id: string): Promise<void>;
    /** What a link shows; no token is asked for. link: its url, or what stands behind the #. ApiError `link_over`: it has ended. */
    getLinkPlace(link: string): Promise<LinkPlace>;
    /** A page of my places. */
    getPlaces(query?: ListQuery): Promise<Page<NamedPlace>>;
    getPlace(id: string): Promise<NamedPlace>;
    /** Makes a place, or changes it. Conflict `places_limit`: I have 50. @throws InvalidPosition */
    setPlace(id: string, place: Omit<NamedPlace, 'id'>): Promise<NamedPlace>;
    deletePlace(id: string): Promise<void>;
    /** A page of my arrivals and departures, from the oldest on; of the times from (inclusive) to (exclusive), ms since the epoch. */
    getPlaceEvents(query?: ListQuery & { from?: number; to?: number }): Promise<Page<PlaceEvent>>;
    /**
     * Where I am, or was: for phones in the background. Up to 1000 at once, in any order; the same one again changes nothing.
     * Resolves to how many were taken, and which ones of several the server refused: those are never taken. BadRequest: all of them were.
     * ApiError `sharing_off`: I share with nobody. @throws InvalidPosition
     */
    report(reports: Report | readonly Report[]): Promise<{ accepted: number; sharingOff: number; refused: Report[] }>;
    /** A page of where I was, by time, rising; from (inclusive) and to (exclusive) in ms since the epoch. limit: 1 to 10000, default 20. */
    getHistory(query?: ListQuery & { from?: number; to?: number }): Promise<Page<Place>>;

    /** NotFound `no_profile`: I have none. */
    getProfile(): Promise<WholeProfile>;
    getProfileOf(user: string): Promise<WholeProfile>;
    /** Replaces my profile: what is left out is none any more. */
    setProfile(profile: { name: string; avatarUrl?: string | null; bio?: string | null; url?: string | null }): Promise<WholeProfile>;
    getSharing(): Promise<Sharing>;
    /** until: sharing ends by itself then, ms since the epoch. details: friends who see the exact place are told accuracy and details, too. */
    setSharing(mode: SharingMode, until?: number | null, details?: boolean): Promise<Sharing>;
    /** Where I am signed in, newest first. session: of my own welcome; that one is `current`. */
    getDevices(session?: string): Promise<Device[]>;
    /** Ends that session: its client is closed for the reason `elsewhere`. NotFound: I have none of that id. */
    endDevice(id: string): Promise<void>;
    /** A page of everything that is kept of me: `for await (const item of api.all(api.getExport()))` reads it all. after: also the name of a kind. */
    getExport(query?: ListQuery): Promise<ExportPage>;
    /**
     * Removes everything of me but the history of positions, which goes with its age; for ever. Resolves to how many of each kind were
     * found. Undecided: it goes on, and the same call tells how it ends.
     */
    forgetMe(): Promise<Record<string, number>>;

    getUser(user: string): Promise<User>;
    /** 1 to 100 users, in this order. */
    getUsers(users: readonly string[]): Promise<ListedUser[]>;
    /** My id, also where the sign-in provider knows me by a text. */
    getMe(): Promise<string>;
    /** The texts by which the sign-in provider knows 1 to 100 users, by their ids, without those who have none. */
    getExternals(users: readonly string[]): Promise<Record<string, string>>;
    /** The ids of 1 to 100 users by such texts, without those who have not signed in yet. No text has a comma. */
    getUsersByExternals(externals: readonly string[]): Promise<Record<string, string>>;
    /** With or without an @ in front; capital letters count as small ones. */
    getUserByHandle(handle: string): Promise<User>;
    /** Chooses my handle: resolves to it as it counts. ApiError `handle_taken`: somebody else has it. */
    setHandle(handle: string): Promise<string>;
    dropHandle(): Promise<void>;
    /** Resolves to whether I follow now. False: I have asked to, as only followers see the posts of this user. */
    follow(user: string): Promise<boolean>;
    /** Takes a request back, too. */
    unfollow(user: string): Promise<boolean>;
    /** Whom I have asked to follow, by user id, rising. */
    getMyRequests(query?: ListQuery): Promise<People>;
    /** The users who have asked to follow me, by user id, rising. */
    getFollowRequests(query?: ListQuery): Promise<People>;
    /** Resolves to whether the user follows me now. ApiError `no_request`: the user has not asked. */
    acceptFollower(user: string): Promise<boolean>;
    /** Declines a request, or removes a follower. */
    removeFollower(user: string): Promise<void>;
    /** Who sees my posts. */
    getVisibility(): Promise<Visibility>;
    /** `everybody` accepts all requests. Resolves to what holds now. */
    setVisibility(posts: Visibility): Promise<Visibility>;
    /** Resolves to whether I mute now. */
    mute(user: string): Promise<boolean>;
    unmute(user: string): Promise<boolean>;
    /** Leaves a friend out of my list of near friends, on all my devices. Resolves to whether the friend is left out now. */
    muteNearby(user: string): Promise<boolean>;
    unmuteNearby(user: string): Promise<boolean>;
    /**
     * Lets a friend, or somebody with whom there is a request, see only about where I am: the centre of a cell, and a distance to there.
     * Resolves to whether that is so now. Conflict `not_friends`: there is neither.
     */
    roundFor(user: string): Promise<boolean>;
    exactFor(user: string): Promise<boolean>;
    /** Whom I leave out of my list of near friends, by user id, rising: without names. */
    getNearbyMutes(query?: ListQuery): Promise<Page<ListedUser>>;
    /** Whether I leave the user out of my list of near friends. */
    mutesNearby(user: string): Promise<boolean>;
    /** By user id, rising. */
    getFollowers(user: string, query?: ListQuery): Promise<People>;
    /** Of those whom I follow, who follow the user: a page is of 400 whom I follow, or of `limit`, and may be empty with a `next`. */
    getKnownFollowers(user: string, query?: ListQuery): Promise<Page<ListedUser>>;
    /** My friends who are also friends of the user: nobody while one of us blocks the other. ApiError `same_user`: the user is me. */
    getMutualFriends(user: string, query?: ListQuery): Promise<People>;
    getFollowing(user: string, query?: ListQuery): Promise<People>;
    /** Whether the user follows the other one. */
    follows(user: string, other: string): Promise<boolean>;

    /**
     * The items of a page and of all pages after it: `for await (const friend of api.all(api.getFriends()))`. Pages are asked for as they
     * are needed, and again while the server cannot, for `patienceMs`.
     */
    all<T>(first: Page<T> | Promise<Page<T>>): AsyncGenerator<T, void>;
    /** Any other request: resolves to the JSON of the answer, {} where there is none. */
    request(method: string, path: string, body?: Record<string, unknown>): Promise<any>;
}

/** Below zero if the post a is older than b, above zero if it is newer. */
export function compareIds(a: string, b: string): number;

/** A new idempotency key. */
export function drawKey(): string;

/**
 * page: everything listed was read again. posts: the server said what came and went. older: older() is done. filled: posts
 * that were unavailable are there, or gone. gone: drop() was called.
 */
export type FeedCause = 'page' | 'posts' | 'older' | 'filled' | 'gone';

export interface FeedChange {
    cause: FeedCause;
    /** Posts that were not listed before, newest first; with page and posts. */
    came: Post[];
    /** The ids of posts that are not listed any more. */
    gone: string[];
}

export interface FeedEvents {
    change: FeedChange;
    /** A page could not be read. It is read again at `retryAt`, if that is not null. */
    error: ApiError;
}

/** My home timeline; made by StarlingClient.watchFeed. */
export class LiveFeed {
    constructor(parts: { api: StarlingApi; say: (frame: Record<string, unknown>) => void; clock: Clock; random: () => number });

    /** Newest first, without gaps from the newest one down; a new array after each change. */
    readonly list: readonly Post[];
    /** older() would list more. */
    readonly hasMore: boolean;
    /** false: posts may be missing; the list is read again until none are. */
    readonly complete: boolean;
    /** null: nothing was read yet. */
    readonly version: string | null;
    /** The error of the last reading; null: it did not fail. */
    readonly failure: ApiError | null;
    /** The time of the next try after a failed reading, ms by the local clock; null: refresh() must be called. */
    readonly retryAt: number | null;

    on<K extends keyof FeedEvents>(type: K, listener: (event: FeedEvents[K]) => void): () => void;
    /** Lists twenty older posts. Rejects with ApiError. */
    older(): Promise<void>;
    /** Reads everything listed again, now. */
    refresh(): void;
    /** Takes posts off the list of which the application knows that they go: before the server says so. */
    drop(unwanted: (post: Post) => boolean): void;
    /** Ends it. The list stays as it is. */
    close(): void;

    /** For StarlingClient, which passes on connections and frames. */
    connected(): void;
    posted(frame: any): void;
    stale(frame: any): void;
}

/** A change of the thread. Apply gone, items and counters in this order. */
export interface ThreadChange {
    /** Visible comments and replies of the subject. */
    total: number;
    /** Users who like the subject itself. */
    likes: number;
    /**
     * Too much happens, or earlier changes are missing: some comments are left out, and counters may come late. `stale` follows when it
     * is over.
     */
    sampled: boolean;
    /** New comments, and those whose state or text has changed; roots and replies. `replies` is empty, and `liked` is null: keep what was known. */
    items: Comment[];
    /** Deleted and hidden comments, whose texts must go at once; each is in items, too, as a page shows it now. */
    gone: string[];
    /** Of other comments, also of ones that are not listed. */
    counters: { id: string; likes: number; replyCount: number }[];
}

export interface ThreadEvents {
    change: ThreadChange;
    /** Read the pages again now, and call read(). It comes again, later each time, while they are older than `version`. */
    stale: { version: number | null };
}

/** The comments of one subject, live: made by StarlingClient.watchComments. The application keeps the list. */
export class LiveThread {
    constructor(parts: { subject: string; say: (frame: Record<string, unknown>) => void; clock: Clock; random: () => number });

    readonly subject: string;
    /** null: read() was not called yet. */
    readonly version: number | null;

    on<K extends keyof ThreadEvents>(type: K, listener: (event: ThreadEvents[K]) => void): () => void;
    /** The pages that the application has are of that version now; of several pages, the lowest one. */
    read(version: string | number): void;
    /** Ends it. */
    close(): void;

    /** For StarlingClient, which passes on connections and frames. */
    connected(): void;
    told(frame: any): void;
    stale(frame: any): void;
}

export interface NoticesChange {
    unread: number;
    /** The newest that were not told before, newest first: at most 20, of the kinds whose preference is live. */
    items: Notice[];
    /** These were there before: nothing has happened. */
    first: boolean;
}

export interface NoticesEvents {
    change: NoticesChange;
}

/** My notices, live: made by StarlingClient.watchNotices. One of many users takes the place of that of the same what, post, comment and day (UTC). */
export class LiveNotices {
    constructor(parts: { say: (frame: Record<string, unknown>) => void });

    /** null: not known yet. */
    readonly unread: number | null;

    on<K extends keyof NoticesEvents>(type: K, listener: (event: NoticesEvents[K]) => void): () => void;
    /** Ends it. */
    close(): void;

    /** For StarlingClient, which passes on connections and frames. */
    connected(): void;
    told(frame: any): void;
}

export const SUBPROTOCOL: 'starling.v1';

export const CloseCode: {
    readonly BAD_TOKEN: 1008;
    readonly TOO_BIG: 1009;
    readonly RESTARTING: 1012;
    readonly OVERLOADED: 1013;
    readonly ELSEWHERE: 4001;
    readonly TOO_SLOW: 4002;
    readonly TOKEN_EXPIRED: 4003;
};

/** Friends to a page. */
export const PAGE_SIZE: number;

/** Metres. */
export const EARTH_RADIUS_M: number;
/** Great-circle distance in metres, by the haversine formula. */
export function distanceMetres(a: LatLng, b: LatLng): number;
/** Degrees clockwise from north in which b lies as seen from a. */
export function bearingDegrees(a: LatLng, b: LatLng): number;
/** Where one arrives after so many metres in that direction. */
export function destination(from: LatLng, bearing: number, metres: number): LatLng;
/** The position as it goes over the wire. */
export function roundPosition(position: LatLng): LatLng;
