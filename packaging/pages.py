#!/usr/bin/env python3
"""Manual pages, completion and docs/COMMANDS.md, from the tables that the programs read their settings and arguments by.

    pages.py DOCUMENT STARLING STARLING_LOAD OUT_DIR DATE   the programs; the date of the pages, as 2026-01-31
    pages.py --commands STARLING STARLING_LOAD              prints docs/COMMANDS.md

Writes OUT_DIR/man/PROGRAM.1, SCRIPT.1, starling-DAEMON.8 and starling.properties.5, and OUT_DIR/completion/PROGRAM for bash.
"""
import json
import pathlib
import re
import runpy
import subprocess
import sys
import textwrap

COMMON = 'All daemons'

DAEMONS = {  # what each is, and what it does
    'starling-ingest': ('HTTP gateway of starling',
                        'serves the HTTP API: positions, friendships, profiles, posts, follows, timelines, comments and moderation. '
                        'It also serves the web page.'),
    'starling-router': ('decides friendships and finds nearby friends',
                        'owns the users of its partitions: it joins their positions with their friend lists and sends changes to edges.'),
    'starling-fanout': ('WebSocket edge of starling', 'keeps the WebSocket sessions of phones and sends them what their screens show.'),
    'starling-feed': ('decides posts and follows, answers home timelines',
                      'owns the posts, follows and inboxes of its partitions and answers pages of home timelines.'),
    'starling-comments': ('decides comments and likes, answers threads',
                          'owns the subjects of its partitions: it decides all comments and likes of one in their order.'),
    'starling-places': ('decides arrivals at users\' places and departures from them',
                        'owns the places of the users of its partitions: each of their reports may begin or end a stay, and is looked at once.'),
    'starling-history-sink': ('writes and answers the history of positions',
                              'writes reported positions to hourly Avro files, and answers questions about one user.'),
    'starling-moderation': ('search index of all comments', 'reads all comments and answers searches of moderators.'),
}

PROGRAMS = {  # those with commands: what each is for, and what it does
    'starling': ('operate and analyse starling',
                 'makes and watches the topics of starling, moves data in and out, and shows what users see.'),
    'starling-load': ('simulate thousands of users of starling',
                      'puts load on a deployment: people whose phones move, who post, follow, comment and read, and whose pages it checks.'),
}

SCRIPTS = {  # programs of tools/: what each does, and its exit status
    'starling-plan': ('multiplies a load with measured figures. It asks nobody.',
                      '0: done; 1: no number of processes is enough for the load; 2: wrong usage.'),
    'starling-comments-convert': ('writes the lines that "starling comments import -" reads to standard output. FILE is plain or gzip; - is '
                                  'standard input.', '0: done; 1: failed, with the reason on standard error; 2: wrong usage.'),
}

SOURCES = ('Settings come from, later ones winning: the defaults; files given by --config; the environment, where '
           '\\fIflush.window.ms\\fR is \\fISTARLING_FLUSH_WINDOW_MS\\fR; and --set. A key that starts with \\fIkafka.\\fR and is not '
           'listed goes to librdkafka without that prefix; docs/CONFIGURATION.md has the defaults that differ from librdkafka\'s. An '
           'unknown key or a malformed value stops the start.')


def roff(text):
    """Text as roff prints it unchanged. Lists without spaces may be broken after their commas."""
    text = text.replace('\\', '\\e').replace('-', '\\-').replace("'", '\\(aq').replace('`', '')
    text = re.sub(r',(?=\S)', r',\\:', text)
    return re.sub(r'^\.', '\\\\&.', text, flags=re.MULTILINE)


class Page:
    def __init__(self, name, section, version, date, title):
        self.lines = [f'.TH {name.upper()} {section} {date} "starling {version}" "starling"',
                      '.\\" Generated from the tables of the programs.', '.ad l', '.ds AD l', '.SH NAME', f'{roff(name)} \\- {roff(title)}']

    def head(self, title):
        self.lines.append(f'.SH {title}')

    def sub(self, title):
        self.lines.append(f'.SS "{roff(title)}"')

    def text(self, *paragraphs):
        for number, paragraph in enumerate(paragraphs):
            self.lines += ['.PP'] * (number > 0) + [paragraph]

    def entry(self, term, text):
        self.lines += ['.TP', term, text]

    def write(self, path):
        path.write_text('\n'.join(self.lines) + '\n')


def bold(*words):
    return ' '.join(f'\\fB{roff(word)}\\fR' for word in words)


def option(name, value):
    return bold('--' + name) + (f' \\fI{roff(value)}\\fR' if value else '')


