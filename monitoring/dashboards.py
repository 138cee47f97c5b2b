#!/usr/bin/env python3
"""Writes the Grafana dashboards of this folder (dashboards/*.json): one of the whole, and one a tier.

    monitoring/dashboards.py            writes them
    monitoring/dashboards.py --check    ends with 1 if a file is not what this program would write

An expression names metrics without matchers for job and instance; they are put in here, so that every panel follows the
dashboard's choice of processes.
"""
import json
import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).parent / 'dashboards'
DATASOURCE = {'type': 'prometheus', 'uid': '${datasource}'}
WIDTH, HEIGHT, COLUMNS = 8, 8, 3
RATE = '[$__rate_interval]'
METRIC = re.compile(r'\b((?:starling|process)_[a-z_]+|up)\b(\{[^}]*\})?')


def chosen(expression):
    """The expression over the chosen processes only."""
    def with_matchers(match):
        own = (match[2] or '{}')[1:-1]
        return match[1] + '{' + ', '.join(filter(None, [own, 'job=~"$job"', 'instance=~"$instance"'])) + '}'
    return METRIC.sub(with_matchers, expression)


def rate(metric, by=''):
    groups = f' by ({by}) ' if by else ''
    return f'sum{groups}(rate({metric}{RATE}))'


def quantile(q, histogram, by='', where=''):
    groups = f'le, {by}' if by else 'le'
    return f'histogram_quantile({q}, sum by ({groups}) (rate({histogram}_bucket{where}{RATE})))'


def p50_p99(metric):
    return {'p50': quantile(0.5, metric), 'p99': quantile(0.99, metric)}


def graph(title, says, unit, queries):
    """queries: a legend's text, which may name labels as {{label}}, with its expression."""
    return {'title': title, 'description': says, 'unit': unit, 'queries': queries, 'type': 'timeseries'}


def number(title, says, unit, expression):
    return {'title': title, 'description': says, 'unit': unit, 'queries': {title: expression}, 'type': 'stat'}


def process_panels():
    return [
        graph('CPU', 'Cores that each process uses. One process is one event loop: about 1 is full.', 'none',
              {'{{job}} {{instance}}': f'rate(process_cpu_seconds_total{RATE})'}),
        graph('Memory', 'Resident memory of each process.', 'bytes', {'{{job}} {{instance}}': 'process_resident_memory_bytes'}),
        graph('Conditions that do not hold', 'Why a process is not ready.', 'none',
              {'{{instance}} {{condition}}': '1 - starling_ready'}),
    ]


def owner_panels(prefix, state):
    """The panels of every process that owns partitions. state: what its store holds."""
    return [
        graph('Commands decided', 'Commands a second.', 'ops', {'{{instance}}': rate(f'{prefix}_commands_total', 'instance')}),
        graph('Commands waiting', 'Read from Kafka and not decided yet.', 'none', {'{{instance}}': f'{prefix}_commands_queued'}),
        graph('Transactions', 'Committed ones, and those that failed and were repeated.', 'ops',
              {'committed': rate(f'{prefix}_transactions_total'), 'failed': rate(f'{prefix}_transactions_failed_total')}),
        graph('Partitions', 'Partitions that each process owns.', 'none', {'{{instance}}': f'{prefix}_partitions_owned'}),
        graph('Stand-by partitions', f'Copies of {state} that are up to date, of those that each process should keep.', 'none',
              {'{{instance}} up to date': f'{prefix}_partitions_standby_current', '{{instance}} wanted': f'{prefix}_partitions_standby'}),
        graph('Restore left', 'How long until the restore that is under way ends.', 's',
              {'{{instance}}': f'{prefix}_restore_left_seconds'}),
    ]


WHOLE = [
    number('Processes up', 'Daemons that Prometheus reaches.', 'none', 'sum(up)'),
    number('Processes down', 'Daemons that Prometheus does not reach.', 'none', 'count(up) - sum(up)'),
    number('Sessions', 'Open WebSocket connections on all edges.', 'none', 'sum(starling_edge_sessions)'),
    number('Reports', 'Positions that gateways and edges take, a second.', 'ops',
           rate('starling_edge_locations_produced_total') + ' + (' + rate('starling_ingest_reports_total') + ' or vector(0))'),
    number('Requests', 'HTTP requests that gateways answer, a second.', 'reqps', rate('starling_ingest_requests_total')),
    number('Dead letters', 'Records that no process could read, in the last hour.', 'none',
           'sum(increase(starling_dead_letters_total[1h])) or vector(0)'),
    graph('Report to screen', "From Kafka's time of a report to the friend's edge.", 's', p50_p99('starling_edge_delivery_latency_seconds')),
    graph('Post to screen', 'From the time of a post to its frame to a watching reader.', 's', p50_p99('starling_edge_feed_latency_seconds')),
    graph('Page time', 'From the request for a page of a feed, or of a thread, to its answer.', 's',
          {'{{route}} p99': quantile(0.99, 'starling_ingest_request_seconds', 'route',
                                   '{route=~"/v1/feed|/v1/comments/.*", method="GET"}')}),
    graph('Answers', 'HTTP answers a second, by status.', 'reqps', {'{{status}}': rate('starling_ingest_requests_total', 'status')}),
    graph('Joins', 'Events that routers join with friend lists, a second.', 'ops', {'joins': rate('starling_router_joins_total')}),
    graph('Decisions', 'Commands of friends, feeds and comments decided, and reports of users with places, a second.', 'ops',
          {'friends': rate('starling_router_commands_total'), 'feed': rate('starling_feed_commands_total'),
           'comments': rate('starling_comments_commands_total'), 'places': rate('starling_places_commands_total')}),
    *process_panels(),
]

