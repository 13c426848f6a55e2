"""One run by the machines of a Ray cluster that all mount the same directory:

    python on_ray.py shop.toml /shared/run7 8
    offered verify /shared/run7

Each worker gets one processor, on a different machine if there are enough machines.
"""

import subprocess
import sys

import ray


@ray.remote(num_cpus=1, max_retries=2, scheduling_strategy="SPREAD")
def worker(number, count, workload, directory):
    share = f"{number}/{count}"
    done = subprocess.run(["offered", "run", workload, "--share", share, "--rendezvous", directory, "--quiet"])
    return share, done.returncode


def main():
    workload, directory, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    ray.init()
    if ray.cluster_resources().get("CPU", 0) < count:
        available = ray.cluster_resources().get("CPU", 0)
        sys.exit(f"{count} workers must run at the same time, but the cluster has only {available:.0f} processors")
    ended = ray.get([worker.remote(number, count, workload, directory) for number in range(1, count + 1)])
    for share, code in ended:
        print(f"worker {share} exited with code {code}")
    sys.exit(max(code for _, code in ended))


if __name__ == "__main__":
    main()
