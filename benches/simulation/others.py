"""The same M/M/1 queue at load 0.8 in other simulators, in jobs per second of CPU time (children included).

    pip install ciw simpy line-solver
    python benches/simulation/others.py

Each line: simulator, thousand jobs per CPU second, mean response in ms (exact: 50). Simulators that are not installed are skipped.
"""
import resource
import statistics

JOBS, RATE, SERVICE = 200_000, 80.0, 0.01


def ciw_fcfs():
    import ciw

    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(RATE)],
        service_distributions=[ciw.dists.Exponential(1 / SERVICE)],
        number_of_servers=[1],
    )
    ciw.seed(1)
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_customers(JOBS, method="Finish")
    return statistics.fmean(r.exit_date - r.arrival_date for r in simulation.get_all_records())


def simpy_fcfs():
    import random

    import simpy

    environment, draw, responses = simpy.Environment(), random.Random(1), []
    server = simpy.Resource(environment, capacity=1)

    def job():
        arrived = environment.now
        with server.request() as turn:
            yield turn
            yield environment.timeout(draw.expovariate(1 / SERVICE))
        responses.append(environment.now - arrived)

    def arrivals():
        for _ in range(JOBS):
            yield environment.timeout(draw.expovariate(RATE))
            environment.process(job())

    environment.process(arrivals())
    environment.run()
    return statistics.fmean(responses)


def ldes(strategy):
    def run():
        from line_solver import LDES, Exp, Network, OpenClass, Queue, SchedStrategy, Sink, Source

        model = Network("M/M/1")
        source, sink = Source(model, "source"), Sink(model, "sink")
        queue = Queue(model, "queue", getattr(SchedStrategy, strategy))
        jobs = OpenClass(model, "jobs")
        source.setArrival(jobs, Exp(RATE))
        queue.setService(jobs, Exp(1 / SERVICE))
        model.link(Network.serialRouting(source, queue, sink))
        # A sample is a completion at the queue.
        table = LDES(model, samples=10 * JOBS, seed=1).avg_table()
        return float(table["RespT"].iloc[1])

    return run


def cpu():
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


for name, run, jobs in [
    ("Ciw fcfs", ciw_fcfs, JOBS),
    ("SimPy fcfs", simpy_fcfs, JOBS),
    ("LDES fcfs", ldes("FCFS"), 10 * JOBS),
    ("LDES ps", ldes("PS"), 10 * JOBS),
]:
    start = cpu()
    try:
        mean = run()
    except ImportError as missing:
        print(f"{name:12} skipped: {missing}")
        continue
    print(f"{name:12} {jobs / (cpu() - start) / 1e3:8.0f} {mean * 1e3:8.1f}")
