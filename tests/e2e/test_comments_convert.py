"""`starling-comments-convert`: WordPress's export and Disqus's become lines for `starling comments import`. It needs no broker."""
import gzip
import json
import pathlib
import runpy
import subprocess
import types

import pytest

from harness.broker import REPOSITORY

PROGRAM = REPOSITORY / 'tools/starling-comments-convert'
SAMPLES = pathlib.Path(__file__).parent / 'samples'
convert = types.SimpleNamespace(**runpy.run_path(str(PROGRAM)))
STATES = 'visible', 'held', 'hidden', 'deleted'


def said_of(lines):
    """A text line each, with guests by the order in which they come: who has the same address, else login, else name is one."""
    guests = {}
    for line in lines:
        if line['type'] == 'subject':
            subject, sent = line['subject'], {}
            yield f'REGISTER {subject} owner={line["owner"]} closing={int(line["closed"])}'
            continue
        who = line.get('email', '').lower() or line.get('login') or line.get('name')
        if 'user' not in line and who not in guests:
            yield f'GUEST g{len(guests)} {line["name"]}'
            guests[who] = f'g{len(guests)}'
        named = sent[line['id']] = f'{line.get("user", guests.get(who))}/{line["key"]}'
        above = line['reply_to']
        yield (f'{"REPLY" if above else "POST"} {subject} {named.replace("/", " ")} t={line["time"]} s={STATES.index(line["state"])}' +
               (f' of {sent[above]}' if above else '') + f' [{line.get("text", "")}]')


class Told:
    def __init__(self):
        self.lines, self.wrong = [], []


def converted(path, skip=False, told=None, **lists):
    """What comes of a file, a text line each, what was wrong with it, and the counts; or what ended it."""
    told = told or Told()
    try:
        counts = convert.convert(str(path), convert.Site(owner=5, **lists), told.lines.append, told.wrong.append, skip)
    except convert.Wrong as wrong:
        return 'error: ' + str(wrong).rpartition('/')[2]
    wrong = ['WRONG ' + reason.rpartition('/')[2] for reason in told.wrong]
    more = ', {hidden} hidden, {gone} gone, {wrong} wrong' if counts['hidden'] or counts['gone'] or counts['wrong'] else ''
    return '\n'.join([*wrong, *said_of(told.lines), ('{subjects} {comments}, {skipped} skipped' + more).format(**counts)])


@pytest.fixture
def expect(tmp_path):
    def expect(name, content, expected, skip=False):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        assert converted(path, skip) == expected
    return expect


@pytest.fixture
def expect_sample(tmp_path):
    def expect(sample, authors, subjects, expected):
        (tmp_path / 'authors').write_text(authors)
        (tmp_path / 'subjects').write_text(subjects)
        assert converted(SAMPLES / sample, authors=tmp_path / 'authors', subjects=tmp_path / 'subjects') == expected
    return expect


def test_wordpress(expect_sample):
    expect_sample('wordpress.xml', 'rosa,7\nROSA@garden.example,7\n', '',
                  'REGISTER article:17 owner=7 closing=0\n'
                  'GUEST g0 Ängström\n'
                  'POST article:17 g0 wp:101 t=1399291200000 s=0 [Also in the north?]\n'
                  'REPLY article:17 7 wp:103 t=1399296600000 s=0 of g0/wp:101 [Yes, but not in frost & snow.\n'
                  'See this page (https://rhs.example/roses).]\n'
                  'REPLY article:17 g0 wp:104 t=1399363200000 s=1 of g0/wp:101 [What was that pill seller?]\n'
                  'GUEST g1 Ben\n'
                  'POST article:17 g1 wp:106 t=1399539600000 s=3 []\n'
                  '1 4, 2 skipped')
    expect_sample('wordpress.xml', '', '# by the link\nhttps://garden.example/2014/05/prune-roses/,post:99\n',
                  'REGISTER post:99 owner=5 closing=0\n'
                  'GUEST g0 Ängström\n'
                  'POST post:99 g0 wp:101 t=1399291200000 s=0 [Also in the north?]\n'
                  'GUEST g1 Rosa\n'
                  'REPLY post:99 g1 wp:103 t=1399296600000 s=0 of g0/wp:101 [Yes, but not in frost & snow.\n'
                  'See this page (https://rhs.example/roses).]\n'
                  'REPLY post:99 g0 wp:104 t=1399363200000 s=1 of g0/wp:101 [What was that pill seller?]\n'
                  'GUEST g2 Ben\n'
                  'POST post:99 g2 wp:106 t=1399539600000 s=3 []\n'
                  '1 4, 2 skipped')