INGEST = [
    graph('Requests', 'Answers a second, by route.', 'reqps', {'{{method}} {{route}}': rate('starling_ingest_requests_total', 'method, route')}),
    graph('Errors', 'Answers with a status of 500 and more, a second. 503: Kafka, or the owner of what was asked for, is away.', 'reqps',
          {'all': rate('starling_ingest_requests_total{status=~"5.."}') + ' or vector(0)'}),
    graph('Time of an answer', 'From the head of a request to its answer.', 's', p50_p99('starling_ingest_request_seconds')),
    graph('Slowest routes', 'p99 by route.', 's', {'{{route}}': 'topk(8, ' + quantile(0.99, 'starling_ingest_request_seconds', 'route') + ')'}),
    graph('Connections', 'Open HTTP connections.', 'none', {'{{instance}}': 'starling_ingest_connections'}),
    graph('Commands written', 'Commands to friends, feeds and comments, a second.', 'ops',
          {'friends': rate('starling_ingest_friend_commands_total'), 'feed': rate('starling_ingest_feed_commands_total'),
           'comments': rate('starling_ingest_comment_commands_total')}),
    graph('Pages of threads', 'Pages that were built, and those that were answered from one that was there.', 'ops',
          {'built': rate('starling_ingest_comment_pages_built_total'), 'shared': rate('starling_ingest_comment_pages_shared_total')}),
    graph('Users and posts', 'Answers that were asked of owners, and those that were copies, as very many asked.', 'ops',
          {'asked': rate('starling_ingest_feed_answers_built_total'), 'copies': rate('starling_ingest_feed_answers_shared_total')}),
    graph('Reports refused', 'Positions that gateways refused, a second.', 'ops', {'refused': rate('starling_ingest_refused_total')}),
    graph('Copies', 'Records read into local copies, a second.', 'ops', {'{{instance}}': rate('starling_copies_records_total', 'instance')}),
    *process_panels(),
]

FANOUT = [
    graph('Sessions', 'Open WebSocket connections.', 'none', {'{{instance}}': 'starling_edge_sessions'}),
    graph('Frames', 'Frames sent, a second.', 'ops', {'{{instance}}': rate('starling_edge_frames_total', 'instance')}),
    graph('Bytes', 'Payload sent, a second.', 'Bps', {'{{instance}}': rate('starling_edge_frame_bytes_total', 'instance')}),
    graph('Report to screen', "From Kafka's time of a report to the friend's edge.", 's', p50_p99('starling_edge_delivery_latency_seconds')),
    graph('Post to screen', 'From the time of a post to its frame to a watching reader.', 's', p50_p99('starling_edge_feed_latency_seconds')),
    graph('Loop lag', 'How late the event loop is. Above 0.1 an edge is full.', 's', {'{{instance}}': 'starling_edge_loop_lag_seconds'}),
    graph('Connections lost', 'Connections that were closed or sent away, a second.', 'ops',
          {'too slow': rate('starling_edge_slow_closed_total'), 'dead': rate('starling_edge_dead_total'),
           'overloaded': rate('starling_edge_overloaded_total'), 'refused handshakes': rate('starling_edge_handshakes_refused_total'),
           'floods': rate('starling_edge_floods_total')}),
    graph('Watching feeds', 'Sessions that watch their feed.', 'none', {'{{instance}}': 'starling_edge_feed_watching_sessions'}),
    graph('Feeds told stale', 'Phones that are told to read their feed again, a second.', 'ops',
          {'stale': rate('starling_edge_feed_stales_total'), 'owner away': rate('starling_edge_feed_unavailable_total')}),
    *process_panels(),
]

