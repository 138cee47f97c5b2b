"""Hot posts: what they take in every feed process, by posts a second and feed.push.max. The distribution is bench feed's."""
import feed_model

HOT_BYTES, HOT_US, PUSH_US = 13.0, 0.14 + 0.47, 0.33 + 0.13  # bench/results, the feed
POSTS = (35, 350, 6_000, 35_000)
THRESHOLDS = (1_000, 10_000, 100_000)


def run(options, result):
    print(f'hot posts of {feed_model.DAYS} days, followers {feed_model.FOLLOWED} on average; pushes with the broker:')
    print(f"{'posts/s':>8} {'feed.push.max':>14} {'hot/s':>8} {'GB a process':>13} {'cores a process':>16} {'entries/s':>12} {'cores of pushes':>16}")
    rows = []
    for posts in POSTS:
        for most in THRESHOLDS:
            hot, entries = posts * feed_model.share_above(most), posts * feed_model.pushed(most)
            row = {'posts': posts, 'push_max': most, 'hot': hot, 'gb': hot * 86400 * feed_model.DAYS * HOT_BYTES / 1e9,
                   'cores': hot * HOT_US / 1e6, 'entries': entries, 'push_cores': entries * PUSH_US / 1e6}
            rows.append(row)
            print(f"{posts:8,} {most:14,} {hot:8,.1f} {row['gb']:13.2f} {row['cores']:16.4f} {entries:12,.0f} {row['push_cores']:16.2f}")
    result['hot'] = rows
