"""The table of drills, for people and for bench/results/drills.md."""
import datetime
import pathlib
import platform
import re

from .drill import DRILLS, PRODUCTS

BEGIN, END = '<!-- drills -->', '<!-- end of drills -->'
HEAD = ['fault', 'users notice', 'lists, s', 'timelines, s', 'threads, s', 'lost', 'seen']


def machine() -> str:
    text = pathlib.Path('/proc/cpuinfo').read_text()
    model = re.search(r'^model name\s*: (.*)$', text, re.M)
    return f'{text.count("processor")} cores of {model[1].strip() if model else platform.machine()}'


def markdown_line(cells) -> str:
    return '| ' + ' | '.join(cells) + ' |'


def markdown_row(row) -> str:
    longest, away_s = row.noticed.longest, row.noticed.away_s
    waits = [f'{longest[product]:.1f} of {away_s + most:.0f}' if longest else '' for product, most in zip(PRODUCTS, row.drill.within)]
    lost = row.drill.lost if row.failure is None else '**the drill fails**'
    return markdown_line([row.drill.fault, row.drill.notice, *waits, lost, str(datetime.date.today())])


def markdown(rows, older=()) -> str:
    """older: lines of a table, which stay where there is no newer row. Rows are in the order of the drills."""
    lines = {line.split(' | ')[0].removeprefix('| '): line for line in older}
    lines.update((row.drill.fault, markdown_row(row)) for row in rows)
    known = [drill.fault for drill in DRILLS.values()]
    order = sorted((fault for fault in lines if fault in known or fault in {row.drill.fault for row in rows}),
                   key=lambda fault: known.index(fault) if fault in known else -1)
    return '\n'.join([markdown_line(HEAD), markdown_line(['---'] * len(HEAD)), *(lines[fault] for fault in order)])


def write(path: pathlib.Path, rows):
    """Puts the rows between the marks; those of drills that were not run stay."""
    before, rest = path.read_text().split(BEGIN)
    table, after = rest.split(END)
    older = [line for line in table.splitlines() if line.startswith('| ') and line.split(' | ')[0] not in ('| fault', '| ---')]
    path.write_text(f'{before}{BEGIN}\nOn {machine()}:\n\n{markdown(rows, older)}\n{END}{after}')


def line(row) -> str:
    """For a terminal, as soon as the drill is over."""
    waits = '  '.join(f'{product} {seconds:5.1f} s' for product, seconds in row.noticed.longest.items())
    errors = ', '.join(f'{count} x {what}' for what, count in sorted(row.noticed.errors.items()))
    compared = ', '.join(f'{count} {what}' for what, count in row.compared.items())
    verdict = 'FAILED' if row.failure else 'ok    '
    return f'{verdict} {row.drill.name:24} {row.took_s:4.0f} s  {waits}  {errors}; compared: {compared}'
