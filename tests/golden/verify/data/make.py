"""Makes the small result files beside it: python3 make.py. Every number in them is ours; no tool's run is behind them."""

import random

random.seed(20261120)
START = 1_700_000_000_000

# A clock's launches, and two such runs in one file with a minute of silence between them.
with open("even.txt", "w") as out:
    for i in range(120):
        out.write(f"{START + 10 * i}\n")
with open("two-runs.txt", "w") as out:
    for run in range(2):
        for i in range(80):
            out.write(f"{START + 70_000 * run + 100 * i + random.randrange(60)}\n")

# hey's way: ten workers on one ticker.
with open("bunches.csv", "w") as out:
    out.write("response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset\n")
    for i in range(120):
        offset = i // 10 * 0.1 + random.random() * 0.0009
        out.write(f"{0.002 + random.random() * 0.001:.4f},0.0000,0.0000,0.0000,0.0020,0.0000,200,{offset:.4f}\n")

# JMeter's way: users who wait for an answer and think; every 25th request fails. Two generators, `a` and `b`.
for name, users in (("a", 6), ("b", 4)):
    rows = []
    for user in range(1, users + 1):
        at = random.uniform(0, 500)
        step = 0
        while at < 30_000:
            elapsed = 5 + int(random.expovariate(1 / 20))
            first = max(1, elapsed - 3)
            fails = random.random() < 0.04
            code, message = ("500", '"went ""wrong"", badly"') if fails else ("200", "OK")
            label = ("home", "search", "buy")[step % 3]
            rows.append((int(at), f"{START + int(at)},{elapsed},{label},{code},{message},Users 1-{user},text,"
                                  f"{str(not fails).lower()},{1000 + 10 * (step % 3)},{users},{users},{first}"))
            at += elapsed + random.uniform(0, 1000)
            step += 1
    rows.sort()
    with open(f"{name}.jtl", "w") as out:
        out.write("timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,bytes,grpThreads,"
                  "allThreads,Latency\n")
        for _, row in rows:
            out.write(row + "\n")

# What cannot be judged.
open("empty.csv", "w").close()
with open("prose.txt", "w") as out:
    out.write("It was a dark and stormy night.\n")
with open("columns.csv", "w") as out:
    out.write("id,begun,ended,page\n")
    for i in range(60):
        begun = 1000 * i + random.randrange(900)
        out.write(f"{i},{begun},{begun + 40},{'home' if i % 2 else 'buy'}\n")
with open("half.csv", "w") as out:
    out.write("id,begun\n1,1.5\n2,soon\n3,later\n4,never\n5,2.5\n")