def setting(page, property):
    default = property['default']
    facts = ['must be given' if default is None else f'Default: {default}' if default else 'Default: empty']
    if property.get('allowed'):
        facts.append('allowed: ' + property['allowed'])
    page.entry(bold(property['name']), roff(f'{property["help"]} {"; ".join(facts)}.'))


def see_also(page, *others):
    page.head('SEE ALSO')
    page.text(', '.join(f'\\fB{roff(name)}\\fR({section})' for name, section in others))


def daemon_page(daemon, version, date):
    name = daemon['name']
    title, what = DAEMONS[name]
    kind = name.removeprefix('starling-')
    page = Page(name, 8, version, date, title)
    page.head('SYNOPSIS')
    page.text(f'{bold(name)} [{option("config", "FILE")}]... [{option("set", "KEY=VALUE")}]... '
              f'[{bold("--check")}] [{bold("--help")}] [{bold("--version")}]')
    page.head('DESCRIPTION')
    page.text(f'{bold(name)} {roff(what)}',
              'It runs in the foreground, logs to standard error, and tells a service manager when it is ready. '
              'Its ops address serves /metrics, /healthz, /readyz and POST /drain.')
    page.head('OPTIONS')
    page.entry(option('config', 'FILE'), 'reads settings from a .properties file')
    page.entry(option('set', 'KEY=VALUE'), 'sets one; stronger than files and than the environment')
    page.entry(bold('--check'), 'reads the configuration and says whether the daemon could start with it')
    page.entry(bold('--help'), 'prints all settings with their defaults')
    page.entry(bold('--version'), 'prints the version')
    page.head('SETTINGS')
    page.text(SOURCES, 'The settings that all daemons have are in \\fBstarling.properties\\fR(5). Those of this one are:')
    for section in daemon['sections']:
        if section['title'] != COMMON:
            page.sub(section['title'])
            for property in section['properties']:
                setting(page, property)
    page.head('SIGNALS')
    page.entry(bold('SIGTERM'), 'The daemon is no longer ready, hands over, and ends. A second signal ends it at once.')
    page.entry(bold('SIGHUP'), 'The daemon reads keys and certificates again.')
    page.head('EXIT STATUS')
    page.text('0 after an orderly end; 1 after a failure; 2 where the configuration is refused.')
    page.head('FILES')
    page.entry(f'\\fI/etc/starling/starling.properties\\fR, \\fI/etc/starling/{roff(kind)}.properties\\fR',
               f'settings of the unit {roff(name)}.service')
    page.entry(f'\\fI/etc/starling/{roff(kind)}@N.properties\\fR', f'what {roff(name)}@N.service has of its own beside them')
    page.entry('\\fI/var/lib/starling\\fR', 'data')
    see_also(page, ('starling', 1), ('starling.properties', 5))
    return page


def settings_page(daemons, version, date):
    page = Page('starling.properties', 5, version, date, 'settings of the starling daemons')
    page.head('DESCRIPTION')
    page.text(SOURCES,
              'Files have the format of Java\\(aqs .properties: KEY=VALUE lines; # and ! begin comments; a backslash continues a line. '
              'They are UTF\\-8.',
              '\\fI/etc/starling/starling.properties\\fR is read by all units, and holds only keys that the \\fBstarling\\fR(1) command '
              'has, too, so that the command can read it.')
    page.head('SETTINGS')
    own = {}  # a default that each daemon has its own of
    for daemon in daemons:
        for property in daemon['sections'][0]['properties']:
            own.setdefault(property['name'], {})[daemon['name']] = property['default']
    seen = set()
    for daemon in daemons:
        for section in daemon['sections']:
            if section['title'] in seen:
                continue
            seen.add(section['title'])
            page.sub(section['title'])
            for property in section['properties']:
                if section['title'] == COMMON and len(set(own[property['name']].values())) > 1:
                    each = ', '.join(f'{default} ({name})' for name, default in own[property['name']].items() if default)
                    property = {**property, 'default': each}
                setting(page, property)
    see_also(page, ('starling', 1), *((daemon['name'], 8) for daemon in daemons))
    return page


