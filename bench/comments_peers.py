"""The peers of `./dev bench comments`: subjects, comments and their contents in three tables of PostgreSQL, and Redis with sorted sets before
them; the same comments under the same subjects."""
from feed_peers import Postgres, readable_folder, redis_program
from machine import load

TABLES = '''
CREATE TABLE subjects (id bigint, owner bigint, roots bigint, visible bigint, state int);
CREATE TABLE comments (id bigint, subject bigint, root bigint, floor bigint, author bigint, state int, likes bigint, replies bigint,
                       heat bigint);
CREATE TABLE contents (id bigint, text text);
CREATE SEQUENCE ids START 8000000000000000000;
COPY subjects FROM '{folder}/subjects';
COPY comments FROM '{folder}/comments';
COPY contents FROM '{folder}/contents';
ALTER TABLE subjects ADD PRIMARY KEY (id);
ALTER TABLE comments ADD PRIMARY KEY (id);
ALTER TABLE contents ADD PRIMARY KEY (id);
CREATE UNIQUE INDEX floors ON comments (subject, root, floor);
CREATE INDEX heats ON comments (subject, heat DESC, id DESC) WHERE root = 0;
VACUUM (ANALYZE, FREEZE);
'''
WRITE = '''
WITH s AS (UPDATE subjects SET roots = roots + 1, visible = visible + 1 WHERE id = :s RETURNING roots),
n AS (INSERT INTO comments SELECT nextval('ids'), :s, 0, s.roots, :u, 0, 0, 0, 1767225600000 + s.roots FROM s RETURNING id)
INSERT INTO contents SELECT id, repeat('x', 100) FROM n;
'''
LIKE = 'UPDATE comments SET likes = likes + 1 WHERE id = :c;'
READ = '''
SELECT s.visible, c.*, t.text, r.* FROM subjects s
CROSS JOIN LATERAL (SELECT * FROM comments WHERE subject = s.id AND root = 0 ORDER BY heat DESC, id DESC LIMIT 20) c
JOIN contents t ON t.id = c.id
LEFT JOIN LATERAL (SELECT x.id, x.author, x.floor, x.likes, y.text FROM comments x JOIN contents y ON y.id = x.id
                   WHERE x.subject = s.id AND x.root = c.id ORDER BY x.floor LIMIT 3) r ON true
WHERE s.id = :o ORDER BY c.heat DESC, c.id DESC, r.floor;
'''


def measure_postgres(options, folder, say) -> dict:
    sql = readable_folder(folder)
    load('comments', 'sql', path=sql, count=options.peer_comments, subjects=options.subjects)
    others = f'random(1, {options.subjects - 1})'
    draws = {'s': f'random(0, 1) * {others}', 'o': others, 'u': 'random(2, 1000001)', 'c': f'random(1, {options.peer_comments})'}
    times = max(options.peer_comments // 30, 200)
    with Postgres() as postgres:
        postgres.sql(TABLES.format(folder=sql))
        rows = {}
        for name, script, count in (('a page', READ, times), ('a comment', WRITE, 2 * times), ('a like', LIKE, 2 * times)):
            say(f'PostgreSQL: {name}')
            rows[name] = postgres.bench(draws, script, count)
        rows['version'] = postgres.sql('SHOW server_version;').split()[0]
    return rows


def measure_peers(options, folder, say) -> dict:
    """By name; a text for one that is not here."""
    reason = Postgres().unavailable()
    found = {'postgres': reason or measure_postgres(options, folder, say)}
    say('Redis')
    return found | {'redis': redis_program('comments', folder, options.subjects, options.peer_comments, options.peer_comments // 6)}


def print_ours(result):
    if 'decide' in result:
        posts = result['decide']['posts']
        per = 1e6 / posts['commands']
        print(f'  {"ours, a comment":34} {posts["cpu_s"] * per:8.1f}; broker {posts["broker_cpu_s"] * per:.1f}; without HTTP, as theirs')
    if 'pages' in result:
        us = result['pages']['many']['us']
        print(f'  {"ours, a page":34} {us["comments"]:8.1f}; gateway {us["gateway"]:.1f}, with HTTP, token and JSON')


def report_peers(peers, result):
    postgres, redis = peers['postgres'], peers['redis']
    print('\npeers: us of CPU, server and client. A page: the 20 hottest roots of a subject with 3 replies each')
    if isinstance(postgres, str):
        print(f'  PostgreSQL skipped: {postgres}')
    else:
        for name in ('a comment', 'a like', 'a page'):
            row = postgres[name]
            print(f'  PostgreSQL {postgres["version"] + ", " + name:23} {row["server_us"]:8.1f} {row["client_us"]:8.1f}')
    if isinstance(redis, str):
        print(f'  Redis skipped: {redis}')
    else:
        for name, count in (('comment', 'writes'), ('page', 'pages')):
            row = redis[count]
            print(f'  {"Redis before it, a " + name:34} {row["server_s"] / row["count"] * 1e6:8.1f} '
                  f'{row["client_s"] / row["count"] * 1e6:8.1f}{"; and what PostgreSQL takes" if name == "comment" else ""}')
    print_ours(result)
