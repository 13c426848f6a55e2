#!/usr/bin/env python3
"""Prints files.csv: 60 sizes of a bounded Pareto law (mean 5000 bytes, C2 20, largest 2 MB), and what each takes on the link.

service is the time that htb counts for an answer at 10 Mbit/s: nginx's head of 255 bytes and the file, in segments of 1448 bytes,
each with 66 bytes of Ethernet, IP and TCP in front.
"""

LARGEST, STEPS = 2e6, 60
SMALLEST, SHAPE = 1303.71354884, 1.30293852  # for the mean and C2 above
HEAD, SEGMENT, HEADERS, RATE = 255, 1448, 66, 10e6


def beyond(power, low, high):
    """The integral of x^power under the law, from low to high."""
    norm = SHAPE * SMALLEST**SHAPE / (1 - (SMALLEST / LARGEST) ** SHAPE)
    return norm * (high ** (power - SHAPE) - low ** (power - SHAPE)) / (power - SHAPE)


edges = [SMALLEST * (LARGEST / SMALLEST) ** (i / STEPS) for i in range(STEPS + 1)]
print("path,weight,service")
for low, high in zip(edges, edges[1:]):
    weight = beyond(0, low, high)
    size = round(beyond(1, low, high) / weight)
    wire = HEAD + size + HEADERS * -(-(HEAD + size) // SEGMENT)
    print(f"/f/{size},{weight:.9f},{wire * 8e9 / RATE:.0f}ns")
