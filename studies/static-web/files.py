#!/usr/bin/env python3
"""Prints files.csv: 60 sizes of a bounded Pareto distribution (mean 5000 bytes, C2 20, maximum 2 MB), and their time on the link.

service is the time that htb counts for a response at 10 Mbit/s: nginx's head of 255 bytes and the file, in segments of 1448 bytes,
each with 66 bytes of Ethernet, IP and TCP headers.
"""

LARGEST, STEPS = 2e6, 60
SMALLEST, SHAPE = 1303.71354884, 1.30293852  # for the mean and C2 above
HEAD, SEGMENT, HEADERS, RATE = 255, 1448, 66, 10e6


def partial_moment(power, low, high):
    """Integral of x^power times the density, from low to high."""
    norm = SHAPE * SMALLEST**SHAPE / (1 - (SMALLEST / LARGEST) ** SHAPE)
    return norm * (high ** (power - SHAPE) - low ** (power - SHAPE)) / (power - SHAPE)


edges = [SMALLEST * (LARGEST / SMALLEST) ** (i / STEPS) for i in range(STEPS + 1)]
print("path,weight,service")
for low, high in zip(edges, edges[1:]):
    weight = partial_moment(0, low, high)
    size = round(partial_moment(1, low, high) / weight)
    wire = HEAD + size + HEADERS * -(-(HEAD + size) // SEGMENT)
    print(f"/f/{size},{weight:.9f},{wire * 8e9 / RATE:.0f}ns")
