"""Writes a JTL of N rows to stdout: python3 benches/jtl.py 10000000 > /tmp/big.jtl (about 1 GB).

A Poisson process of 2000/s from 200 threads, timestamps in whole ms, response times of 1 to 40 ms, with JMeter's default columns. Only the
size matters; equal N gives equal bytes."""

import random
import sys

random.seed(1)
n = int(sys.argv[1])
out = sys.stdout
out.write("timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,sentBytes,"
          "grpThreads,allThreads,URL,Latency,IdleTime,Connect\n")
labels = ["010_Home", "012_Home_jpg", "020_Dept", "030_Demographics"]
at, rows = 1_700_000_000_000.0, []
for i in range(n):
    at += random.expovariate(2.0)
    elapsed = 1 + i * 7919 % 40
    label = labels[i * 31 % 4]
    rows.append(f"{int(at)},{elapsed},{label},200,OK,Users 1-{i % 200 + 1},text,true,,17991,128,200,200,"
                f"http://127.0.0.1/{label},{elapsed},0,0\n")
    if len(rows) == 10_000:
        out.writelines(rows)
        rows.clear()
out.writelines(rows)
