"""Drives one client of clients/python for the protocol's test suite; README.md says how it is spoken to."""
import asyncio
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'clients/python'))
from starling_client import (ApiError, Change, ClientError, StarlingApi, StarlingClient, StateChange, Strangers,
                             StrangersGone, Welcome)


def say(event, **members):
    print(json.dumps({'event': event, **members}), flush=True)


class Driver:
    def __init__(self, options):
        self._options, self._feed, self._notices = options, None, None
        self._tokens = asyncio.Queue()
        self._client = StarlingClient(options['url'], options.get('token') or self._ask, options.get('lat'), options.get('lng'),
                                      prefetch=options.get('prefetch', False), stale_after=options.get('stale_after_s'), device=options.get('device'),
                                      connect_options={'proxy': None})
        self._client.on_event(self._tell)

    async def _ask(self):
        say('token')
        return await self._tokens.get()

    def _tell(self, event):
        client = self._client
        if isinstance(event, StateChange):
            say('state', state=event.state.value, reason=event.reason, code=event.code, retry_in_s=event.retry_after,
                error=event.error and type(event.error).__name__)
        elif isinstance(event, Welcome):
            say('welcome', user=str(event.user), radius_m=event.radius_m, report_every_s=event.report_every_s,
                inactive_after_s=event.inactive_after_s)
        elif isinstance(event, Change):
            say('change', cause=event.cause, came=[str(friend.user) for friend in event.came], gone=list(map(str, event.gone)),
                list=[[str(f.user), f.name, f.distance, f.time, f.stale] for f in client.list], known=len(client.known),
                total=client.total, has_more=client.has_more, complete=client.complete)
        elif isinstance(event, Strangers):
            say('strangers', list=[[str(stranger.user), stranger.distance] for stranger in event.items])
        elif isinstance(event, StrangersGone):
            say('strangers_gone', gone=list(map(str, event.gone)))
        elif isinstance(event, ClientError):
            say('error', code=event.code)

    def _watch_feed(self):
        self._feed = self._client.watch_feed(StarlingApi(self._options['api'], self._options['token']))
        self._feed.on_event(self._tell_of_feed)

    def _tell_of_feed(self, event):
        feed = self._feed
        if isinstance(event, ApiError):
            say('feed_error', status=event.status, code=event.code)
        else:
            say('feed', cause=event.cause, came=[post.id for post in event.came], gone=event.gone,
                list=[[post.id, str(post.user), post.name, post.text, post.unavailable] for post in feed.list],
                has_more=feed.has_more, complete=feed.complete, version=feed.version)

    def _watch_notices(self):
        self._notices = self._client.watch_notices()
        self._notices.on_event(lambda event: say(
            'notices', unread=event.unread, first=event.first,
            items=[[one.id, one.what, str(one.user), one.count, list(map(str, one.users))] for one in event.items]))

    async def _older(self):
        try:
            await self._feed.older()
        except ApiError as error:
            say('feed_error', status=error.status, code=error.code)

    def _do(self, do, **arguments):
        if do == 'token':
            self._tokens.put_nowait(arguments['token'])
        elif do == 'watch_feed':
            self._watch_feed()
        elif do == 'older':
            self._asking = asyncio.ensure_future(self._older())
        elif do == 'unwatch_feed':
            self._feed.close()
        elif do == 'watch_notices':
            self._watch_notices()
        elif do == 'unwatch_notices':
            self._notices.close()
        else:
            getattr(self._client, do)(**arguments)

    async def run(self):
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            command = json.loads(line)
            if command['do'] == 'close':
                break
            self._do(**command)
        if self._feed:
            self._feed.close()
        await self._client.close()


async def main():
    await Driver(json.loads(sys.argv[1])).run()


asyncio.run(main())
