"""The table of drills, for people and for docs/RELIABILITY.md."""
import datetime
import pathlib
import platform
import re

from .drill import PRODUCTS

BEGIN, END = '<!-- drills -->', '<!-- end of drills -->'


def machine() -> str:
    text = pathlib.Path('/proc/cpuinfo').read_text()
    model = re.search(r'^model name\s*: (.*)$', text, re.M)
    return f'{text.count("processor")} cores of {model[1].strip() if model else platform.machine()}'


def cells(row) -> list[str]:
    longest, away_s = row.noticed.longest, row.noticed.away_s
    waits = [f'{longest[product]:.1f} of {away_s + most:.0f}' if longest else '' for product, most in zip(PRODUCTS, row.drill.within)]
    return [row.drill.fault, row.drill.notice, *waits, row.drill.lost if row.failure is None else '**the drill fails**']


def markdown(rows) -> str:
    head = ['fault', 'users notice', 'lists, s', 'timelines, s', 'threads, s', 'lost']
    lines = [head, ['---'] * len(head), *map(cells, rows)]
    total = {what: max(row.compared.get(what, 0) for row in rows) for what in ('pairs', 'posts', 'comments', 'friendships', 'rows')}
    return '\n'.join([
        f'{datetime.date.today()}, {machine()}; at the end {total["pairs"]} pairs on lists, {total["posts"]} posts, {total["comments"]} '
        f'comments, {total["friendships"]} friendships and {total["rows"]} rows of history were compared.', '',
        *('| ' + ' | '.join(line) + ' |' for line in lines)])


def write(path: pathlib.Path, rows):
    text = path.read_text()
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    path.write_text(f'{before}{BEGIN}\n{markdown(rows)}\n{END}{after}')


def line(row) -> str:
    waits = '  '.join(f'{product} {seconds:5.1f} s' for product, seconds in row.noticed.longest.items())
    errors = ', '.join(f'{count} x {what}' for what, count in sorted(row.noticed.errors.items()))
    return f'{"ok    " if row.failure is None else "FAILED"} {row.drill.name:24} {row.took_s:4.0f} s  {waits}  {errors}'