def command_page(program, commands, daemons, version, date):
    what, description = PROGRAMS[program]
    page = Page(program, 1, version, date, what)
    page.head('SYNOPSIS')
    page.text(f'{bold(program)} \\fICOMMAND\\fR ... [{option("config", "FILE")}]... [{option("set", "KEY=VALUE")}]...')
    page.head('DESCRIPTION')
    page.text(f'{bold(program)} {roff(description)}')
    page.head('COMMANDS')
    for command in commands:
        page.sub(f'{command["name"]} {command["synopsis"]}')
        page.text(f'\\fB{roff(command["name"])}\\fR: {roff(command["summary"])}.')
        for each in command['tables']['options']:
            page.entry(option(each['name'], each['value']), roff(each['help']))
        if command['tables']['notes']:
            page.lines.append('.PP')
            page.text(*map(roff, command['tables']['notes'].split('\n\n')))
    page.head('OPTIONS')
    page.text('Every command takes:')
    page.entry(option('config', 'FILE'), 'settings from a .properties file; repeatable')
    page.entry(option('set', 'KEY=VALUE'), 'one setting; stronger than files and than the environment')
    page.entry(bold('--help'), 'prints the command\\(aqs options and settings; --help=json prints them for programs')
    page.head('SETTINGS')
    page.text(SOURCES)
    for each in commands[0]['tables']['settings']:
        setting(page, each)
    page.head('EXIT STATUS')
    page.text('0: done; 1: failed, with the reason on standard error; 2: wrong usage.')
    see_also(page, *((name, 1) for name in (*PROGRAMS, *SCRIPTS) if name != program), ('starling.properties', 5),
             *((daemon['name'], 8) for daemon in daemons))
    return page


def first_words(synopsis):
    """The words with which a command's arguments may begin: of 'list | show TOPIC', list and show."""
    starts = (part.strip().split(' ')[0] for part in synopsis.split(' | '))
    return [word for word in starts if re.fullmatch('[a-z]+', word)]


def said(*words):
    return subprocess.check_output(words, text=True)


def commands_of(program):
    """The program's commands; behind one, those of its first words that have options of their own, as `comments import` has."""
    for command in json.loads(said(program, '--help=json'))['commands']:
        yield command
        usual = said(program, command['name'], '--help')
        for word in first_words(command['synopsis']):
            usage, _, summary, *_ = help_text = said(program, command['name'], word, '--help').splitlines()
            if help_text != usual.splitlines():
                name = f'{command["name"]} {word}'
                yield {'name': name, 'synopsis': usage.partition(f' {name} ')[2], 'summary': summary,
                       'tables': json.loads(said(program, command['name'], word, '--help=json'))}


def options_of(script):
    return [each[:3] for each in script['OPTIONS'] + script.get('OTHERS', [])]


def script_page(name, script, version, date):
    what, status = SCRIPTS[name]
    page = Page(name, 1, version, date, script['SUMMARY'])
    page.head('SYNOPSIS')
    page.text(f'{bold(name)} {roff(script["SYNOPSIS"])}')
    page.head('DESCRIPTION')
    page.text(f'{bold(name)} {roff(what)}')
    page.head('OPTIONS')
    for each, value, text in options_of(script):
        page.entry(option(each, value), roff(text))
    page.head('EXIT STATUS')
    page.text(status)
    see_also(page, ('starling', 1))
    return page


def scripts():
    return ((name, runpy.run_path(str(pathlib.Path(__file__).parents[1] / 'tools' / name))) for name in SCRIPTS)


# ---- docs/COMMANDS.md ----

REFERENCE = '''# Commands

<!-- Generated from the tables of the programs: change those, not this page. -->

What each command takes, as its `--help` says. [CLI.md](CLI.md) has examples, and what is behind them. All commands of `starling` and
`starling-load` take `--config FILE` and `--set KEY=VALUE`, and have the [settings](#settings) below.
'''


def escaped(text):
    """Within a table of Markdown, in code spans, too."""
    return text.replace('|', '\\|')


def markdown(text):
    return escaped(re.sub(r'([<>*_])', r'\\\1', text))


def print_table(head, rows):
    if rows:
        print(f'\n| {head} | |\n|---|---|')
        print('\n'.join(f'| `{escaped(term)}` | {markdown(text)} |' for term, text in rows))


def print_command(name, synopsis, summary, options, notes=None):
    usage = textwrap.fill(f'{name} {synopsis}', 120, subsequent_indent='    ', break_long_words=False, break_on_hyphens=False)
    print(f'\n### {name}\n\n```\n{usage}\n```\n\n{markdown(summary[0].upper() + summary[1:])}.')
    print_table('option', [(f'--{option} {value}' if value else f'--{option}', text) for option, value, text in options])
    if notes:
        print('\n' + markdown(notes))


