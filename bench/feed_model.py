"""Sums of the measured units of `./dev bench feed`: CPU over feed.push.max, and the cores of two whole workloads.

Followers are distributed as P(more than x) = (1 + x / S) ** -A, with FOLLOWED on average: most have few, a few have millions."""
import math

FOLLOWED, A = 500, 1.3
S = FOLLOWED * (A - 1)
DAYS, PROCESSES = 7, 10
THRESHOLDS = (0, 10, 100, 1000, 10_000, 100_000, math.inf)
PAGES_A_POST = (5, 50, 500)
WORKLOADS = {'the documents: 10 M users, 3 posts a day each, 50 pages a post': (30e6 / 86400, 50),
             'Twitter, 2013: 6,000 posts/s, 300,000 pages/s': (6000, 50)}


def share_above(threshold) -> float:
    return 0 if math.isinf(threshold) else (1 + threshold / S) ** -A


def pushed(threshold) -> float:
    """Inbox entries a post."""
    if math.isinf(threshold):
        return FOLLOWED
    return FOLLOWED * (1 - (1 + threshold / S) ** (1 - A)) - threshold * share_above(threshold)


class Units:
    """us of CPU each: an entry (feed processes and broker), a hot id in one process, a page's ids from the inbox, and from both."""

    def __init__(self, result):
        push, hot, rows = result['push'], result['hot'], {row['row']: row for row in result['pages']['rows']}
        self.entry_feed = push['merged_cpu_s'] / push['entries'] * 1e6
        self.entry_broker = push['broker_cpu_s'] / push['entries'] * 1e6
        self.hot = hot['cpu_s'] / hot['ids'] * 1e6
        self.inbox = rows['500 followed, from the inbox']['us']
        self.both = rows['500 followed, both']['us']
        self.all_hot = rows['500 followed, all hot']['us']
        self.hot_bytes = result['pages']['bytes_per_hot_id']

    def page(self, threshold) -> float:
        return self.inbox if math.isinf(threshold) else self.all_hot if not threshold else self.both

    def post(self, threshold) -> float:
        return pushed(threshold) * (self.entry_feed + self.entry_broker) + share_above(threshold) * PROCESSES * self.hot


def report_model(result):
    if not {'push', 'hot', 'pages'} <= result.keys():
        return
    units = Units(result)
    print(f'\nCPU over feed.push.max, us a post and the pages that come to it ({PROCESSES} feed processes; ids of pages only):')
    print(f"{'feed.push.max':>14} {'pushed':>8} {'hot':>7} {'hot MB':>8} " +
          ' '.join(f'{pages:>5} pages' for pages in PAGES_A_POST))
    rows = []
    for threshold in THRESHOLDS:
        totals = [units.post(threshold) + pages * units.page(threshold) for pages in PAGES_A_POST]
        memory = 30e6 * DAYS * share_above(threshold) * units.hot_bytes / 1e6
        rows.append({'push_max': threshold, 'pushed': pushed(threshold), 'hot_share': share_above(threshold),
                     'hot_mb': memory, 'us': totals})
        print(f"{'all' if math.isinf(threshold) else threshold:>14} {pushed(threshold):8.1f} {share_above(threshold):7.2%} {memory:8.0f} " +
              ' '.join(f'{total:11.0f}' for total in totals))
    result['curve'] = [row | {'push_max': str(row['push_max'])} for row in rows]
    if 'http' not in result:
        return
    net = result['http']['net_us']
    feeds = sum(value for name, value in net.items() if name != 'gateway')
    print('\ncores, with feed.push.max = 1000:')
    for name, (posts, pages) in WORKLOADS.items():
        entries = posts * pushed(1000)
        tiers = {'gateways': posts * pages * net['gateway'], 'feed processes, pages': posts * pages * feeds,
                 'feed processes, pushes': entries * units.entry_feed, 'brokers, pushes': entries * units.entry_broker,
                 'feed processes, hot ids': posts * share_above(1000) * PROCESSES * units.hot}
        print(f'  {name}: ' + ', '.join(f'{tier} {value / 1e6:.1f}' for tier, value in tiers.items()))
