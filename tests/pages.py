"""The pages, and their commands: shell blocks, fenced as `sh` or indented, as tools/check/commands counts them and tests run them."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[1]
DATA = re.compile(r'\{".*|[a-z0-9]+(\.[a-z0-9]+)+=.*|')  # JSON, settings: no command
HEREDOC = re.compile(r"<<-?'?([A-Z]+)'?")


def files(root):
    """All pages of ours, generated ones, too."""
    folders = (root / name for name in ('docs', 'tests', 'bench', 'clients', 'compose', 'web'))
    return sorted([*root.glob('*.md'), *(page for folder in folders for page in folder.rglob('*.md') if not {'node_modules', 'target'} & set(page.parts))])


def blocks(text):
    """-> [(number of the first line, heading above, lines)] of fenced shell blocks, and of all indented ones."""
    lines, found, heading, at = text.splitlines(), [], '', 0
    while at < len(lines):
        start, line = at, lines[at]
        at += 1
        if match := re.match(r' *```(\w*)$', line):
            while lines[at].strip() != '```':
                at += 1
            if match[1] == 'sh':
                found.append((start + 2, heading, lines[start + 1:at]))
            at += 1
        elif match := re.match(r'#+ (.+)', line):
            heading = match[1]
        elif line.startswith('    ') and (start == 0 or not lines[start - 1]):
            while at < len(lines) and (lines[at].startswith('    ') or (not lines[at] and lines[at + 1:at + 2] and lines[at + 1].startswith('    '))):
                at += 1
            if not all(DATA.fullmatch(each.strip()) for each in lines[start:at]):
                found.append((start + 1, heading, lines[start:at]))
    return found


def commands(lines):
    """The commands of a block, each on one line and without its remark; what a command reads from the block is no command."""
    found, end, open_line = [], None, ''
    for line in lines:
        line = line.strip()
        if end:
            end = None if line == end else end
            continue
        line = re.sub(r'(^|\s+)#(?!\S*["\']).*', '', line)
        if open_line.endswith('\\'):
            line = open_line[:-1].rstrip() + ' ' + line
        open_line = line
        if not line or DATA.fullmatch(line) or line.endswith('\\'):
            continue
        if match := HEREDOC.search(line):
            end = match[1]
        found.append(line)
    return found


def section(page, *headings):
    """The blocks under those headings, as scripts."""
    text = (ROOT / page).read_text()
    return ['\n'.join(line.removeprefix('    ') if lines[0].startswith('    ') else line for line in lines)
            for _, heading, lines in blocks(text) if heading in headings]