def test_disqus(expect_sample):
    """Posts stand in any order; the identifier that can be no subject gives way to the thread's number."""
    expect_sample('disqus.xml', 'joecook,41\n', '',
                  'REGISTER article:soup owner=5 closing=1\n'
                  'POST article:soup 41 disqus:501 t=1330682400000 s=0 [How long do the beans soak?\n\n'
                  'I have https://beans.example/kinds here.\nThanks]\n'
                  'GUEST g0 Somebody\n'
                  'REPLY article:soup g0 disqus:502 t=1330686000000 s=3 of 41/disqus:501 []\n'
                  'GUEST g1 Marta\n'
                  'REPLY article:soup g1 disqus:503 t=1330689600000 s=0 of g0/disqus:502 [Twelve hours.]\n'
                  'REGISTER article:2233445567 owner=5 closing=0\n'
                  'POST article:2233445567 41 disqus:504 t=1333350000000 s=0 [面包很好吃 & crisp]\n'
                  '2 4, 1 skipped')


def comment(id, parent, time):
    return (f'<wp:comment><wp:comment_id>{id}</wp:comment_id><wp:comment_author>A</wp:comment_author><wp:comment_date_gmt>'
            f'2020-01-01 00:00:{time}</wp:comment_date_gmt><wp:comment_content>x &lt; y</wp:comment_content>'
            f'<wp:comment_approved>1</wp:comment_approved><wp:comment_parent>{parent}</wp:comment_parent></wp:comment>\n')


def test_odd_parents(expect):
    """A circle of parents, one that is not in the file, and a parent that is later than its reply."""
    expect('odd.xml',
           "<rss xmlns:wp='http://wordpress.org/export/1.1/'><channel><item>\n<wp:post_id>1</wp:post_id>" + comment('1', '2', '01') +
           comment('2', '1', '02') + comment('3', '77', '03') + comment('4', '5', '04') + comment('5', '0', '05') +
           '</item></channel></rss>',
           'REGISTER article:1 owner=5 closing=0\n'
           'GUEST g0 A\n'
           'POST article:1 g0 wp:2 t=1577836802000 s=0 [x < y]\n'
           'REPLY article:1 g0 wp:1 t=1577836801000 s=0 of g0/wp:2 [x < y]\n'
           'POST article:1 g0 wp:3 t=1577836803000 s=0 [x < y]\n'
           'POST article:1 g0 wp:5 t=1577836805000 s=0 [x < y]\n'
           'REPLY article:1 g0 wp:4 t=1577836804000 s=0 of g0/wp:5 [x < y]\n'
           '1 5, 0 skipped')
    expect('time.xml',
           "<rss xmlns:wp='w'><channel>\n<item><wp:post_id>1</wp:post_id>\n" + comment('1', '0', 'xx') + '</item></channel></rss>',
           'error: time.xml:3: comment 1 has no time between 1970 and now')


def test_bad_files(expect, tmp_path):
    expect('b6', '<html></html>', "error: b6:1: <html> begins neither WordPress's export (rss) nor Disqus's (disqus)")
    expect('b7', '<rss><channel>\n<item>\n</channel></rss>', 'error: b7:3: mismatched tag')
    expect('b8', "<disqus xmlns:dsq='http://disqus.com/disqus-internals'>\n<post dsq:id='1'><thread dsq:id='9'/></post></disqus>",
           'error: b8:2: post 1 is of thread 9, which is not before it')
    expect('b9', '<rss><channel>\n<item><post_id>#</post_id><comment/></item></channel></rss>',
           'error: b9:2: the article has no post_id, link or post_name that can name a subject')
    expect('b10', gzip.compress(b'<rss><channel>')[:-4], 'error: b10: the file is cut short')
    assert converted(tmp_path / 'none') == 'error: none: No such file or directory'
    list = tmp_path / 'bad-authors'
    list.write_text('a@b.c,7\nnobody\n')
    with pytest.raises(convert.Wrong, match='bad-authors:2: must be AUTHOR,USER'):
        convert.Site(authors=list)
    list.write_text('17,post 9\n')
    with pytest.raises(convert.Wrong, match='bad-authors:1: must be WHAT,SUBJECT'):
        convert.Site(subjects=list)


