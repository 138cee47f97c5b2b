"""The Autobahn suite's cases (https://github.com/crossbario/autobahn-testsuite) against lib/ws. Its own runner needs Python 2;
kosoku runs the same case files. The server is tests/tools/echo.c: the edge sends nothing back."""
import asyncio
import concurrent.futures
import contextlib
import subprocess

import kosoku
import pytest

from harness.cluster import build_folder

SUBPROTOCOL = b'Sec-WebSocket-Protocol: starling.v1\r\n'
CASES = {'1': 16, '2': 11, '3': 7, '4': 10, '5': 20, '6': 145, '7': 37, '10': 1}  # of each section, how many there are
INFORMATIONAL = {'7.1.6', '7.13.1', '7.13.2'}  # the suite looks at what is done, and calls nothing right
BINARY = {f'1.2.{n}' for n in range(1, 9)}  # starling.v1 has text only: lib/ws answers with 1003


class Adapter:
    """Stands between the suite, which names no subprotocol, and a server that wants one."""

    def __init__(self, port: int):
        self.port = port
        self.relays: set[asyncio.Task] = set()

    async def start(self) -> str:
        self.server = await asyncio.start_server(self.connected, '127.0.0.1', 0)
        return f'ws://127.0.0.1:{self.server.sockets[0].getsockname()[1]}'

    async def stop(self):
        self.server.close()
        for relay in self.relays:
            relay.cancel()
        await asyncio.gather(*self.relays, return_exceptions=True)

    def connected(self, reader, writer):
        relay = asyncio.ensure_future(self.relay(reader, writer))
        self.relays.add(relay)
        relay.add_done_callback(self.relays.discard)

    async def relay(self, reader, writer):
        with contextlib.ExitStack() as stack:
            stack.callback(writer.close)
            from_server, to_server = await asyncio.open_connection('127.0.0.1', self.port)
            stack.callback(to_server.close)
            request = await reader.readuntil(b'\r\n\r\n')
            to_server.write(request[:-2] + SUBPROTOCOL + b'\r\n')
            answer = await from_server.readuntil(b'\r\n\r\n')
            assert SUBPROTOCOL in answer
            writer.write(answer.replace(SUBPROTOCOL, b''))
            await asyncio.gather(self.copy(reader, to_server), self.copy(from_server, writer))

    @staticmethod
    async def copy(reader, writer):
        with contextlib.suppress(OSError):
            while some := await reader.read(1 << 16):
                writer.write(some)
                await writer.drain()
            writer.write_eof()


async def run(port: int) -> list:
    adapter = Adapter(port)
    url = await adapter.start()
    try:
        return await kosoku.run_fuzzingclient(url, cases=[f'{section}.*' for section in CASES], concurrency=4)
    except kosoku.FailureError as failure:
        return failure.results
    finally:
        await adapter.stop()


@pytest.fixture(scope='module')
def results():
    """Of each case, by its number."""
    with subprocess.Popen([build_folder() / 'test-echo'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as echo:
        with concurrent.futures.ThreadPoolExecutor(1) as beside:  # this thread may have a loop already: the browser's
            found = beside.submit(asyncio.run, run(int(echo.stdout.readline()))).result()
        echo.stdin.close()
        assert echo.wait(20) == 0  # nothing has broken it
    return {result.case_id: result for result in found}


def said(result) -> str:
    return f'{result.case_id} {result.behavior.value}, {result.behavior_close.value}: {result.result} {result.result_close}'


@pytest.mark.parametrize('section', CASES)
def test_every_case_of_a_section_is_ok(results, section):
    mine = [result for case, result in results.items() if case.split('.')[0] == section]
    assert len(mine) == CASES[section]
    others = [said(result) for result in mine if (result.behavior.value, result.behavior_close.value) != ('OK', 'OK')
              and result.case_id not in INFORMATIONAL | BINARY]
    assert not others, '\n'.join(others)


def test_cases_that_are_informational_are_answered_cleanly(results):
    for case in INFORMATIONAL:
        assert results[case].behavior_close.value == 'INFORMATIONAL', said(results[case])
        assert results[case].remote_close_code in (1000, 1002) and not results[case].dropped_by_me


def test_binary_messages_are_refused_as_the_protocol_says(results):
    for case in BINARY:
        assert results[case].remote_close_code == 1003, said(results[case])
        assert not results[case].received