ROUTER = [
    graph('Events', 'Records of locations handled, a second.', 'ops', {'{{instance}}': rate('starling_router_events_total', 'instance')}),
    graph('Join', 'What a join takes, from its friend list to the outbox. One in 64 is timed.', 's', p50_p99('starling_router_join_seconds')),
    graph('Lag', 'How far a router is behind the newest report.', 's', {'{{instance}}': 'starling_router_lag_seconds'}),
    graph('Deliveries', 'Positions told to edges, a second.', 'ops', {'{{instance}}': rate('starling_router_deliveries_total', 'instance')}),
    graph('Present users', 'Users in presence.', 'none', {'{{instance}}': 'starling_router_present_users'}),
    graph('Warm and caught up', '1: presence holds the whole inactive window; 1: the router has read all reports.', 'none',
          {'{{instance}} warm': 'starling_router_warm', '{{instance}} caught up': 'starling_router_caught_up'}),
    graph('Block cache', 'Share of the blocks that the event loop found in the cache.', 'percentunit',
          {'hits': rate('starling_router_store_cache_reads_total{result="hit"}') + ' / ' + rate('starling_router_store_cache_reads_total')}),
    graph('Batches lost', 'Delivery batches that Kafka did not acknowledge, a second.', 'ops', {'lost': rate('starling_router_batches_lost_total')}),
    graph('Reports skipped', 'Reports that a router far behind leaves out, a second.', 'ops', {'skipped': rate('starling_router_reports_skipped_total')}),
    *owner_panels('starling_router', 'friend lists'),
    *process_panels(),
]

FEED = [
    graph('Inbox entries', 'Entries written to inboxes, a second.', 'ops', {'{{instance}}': rate('starling_feed_inbox_entries_total', 'instance')}),
    graph('Unwritten inboxes', 'Memory of entries that are not on the disk yet.', 'bytes', {'{{instance}}': 'starling_feed_inbox_bytes'}),
    graph('Pushes under way', 'Posts of authors with many followers that are being pushed in slices.', 'none', {'{{instance}}': 'starling_feed_pushes'}),
    graph('Hot posts', 'Memory of the posts of hot authors.', 'bytes', {'{{instance}}': 'starling_feed_hot_bytes'}),
    graph('Watched readers', 'Readers whose timelines some edge watches.', 'none', {'{{instance}}': 'starling_feed_watched'}),
    graph('Changes told', 'Changes of timelines told to edges, a second.', 'ops', {'changes': rate('starling_feed_changes_told_total')}),
    graph('Lost between processes', 'Batches and commands that Kafka did not take. They are repeated.', 'ops', {'lost': rate('starling_feed_lost_total')}),
    graph('Notices for the receiver', 'Notices that the receiver of notify.url has taken, and tries that it has not, a second.', 'ops',
          {'taken': rate('starling_feed_notify_pushed_total'), 'not taken': rate('starling_feed_notify_failed_total')}),
    graph('Waiting for the receiver', 'Age of the oldest record that is still to be pushed to notify.url.', 's',
          {'{{instance}}': 'starling_feed_notify_oldest_seconds'}),
    graph('Stores', 'Posts on the disk.', 'bytes', {'{{instance}}': 'starling_feed_store_disk_bytes'}),
    *owner_panels('starling_feed', 'follows and posts'),
    *process_panels(),
]

COMMENTS = [
    graph('Store', 'Comments on the disk.', 'bytes', {'{{instance}}': 'starling_comments_store_disk_bytes'}),
    graph('Block cache', 'Memory of the cache of the store.', 'bytes', {'{{instance}}': 'starling_comments_store_cache_bytes'}),
    graph('State on its way', 'State that was written to Kafka and is not read back yet.', 'none', {'{{instance}}': 'starling_comments_overlay_entries'}),
    *owner_panels('starling_comments', 'comments'),
    *process_panels(),
]

PLACES = [
    graph('Arrivals and departures', 'Of all users, a second.', 'ops', {'events': rate('starling_places_events_total')}),
    graph('Users', 'Users with places, in memory.', 'none', {'{{instance}}': 'starling_places_users'}),
    graph('States written again', 'States of users whose reports changed nothing but the time of the newest one, a second.', 'ops',
          {'states': rate('starling_places_covers_total')}),
    graph('Store', 'Places and events on the disk.', 'bytes', {'{{instance}}': 'starling_places_store_disk_bytes'}),
    graph('Block cache', 'Memory of the cache of the store.', 'bytes', {'{{instance}}': 'starling_places_store_cache_bytes'}),
    *owner_panels('starling_places', 'places'),
    *process_panels(),
]