def test_a_file_of_strangers_takes_no_more_than_it_may(expect, tmp_path):
    """Entities do not expand and open nothing, depth is bounded, and so are texts."""
    secret = tmp_path / 'secret'
    secret.write_text('secret')
    bomb = '<!ENTITY a "ha">' + ''.join(f'<!ENTITY {b} "&{a};&{a};&{a};&{a};&{a};&{a};&{a};&{a};&{a};&{a};">' for a, b in
                                        zip('abcdefghi', 'bcdefghij'))
    for number, declared in enumerate((bomb, f'<!ENTITY j SYSTEM "{secret}">', f'<!ENTITY % j SYSTEM "{secret}"> %j;')):
        expect(f'e{number}', f'<!DOCTYPE rss [{declared}]>\n<rss><channel>{item(1, "<status>&j;</status>")}</channel></rss>',
               f'error: e{number}:1: the file declares an entity: that is not read', skip=True)
    expect('dtd', f'<!DOCTYPE rss SYSTEM "{secret}">\n<rss><channel/></rss>', '0 0, 0 skipped')
    for depth, said in (256, '0 0, 0 skipped'), (257, 'error: deep: more than 256 elements stand within each other'):
        expect('deep', '<rss>' + '<a>' * (depth - 1) + '</a>' * (depth - 1) + '</rss>', said.replace('deep:', 'deep:1:'))
    expect('deep', '<rss>' + '<a>' * 100000, 'error: deep:1: more than 256 elements stand within each other')
    expect('wide', '<rss><channel><item><content>' + 'x' * 10_000_001 + '</content></item></channel></rss>',
           'error: wide:1: the text of <content> is longer than 10000000 characters')


def item(id, rest):
    return (f'<item><post_id>{id}</post_id>{rest}<comment><comment_id>1</comment_id><comment_author>A</comment_author><comment_date_gmt>'
            '2014-05-05 12:00:00</comment_date_gmt><comment_content>x</comment_content><comment_approved>1</comment_approved></comment>'
            '</item>\n')


def test_pages_that_are_not_public(expect):
    """Comments are not more public than the pages that had them."""
    expect('pages',
           '<rss><channel>\n' + item(1, '<status>publish</status>') + item(2, '<status>private</status>') +
           item(3, '<status>trash</status>') + item(4, '<post_password>p</post_password>') + item(5, '<status>draft</status>') +
           '</channel></rss>',
           'REGISTER article:1 owner=5 closing=0\n'
           'GUEST g0 A\n'
           'POST article:1 g0 wp:1 t=1399291200000 s=0 [x]\n'
           'REGISTER article:2 owner=5 closing=0\n'
           'POST article:2 g0 wp:1 t=1399291200000 s=1 [x]\n'
           'REGISTER article:4 owner=5 closing=0\n'
           'POST article:4 g0 wp:1 t=1399291200000 s=1 [x]\n'
           'REGISTER article:5 owner=5 closing=0\n'
           'POST article:5 g0 wp:1 t=1399291200000 s=1 [x]\n'
           '4 4, 0 skipped, 3 hidden, 1 gone, 0 wrong')
    expect('threads',
           "<disqus xmlns:dsq='http://disqus.com/disqus-internals'><thread dsq:id='9'><id>a</id><isDeleted>true</isDeleted>"
           "</thread><post dsq:id='1'><message>x</message><createdAt>2014-05-05T12:00:00Z</createdAt><thread dsq:id='9'/>"
           '</post></disqus>',
           '0 0, 0 skipped, 0 hidden, 1 gone, 0 wrong')


def test_what_is_wrong_is_skipped_if_that_is_wanted(expect):
    expect('s2',
           b"<disqus xmlns:dsq='http://disqus.com/disqus-internals'>\n<post dsq:id='1'><thread dsq:id='9'/></post>\n"
           b"<thread dsq:id='9'><id>a</id></thread>\n"
           b"<post dsq:id='2'><message>no\x0b&#0011;&#xB;&#x2764;t&#10;ime</message><thread dsq:id='9'/></post>\n"
           b"<post dsq:id='3'><message>y</message><createdAt>2014-05-05T12:00:00Z</createdAt><parent dsq:id='2'/>"
           b"<thread dsq:id='9'/></post></disqus>",
           'WRONG s2:4: a control character (11) is a blank now\n'
           'WRONG s2:4: a control character (11) is a blank now\n'
           'WRONG s2:4: a control character (11) is a blank now\n'
           'WRONG s2:2: post 1 is of thread 9, which is not before it\n'
           'WRONG s2:4: comment 2 has no time between 1970 and now\n'
           'REGISTER article:a owner=5 closing=0\n'
           'GUEST g0 \n'
           'POST article:a g0 disqus:3 t=1399291200000 s=0 [y]\n'
           '1 1, 0 skipped, 0 hidden, 0 gone, 5 wrong', skip=True)