def print_reference(programs):
    print(REFERENCE, end='')
    for program in programs:
        print(f'\n## {program.name}')
        commands = list(commands_of(program))
        for each in commands:
            options = [(option['name'], option['value'], option['help']) for option in each['tables']['options']]
            print_command(f'{program.name} {each["name"]}', each['synopsis'], each['summary'], options, each['tables']['notes'])
    print('\n## Other programs')
    for name, script in scripts():
        print_command(name, script['SYNOPSIS'], script['SUMMARY'], options_of(script))
    print('\n## Settings')
    print_table('setting', [(each['name'], f'{each["help"]} {"Default: " + each["default"] if each["default"] else "Default: empty"}.')
                            for each in commands[0]['tables']['settings']])


# ---- completion ----

FUNCTION = '''# bash completion of {programs}. Generated from the tables of the programs.
{name}() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} keys={keys} words=
    COMPREPLY=()
    case $before in
    --config{file_options})
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
        ;;
    --set)
        compopt -o nospace
        mapfile -t COMPREPLY < <(compgen -S = -W "$keys" -- "$word")
        return
        ;;
{choices}    esac
{words}
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    if [ "${{#COMPREPLY[@]}}" -eq 0 ] && [[ $word != -* ]]; then
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}}
complete -F {name} {programs}
'''


def quoted(words):
    return "'" + ' '.join(words) + "'"


def daemon_completion(daemon):
    keys = [property['name'] for section in daemon['sections'] for property in section['properties']]
    name = '_' + daemon['name'].replace('-', '_')
    return FUNCTION.format(name=name, programs=daemon['name'], keys=quoted(keys), file_options='', choices='',
                           words='    words=' + quoted(['--config', '--set', '--check', '--help', '--version']))


def command_completion(program, commands):
    options = [option for command in commands for option in command['tables']['options']]
    files = sorted({option['name'] for option in options if option['value'] in ('FILE', 'STATE')})
    choices = {option['name']: option['value'].split('|') for option in options
               if re.fullmatch(r'[a-z]+(\|[a-z]+)+', option['value'] or '')}
    cases = []
    for command in commands:
        if ' ' in command['name']:
            continue
        words = first_words(command['synopsis'])
        own = ['--' + option['name'] for each in commands if each['name'].split()[0] == command['name'] for option in each['tables']['options']]
        cases.append(f'    {command["name"]}) words={quoted(words + list(dict.fromkeys(own)))} ;;\n')
    words = ('    if [ "$COMP_CWORD" = 1 ]; then\n'
             f'        words={quoted([command["name"] for command in commands if " " not in command["name"]] + ["--help", "--version"])}\n'
             '    else\n        case ${COMP_WORDS[1]} in\n' + ''.join('    ' + case for case in cases) +
             '        esac\n        words="$words --config --set --help"\n    fi')
    return FUNCTION.format(
        name='_' + program.replace('-', '_'), programs=program, keys=quoted(each['name'] for each in commands[0]['tables']['settings']),
        file_options=''.join(f' | --{name}' for name in files), words=words,
        choices=''.join(f'    --{name}) words={quoted(values)} ;;\n' for name, values in sorted(choices.items())).replace(
            ' ;;\n', '\n        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")\n        return\n        ;;\n'))


def script_completion(name, script):
    options = options_of(script)
    return FUNCTION.format(name='_' + name.replace('-', '_'), programs=name, keys="''", choices='',
                           file_options=''.join(f' | --{option}' for option, value, _ in options if value == 'FILE'),
                           words='    words=' + quoted([*(f'--{option}' for option, *_ in options), '--help', '--version']))


def main():
    if sys.argv[1:2] == ['--commands']:
        print_reference(map(pathlib.Path, sys.argv[2:]))
        return
    document, *programs, out, date = sys.argv[1:]
    out = pathlib.Path(out)
    tables = json.loads(said(document, 'tables'))
    version, daemons = tables['version'], tables['daemons']
    (out / 'man').mkdir(parents=True, exist_ok=True)
    (out / 'completion').mkdir(exist_ok=True)
    for program in map(pathlib.Path, programs):
        commands = list(commands_of(program))
        command_page(program.name, commands, daemons, version, date).write(out / 'man' / f'{program.name}.1')
        (out / 'completion' / program.name).write_text(command_completion(program.name, commands))
    for name, script in scripts():
        script_page(name, script, version, date).write(out / 'man' / f'{name}.1')
        (out / 'completion' / name).write_text(script_completion(name, script))
    settings_page(daemons, version, date).write(out / 'man' / 'starling.properties.5')
    for daemon in daemons:
        daemon_page(daemon, version, date).write(out / 'man' / f'{daemon["name"]}.8')
        (out / 'completion' / daemon['name']).write_text(daemon_completion(daemon))


if __name__ == '__main__':
    main()
