"""Prints what is in the HdrHistogram log $1, read by the `hdrhistogram` package: {tag: {intervals, n, mean_ms, ...}} as JSON."""
import json
import math
import sys

from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

HIGHEST = 3600 * 10**9
whole = {}


def percentile(histogram, p):
    """The nearest rank: the library itself rounds the rank half up."""
    count = histogram.get_total_count()
    return histogram.get_value_at_percentile(100 * math.ceil(p / 100 * count) / count)


log = HistogramLogReader(sys.argv[1], HdrHistogram(1, HIGHEST, 3))
while (interval := log.get_next_interval_histogram()) is not None:
    entry = whole.setdefault(interval.get_tag(), [0, HdrHistogram(1, HIGHEST, 3)])
    entry[0] += 1
    entry[1].add(interval)
ms = 1e6
print(json.dumps({
    tag: {
        "intervals": intervals,
        "n": all.get_total_count(),
        "mean_ms": all.get_mean_value() / ms,
        "median_ms": percentile(all, 50) / ms,
        "p99_ms": percentile(all, 99) / ms,
        "max_ms": all.get_max_value() / ms,
    }
    for tag, (intervals, all) in whole.items()
}))