def test_references_to_control_characters_become_blanks(tmp_path):
    """Wherever the pieces end in which a file is read."""
    references, path, told = 30000, tmp_path / 's3', Told()
    path.write_text("<disqus xmlns:dsq='http://disqus.com/disqus-internals'><thread dsq:id='9'><id>a</id></thread>"
                    "<post dsq:id='1'><message>y</message><createdAt>2014-05-05T12:00:00Z</createdAt><thread dsq:id='9'/><ip>" +
                    '&#11;&#xB;' * (references // 2) + '</ip></post></disqus>')
    said = converted(path, True, told)
    assert told.wrong == [f'{path}:1: a control character (11) is a blank now'] * references
    assert 'POST article:a g0 disqus:1 t=1399291200000 s=0 [y]\n' in said


def test_times():
    for text, ms in {'2014-05-05 12:00:00': 1399291200000, '2014-05-05T12:00:00Z': 1399291200000, '2014-05-05T14:00:00.5+02:00':
                     1399291200500, '0000-00-00 00:00:00': 0, '': 0, 'yesterday': 0}.items():
        assert convert.time_of(text) == ms, text
    assert convert.time_of('0000-00-00 00:00:00', '2014-05-05 12:00:00') == 1399291200000


def test_hypertext():
    for html, text in {
            'plain': 'plain', ' two\r\nlines ': 'two\nlines', 'a<p>b<p>c': 'a\n\nb\n\nc', '<ul><li>a<li>b</ul>c': 'a\nb\n\nc',
            '<a href="u">u</a>': 'u', '<a href="u">x': 'x (u)', '<a href="u"><img src="u"></a>': 'u', '<img src="u">': 'u',
            '<a>x</a>': 'x', 'a<br>b<br/>c': 'a\nb\nc', 'a<script>b</script><style>c</style>d': 'ad', 'a\n\n\n\nb': 'a\n\nb',
            '1 < 2 &amp; <b>3</b>': '1 < 2 & 3', 'a<![if x]>b<![x y]>c<!d e>f<!-- g > h -->i': 'abcfi',
            '<table><tr><td>a</td></tr><tr><td>b</td></tr></table>': 'a\nb'}.items():
        assert convert.plain(html) == text, html


def run(*arguments, stdin=None):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, input=stdin, timeout=60)


def test_the_program(tmp_path):
    done = run(SAMPLES / 'wordpress.xml', '--owner', 3, '--type', 'page')
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and len(lines) == 5 and lines[0]['subject'] == 'page:17' and lines[0]['owner'] == 3
    assert b'1 subjects and 4 comments are written' in done.stderr and b': 2 were left out: spam' in done.stderr
    packed = run('-', '--owner', 3, '--type', 'page', stdin=gzip.compress((SAMPLES / 'wordpress.xml').read_bytes()))
    assert packed.stdout == done.stdout
    for arguments, code, said in (((SAMPLES / 'disqus.xml',), 1, 'disqus.xml:10: the article\'s author "marta" is not listed: give --owner'),
                                  ((tmp_path / 'none',), 1, 'none: No such file'), (('a', '--type', 'A'), 2, '--type A: must be'),
                                  (('a', '--owner', '-1'), 2, '--owner'), ((), 2, 'required')):
        done = run(*arguments)
        assert done.returncode == code and said in done.stderr.decode(), (arguments, done.stderr)
    (tmp_path / 'wrong.xml').write_text('<rss><channel>' + '<item><comment/></item>' * 30 + '</channel></rss>')
    done = run(tmp_path / 'wrong.xml', '--skip').stderr.decode()
    assert done.count('can name a subject') == 20 and done.count('and so on') == 1 and ': 30 times something was wrong' in done


def test_a_long_text_is_cut_by_the_import_and_counted_there(tmp_path):
    path, told = tmp_path / 'long', Told()
    path.write_text('<rss><channel>' + item(1, '').replace('>x<', f'>{"é" * 30000}<') + '</channel></rss>')
    converted(path, told=told)
    assert told.lines[1]['text'] == 'é' * 10001


def test_it_tells_its_usage_and_its_version():
    usage = run('--help')
    assert (usage.returncode, usage.stderr) == (0, b'') and usage.stdout.startswith(b'usage: starling-comments-convert FILE')
    assert all(f'--{name} '.encode() in usage.stdout for name, *_ in convert.OPTIONS)
    assert run('--version').stdout == f'starling-comments-convert {convert.VERSION}\n'.encode()
