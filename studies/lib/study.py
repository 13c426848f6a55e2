"""What the studies share: commands, tables, and the page."""

import csv
import json
import math
import subprocess


class Study:
    """A study: `source` has its descriptions and workloads, `out` receives its results."""

    def __init__(self, source, out, offered, arguments):
        self.source, self.out, self.offered, self.arguments = source, out, offered, arguments
        self.small = arguments.small

    def call(self, *words, allowed=(0,)):
        """Output of offered."""
        done = subprocess.run([self.offered, *map(str, words)], capture_output=True, text=True)
        if done.returncode not in allowed:
            raise RuntimeError(f"offered {' '.join(map(str, words))}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def json(self, *words, allowed=(0,)):
        """The JSON document of a command."""
        return json.loads(self.call(*words, "--json", allowed=allowed))

    def save(self, name, *words):
        """Writes the JSON document of a command, and returns it."""
        document = self.json(*words)
        (self.out / name).write_text(json.dumps(document))
        return document

    def verified(self, run, *words):
        """The verdict on a run, whatever it is."""
        return self.json("verify", run, *words, allowed=(0, 3, 99))

    def gaps(self, run, *words):
        """The gaps between the requests of a run, ms."""
        path = self.out / "gaps.txt"
        self.call("verify", run, *words, "--gaps", path, allowed=(0, 3, 99))
        gaps = [float(line) for line in path.read_text().split()]
        path.unlink()
        return gaps

    def table(self, name, rows):
        """Writes rows with the same keys as CSV; nothing without a row."""
        if rows:
            with open(self.out / name, "w", newline="") as file:
                writer = csv.DictWriter(file, rows[0].keys())
                writer.writeheader()
                writer.writerows(rows)

    def workload(self, name, *changes):
        """A workload of the study in `out`, with texts replaced; every text must be there."""
        text = (self.source / name).read_text()
        for old, new in changes:
            if old not in text:
                raise RuntimeError(f"{self.source / name}: no {old!r}")
            text = text.replace(old, new)
        path = self.out / "workloads" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    def page(self, *others):
        """Draws the figures of this study, and of others that belong to the paper."""
        pages = [path / "page.toml" for path in (self.source, *(self.source.parent / name for name in others))]
        figures = self.out / "figures"
        self.call("report", *pages, "--data", self.out, "--svg", figures, "--csv", figures, "-o", self.out / "page.html")


def longer(values, step, n=41):
    """The share of values longer than multiples of `step`, and that of an exponential distribution with the same mean."""
    values, mean, rows, place = sorted(values), sum(values) / len(values), [], 0
    for i in range(n):
        while place < len(values) and values[place] <= i * step:
            place += 1
        if place < len(values):
            rows.append({"value": i * step, "share_longer": 1 - place / len(values), "exponential": math.exp(-i * step / mean)})
    return rows


def counts_per_interval(gaps, interval):
    """How many intervals have 0, 1, 2, ... of the requests with these gaps, and the Poisson distribution with the same mean."""
    counts, at = {}, 0.0
    for gap in gaps:
        at += gap
        counts[int(at // interval)] = counts.get(int(at // interval), 0) + 1
    n = int(at // interval)
    values = [counts.get(i, 0) for i in range(n)]
    mean = sum(values) / n
    shares = [{"requests": k, "share": values.count(k) / n, "poisson": poisson(k, mean)} for k in range(max(values) + 1)]
    return shares, mean, variance(values)


def poisson(k, mean):
    return math.exp(-mean + k * math.log(mean) - math.lgamma(k + 1))


def variance(values):
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values) / (len(values) - 1)
