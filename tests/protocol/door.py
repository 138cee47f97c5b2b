"""Calls StarlingApi of clients/python for the end-to-end tests; README.md says how it is spoken to."""
import asyncio
import dataclasses
import inspect
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'clients/python'))
from starling_client import Details, Exported, NoticePreference, Report, StarlingApi


def snake(name):
    return {'from': 'from_ms', 'to': 'to_ms'}.get(name) or re.sub('[A-Z]', lambda letter: '_' + letter[0].lower(), name)


def plain(value):
    """As the JavaScript client has it: names in camel case, users as text."""
    if isinstance(value, Exported):
        return plain({'kind': value.kind, **value.item})
    if dataclasses.is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.name != '_more'}
        if isinstance(value.get('details'), Details):
            value |= {name: said for name, said in dataclasses.asdict(value.pop('details')).items() if said is not None}
    if isinstance(value, dict):
        return {re.sub('_(.)', lambda letter: letter[1].upper(), name): plain(text_of(name, item)) for name, item in value.items()}
    return list(map(plain, value)) if isinstance(value, (list, tuple)) else value


def text_of(name, item):
    if name in ('users', 'tell') and not isinstance(item, str):
        return list(map(str, item))
    return str(item) if name in ('user', 'owner') and item is not None else item


def report_of(given):
    names = {field.name for field in dataclasses.fields(Details)}
    given = {snake(name): value for name, value in given.items()}
    return Report(**{name: value for name, value in given.items() if name not in names},
                  details=Details(**{name: value for name, value in given.items() if name in names}))


def arguments_of(function, given):
    """Users as numbers, also in lists, and reports and preferences as what they are."""
    for value, parameter in zip(given, inspect.signature(function).parameters.values()):
        if isinstance(value, list):
            yield [report_of(one) if isinstance(one, dict) else int(one) for one in value]
        elif isinstance(value, dict):
            yield {kind: NoticePreference(**one) for kind, one in value.items()}
        else:
            yield int(value) if parameter.annotation == 'int' else value


async def called(api, call, arguments=(), options=None, all=False):
    function = getattr(api, snake(call))
    made = function(*arguments_of(function, arguments), **{snake(name): list(map(int, value)) if name == 'tell' and isinstance(value, list) else value
                                                            for name, value in (options or {}).items()})
    return plain([item async for item in api.all(made)] if all else await made)


def main():
    options = json.loads(sys.argv[1])
    api = StarlingApi(options['url'], options['token'], patience=options.get('patience_s', 30))
    for line in sys.stdin:
        try:
            answer = {'result': asyncio.run(called(api, **json.loads(line)))}
        except Exception as error:
            answer = {'error': type(error).__name__, 'message': str(error),
                      **{name: getattr(error, name, None) for name in ('status', 'code', 'why')}}
        print(json.dumps(answer), flush=True)


main()