HISTORY = [
    graph('Rows', 'Rows written to open files, and published ones, a second.', 'ops',
          {'written': rate('starling_history_rows_total'), 'published': rate('starling_history_published_rows_total')}),
    graph('Oldest unpublished', 'Age of the oldest row that no file holds for readers yet.', 's',
          {'{{instance}}': 'starling_history_oldest_unpublished_seconds'}),
    graph('Lag', 'Records of locations that are not read yet.', 'none', {'{{instance}}': 'sum by (instance) (starling_history_lag_records)'}),
    graph('Files', 'Bytes of published files, a second.', 'Bps', {'bytes': rate('starling_history_file_bytes_total')}),
    graph('Store', 'Size of the store for queries.', 'bytes', {'{{instance}}': 'starling_history_store_bytes'}),
    graph('Queries', 'Queries answered, a second.', 'ops', {'queries': rate('starling_history_queries_total')}),
    graph('Partitions', 'Partitions that each sink owns, and those that it refuses to write.', 'none',
          {'{{instance}} owned': 'starling_history_partitions', '{{instance}} refused': 'starling_history_refused_partitions'}),
    *process_panels(),
]

MODERATION = [
    graph('Comments', 'Comments in the search index.', 'none', {'{{instance}}': 'starling_moderation_comments'}),
    graph('Lag', 'Records of comments that are not in the index yet.', 'none', {'{{instance}}': 'starling_moderation_lag_records'}),
    graph('Search', "From a search's request to its answer.", 's', p50_p99('starling_moderation_search_seconds')),
    graph('Searches', 'Searches a second: ended, given up as too slow, and refused as there were too many.', 'ops',
          {'ended': rate('starling_moderation_searches_total'), 'slow': rate('starling_moderation_searches_slow_total'),
           'refused': rate('starling_moderation_searches_refused_total')}),
    graph('Records', 'Records of comments read, a second.', 'ops', {'{{instance}}': rate('starling_moderation_records_total', 'instance')}),
    graph('Write failures', 'Failed writes to the index, a second.', 'ops', {'failures': rate('starling_moderation_write_failures_total')}),
    *process_panels(),
]

DASHBOARDS = {
    'starling': ('starling: the whole', 'starling-.+', WHOLE),
    'starling-ingest': ('starling: gateways', 'starling-ingest', INGEST),
    'starling-fanout': ('starling: edges', 'starling-fanout', FANOUT),
    'starling-router': ('starling: routers', 'starling-router', ROUTER),
    'starling-feed': ('starling: feed', 'starling-feed', FEED),
    'starling-comments': ('starling: comments', 'starling-comments', COMMENTS),
    'starling-places': ('starling: places', 'starling-places', PLACES),
    'starling-history-sink': ('starling: history', 'starling-history-sink', HISTORY),
    'starling-moderation': ('starling: moderation', 'starling-moderation', MODERATION),
}


def panel_json(number_, panel):
    return {
        'id': number_ + 1,
        'type': panel['type'],
        'title': panel['title'],
        'description': panel['description'],
        'datasource': DATASOURCE,
        'gridPos': {'x': number_ % COLUMNS * WIDTH, 'y': number_ // COLUMNS * HEIGHT, 'w': WIDTH, 'h': HEIGHT},
        'fieldConfig': {'defaults': {'unit': panel['unit'], 'min': 0}, 'overrides': []},
        'targets': [{'refId': chr(ord('A') + i), 'datasource': DATASOURCE, 'expr': chosen(expression), 'legendFormat': legend}
                    for i, (legend, expression) in enumerate(panel['queries'].items())],
    }


def choice(name, query):
    return {'name': name, 'label': name.title(), 'type': 'query', 'datasource': DATASOURCE, 'query': query, 'refresh': 2,
            'multi': True, 'includeAll': True, 'allValue': '.+', 'current': {'text': 'All', 'value': '$__all'}, 'sort': 1}


def dashboard_json(uid, title, jobs, panels):
    return {
        'uid': uid,
        'title': title,
        'tags': ['starling'],
        'editable': False,
        'schemaVersion': 38,
        'refresh': '10s',
        'time': {'from': 'now-1h', 'to': 'now'},
        'links': [{'type': 'dashboards', 'title': 'starling', 'tags': ['starling'], 'asDropdown': True, 'keepTime': True}],
        'templating': {'list': [
            {'name': 'datasource', 'label': 'Data source', 'type': 'datasource', 'query': 'prometheus'},
            choice('job', f'label_values(up{{job=~"{jobs}"}}, job)'),
            choice('instance', 'label_values(up{job=~"$job"}, instance)'),
        ]},
        'panels': [panel_json(i, panel) for i, panel in enumerate(panels)],
    }


def main(arguments):
    if arguments not in ([], ['--check']):
        print(__doc__, file=sys.stderr)
        return 2
    files = {FOLDER / f'{uid}.json': json.dumps(dashboard_json(uid, *rest), indent=1) + '\n'
             for uid, rest in DASHBOARDS.items()}
    if not arguments:
        for file, text in files.items():
            file.write_text(text)
        return 0
    wrong = [file for file, text in files.items() if not file.exists() or file.read_text() != text]
    wrong += [file for file in FOLDER.glob('*.json') if file not in files]
    for file in wrong:
        print(f'{file} is not what monitoring/dashboards.py writes')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
