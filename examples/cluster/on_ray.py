"""One run by the machines of a Ray cluster that all mount one folder:

    python on_ray.py shop.toml /shared/run7 8
    offered verify /shared/run7

Ray is asked for one processor a worker, each on another machine where there are enough of them.
"""

import subprocess
import sys

import ray


@ray.remote(num_cpus=1, max_retries=2, scheduling_strategy="SPREAD")
def worker(number, count, workload, folder):
    share = f"{number}/{count}"
    done = subprocess.run(["offered", "run", workload, "--share", share, "--meet", folder, "--quiet"])
    return share, done.returncode


def main():
    workload, folder, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    ray.init()
    if ray.cluster_resources().get("CPU", 0) < count:
        sys.exit(f"{count} workers must run at once, and there are {ray.cluster_resources().get('CPU', 0):.0f} processors")
    ended = ray.get([worker.remote(number, count, workload, folder) for number in range(1, count + 1)])
    for share, code in ended:
        print(f"worker {share} ended with {code}")
    sys.exit(max(code for _, code in ended))


if __name__ == "__main__":
    main()
