"""GOV_Test.jmx, the plan of the web-generator-toolkit: run by JMeter, and imported and run by offered, against one server."""

import csv
import os
import re
import shutil
import subprocess
from pathlib import Path

from study import longer

# The pages of the plan: the label of the request, the file, and the text that the plan expects in it.
PAGES = {
    "010_Home": ("Home.aspx", "Title-Home_Page"), "012_Home_jpg": ("Images/Home.jpg", ""), "020_Dept": ("Department.aspx", "Individual County"),
    "022_Dept_jpg": ("Images/Department.jpg", ""), "030_Demographics": ("Demographics/{county}.aspx", "All Counties"), "040_Statistics": ("Statistics.aspx", "All Statistics"),
}
# That of the stand-in for the site, 10,000 KB/s.
BANDWIDTH = "80mbit"


def tools(arguments):
    """The directories of JMeter and of the plan; `None` if either is missing."""
    home = os.environ.get("JMETER_HOME")
    plan = arguments.toolkit and arguments.toolkit / "jmeter/GOV_Test.jmx"
    ready = home and shutil.which("java") and Path(home, "bin/ApacheJMeter.jar").exists() and plan and plan.exists()
    return (Path(home), plan.parent) if ready else None


def make(study):
    """Tables of both runs: what was sent and when. Nothing without JMeter or the toolkit."""
    found = tools(study.arguments)
    if found is None:
        print("   skipped: GOV_Test.jmx by JMeter; it needs JMETER_HOME, java and --toolkit", flush=True)
        return
    home, toolkit = found
    folder = study.out / "gov-test"
    pages(folder / "www", toolkit, study.arguments.recorded.get(1830))
    # Run 1830: 200 threads that think for 6.25 s on average.
    ramp, length, window = (10, 80, ["--skip-first", "15s", "--take", "60s"]) if study.small else (100, 1500, ["--skip-first", "120s", "--take", "1200s"])
    server = subprocess.Popen([study.offered, "serve", "--files", folder / "www", "--bandwidth", BANDWIDTH, "--listen", "127.0.0.1:0", "--wait-mode", "sleep"],
                              stdout=subprocess.PIPE, text=True)
    try:
        port = re.search(r":(\d+)\s*$", server.stdout.readline())[1]
        plan = shortened(toolkit, folder, port, ramp, length)
        jmeter(home, plan, folder)
        workload, recording = folder / "gov-test.toml", folder / "offered"
        study.call("import", plan, "-o", workload)
        study.call("run", workload, "-q", "--wait-mode", "sleep", "-o", recording, allowed=(0, 3))
    finally:
        server.terminate()
        server.wait()
    rows, gaps = [], []
    for source, run in (("JMeter", folder / "jmeter.csv"), ("offered", recording)):
        verdict = study.verified(run, *window, "--by-threads")
        total, response = verdict["gaps"][-1], verdict["responses"][-1]
        rows.append({"source": source, "requests": total["n"] + 1, "rate_per_s": response["rate_per_s"], "response_ms": response["mean_ms"],
                     "gap_mean_ms": total["mean_ms"], "gap_sdev_ms": total["sdev_ms"], "cov": total["cov"], "cov_low": total["cov_low"], "cov_high": total["cov_high"],
                     "error_percent": response.get("error_percent") or 0, "pattern": verdict["pattern"].replace("_", "-")})
        gaps += [{"source": source, **row} for row in longer(study.gaps(run, *window), 5)]
        study.call("verify", run, *window, "--csv", folder / f"toolkit-{source}", allowed=(0, 3))
        study.call("report", run, *window, "-o", folder / f"{source}.html")
    study.table("gov-test.csv", rows)
    study.table("gov-test-gaps.csv", gaps)


def pages(www, toolkit, recorded):
    """Files with the sizes of the recorded pages, and the texts that the plan expects."""
    sizes = {}
    for fields in csv.reader(open(recorded)) if recorded else []:
        if len(fields) > 8 and fields[8].isdigit():
            sizes.setdefault(fields[2], []).append(int(fields[8]))
    counties = (toolkit / "DataSet/CountyID.csv").read_text().split()
    for label, (name, text) in PAGES.items():
        known = sizes.get(label, [18_000])
        for file in {name.format(county=county) for county in counties}:
            path = www / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.ljust(sum(known) // len(known)))


def shortened(toolkit, folder, port, ramp, length):
    """The plan for this server and duration, with the think time of run 1830, in `folder`."""
    text = (toolkit / "GOV_Test.jmx").read_text()
    changes = [("www.web.gov", "127.0.0.1"), (">80<", f">{port}<"), ('ramp_time">100<', f'ramp_time">{ramp}<'),
               ('ThreadGroup.duration"><', f'ThreadGroup.duration">{length}<'), ("~/RunTable/1830_AggRpt.csv", str(folder / "jmeter.csv"))]
    for old, new in changes:
        if old not in text:
            raise RuntimeError(f"{toolkit}/GOV_Test.jmx: no {old!r}")
        text = text.replace(old, new)
    shutil.copytree(toolkit / "DataSet", folder / "DataSet")
    plan = folder / "GOV_Test.jmx"
    plan.write_text(text)
    return plan


def jmeter(home, plan, folder):
    """Runs the plan; its result file is the one that the plan names."""
    words = ["java", "-Djava.awt.headless=true", f"-Djmeter.home={home}", "-jar", home / "bin/ApacheJMeter.jar", "-n", "-t", plan, "-j", folder / "jmeter.log"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=folder)
    if done.returncode or not (folder / "jmeter.csv").exists():
        raise RuntimeError(f"JMeter: {done.stdout[-500:]}{done.stderr[-500:]}")
