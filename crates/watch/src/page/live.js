// The live page: shows each snapshot of the run. Inserts texts as text, never as markup.
"use strict";

const MAX_PAST = 900;
const snapshots = [];
const element = (id) => document.getElementById(id);
const put = (id, text) => { element(id).textContent = text; };

// A number to three significant digits; nothing where there is none.
function short(number) {
  if (number == null) return "";
  return Math.abs(number) >= 1000 ? number.toFixed(0) : String(Number(number.toPrecision(3)));
}

// The unit that suits a time in ms: its name, and its size in ms.
const UNITS = [["s", 1000], ["ms", 1], ["us", 0.001]];
const unit = (ms) => UNITS.find(([, size]) => Math.abs(ms) >= size) ?? UNITS.at(-1);

// A time in ms, in the unit that suits it: 166 ms, 35.7 us, 1.24 s.
function time(ms) {
  if (ms == null) return "";
  const [name, size] = unit(ms);
  return `${short(ms / size)} ${name}`;
}
const lateness = (times, key) => times == null ? null : times[key] / 1000;
const three = (number) => number == null ? "-" : number.toFixed(3);

const errors = (snapshot) => Object.entries(snapshot.outcomes).filter(([name]) => !["ok", "unsent", "cut"].includes(name));
const sum = (counts) => counts.reduce((all, [, count]) => all + count, 0);

// Each chart: its title, whether its values are times in ms, and its lines. A line: its name, its value in a snapshot, and its colour.
const CHARTS = [
  ["Rate per second", false, [["target", (p) => p.recent.target_rate_per_s, "b"], ["sent", (p) => p.recent.sent_rate_per_s, "a"],
    ["completed", (p) => p.recent.completed_rate_per_s, "c"]]],
  ["Response time", true, [["p50", (p) => p.recent.response?.p50_ms, "a"], ["p95", (p) => p.recent.response?.p95_ms, "b"],
    ["p99", (p) => p.recent.response?.p99_ms, "c"]]],
  ["In flight", false, [["requests", (p) => p.in_flight, "a"]]],
  ["Lateness", true, [["p50", (p) => lateness(p.recent.lateness, "p50_us"), "a"], ["p99", (p) => lateness(p.recent.lateness, "p99_us"), "c"]]],
  ["CoV of gaps so far", false, [["scheduled", (p) => p.scheduled_cov, "b"], ["measured", (p) => p.measured_cov, "a"]]],
  ["Errors and requests not sent, in total", false, [["errors", (p) => sum(errors(p)), "c"], ["not sent", (p) => p.unsent, "b"]]],
];
const WIDE = 480, HIGH = 150, LEFT = 44, TOP = 8, BOTTOM = 18;

function make(parent, name, attributes = {}, text = "") {
  const child = document.createElementNS(parent.namespaceURI, name);
  for (const [key, value] of Object.entries(attributes)) child.setAttribute(key, value);
  child.textContent = text;
  return parent.appendChild(child);
}

// Creates a figure with a caption and an empty drawing.
function canvas(title) {
  const figure = make(element("charts"), "figure");
  const caption = make(figure, "figcaption", {}, title);
  const svg = figure.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "svg"));
  svg.setAttribute("viewBox", `0 0 ${WIDE} ${HIGH}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", title);
  return { caption, svg };
}

// The charts, redrawn with every snapshot, and the histogram of response times.
const figures = CHARTS.map(([title, isTime, lines]) => {
  const { caption, svg } = canvas(title);
  return { svg, isTime, lines, legend: lines.map(([, , colour]) => make(caption, "span", { class: colour })) };
});
const histogram = canvas("Response times of the last 10 s").svg;

// The end of an axis for values up to `most`: a round number.
function round(most) {
  const power = 10 ** Math.floor(Math.log10(most || 1));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((times) => times * power).find((end) => end >= most * 0.999);
}

// Clears a drawing and draws the grid for `values` in a unit of this name and size; returns the function from a value to its position.
function ruled(svg, values, [name, size]) {
  const top = round(Math.max(...values, 0) / size) * size;
  const y = (value) => HIGH - BOTTOM - value / top * (HIGH - TOP - BOTTOM);
  svg.replaceChildren();
  for (const part of [0, 0.5, 1]) {
    const at = y(part * top);
    make(svg, "line", { class: "grid", x1: LEFT, x2: WIDE - 6, y1: at, y2: at });
    if (values.length) make(svg, "text", { x: LEFT - 5, y: at + 4, "text-anchor": "end" }, `${short(part * top / size)}${part === 1 ? name : ""}`);
  }
  return y;
}

function draw({ svg, isTime, legend, lines }) {
  const from = snapshots[0].time_s, to = Math.max(snapshots.at(-1).time_s, from + 10);
  const values = lines.flatMap(([, of]) => snapshots.map(of)).filter((value) => value != null);
  const [name, size] = isTime ? unit(Math.max(...values, 0)) : ["", 1];
  const y = ruled(svg, values, [name && ` ${name}`, size]);
  const x = (time) => LEFT + (time - from) / (to - from) * (WIDE - LEFT - 6);
  make(svg, "text", { x: LEFT, y: HIGH - 4 }, `${from.toFixed(0)} s`);
  make(svg, "text", { x: WIDE - 6, y: HIGH - 4, "text-anchor": "end" }, `${to.toFixed(0)} s`);
  lines.forEach(([name, of, colour], at) => {
    // A closed system has no target.
    const value = of(snapshots.at(-1));
    legend[at].textContent = value == null ? "" : `${name} ${isTime ? time(value) : short(value)}`;
    const points = snapshots.filter((snapshot) => of(snapshot) != null).map((snapshot) => `${x(snapshot.time_s)},${y(of(snapshot))}`);
    make(svg, "polyline", { class: colour, points: points.join(" ") });
  });
}

function drawHistogram(bars) {
  const y = ruled(histogram, bars.map((bar) => bar.count), ["", 1]);
  const wide = (WIDE - LEFT - 6) / bars.length;
  const every = Math.ceil(bars.length / 8);
  bars.forEach(({ from_ms, to_ms, count }, i) => {
    const x = LEFT + i * wide;
    const bar = make(histogram, "rect", { class: "bar", x: x + 1, width: Math.max(wide - 2, 1), y: y(count), height: HIGH - BOTTOM - y(count) });
    make(bar, "title", {}, `${time(from_ms)} to ${time(to_ms)}: ${count}`);
    if (i % every === 0) make(histogram, "text", { x, y: HIGH - 4, "text-anchor": "middle" }, time(Number(from_ms.toPrecision(2))));
  });
}

const PHASES = {
  "starting": "waiting for the start", "warming_up": "warming up, excluded from statistics", "running": "running",
  "draining": "all requests sent, waiting for responses", "stopping": "stopping, waiting for responses", "ended": "ended",
};

const WORKER_STATES = { "not_started": "not started", "running": "running", "silent": "SILENT", "ended": "finished", "lost": "LOST" };

function row(id, { target_rate_per_s, sent_rate_per_s, completed_rate_per_s, response, lateness: late }) {
  const line = element(id);
  line.replaceChildren(line.firstElementChild);
  const cells = [short(completed_rate_per_s), time(response?.p50_ms), time(response?.p95_ms), time(response?.p99_ms), short(sent_rate_per_s),
    short(target_rate_per_s), time(lateness(late, "p50_us")), time(lateness(late, "p99_us"))];
  cells.forEach((text, at) => make(line, "td", at === 5 ? { class: "target" } : {}, text));
}

// Fills a table with rows of a name and numbers or texts; hides it if there are no rows.
function table(id, rows) {
  element(id).hidden = rows.length === 0;
  const body = element(id).querySelector("tbody");
  body.replaceChildren();
  for (const [name, ...cells] of rows) {
    const line = make(body, "tr");
    make(line, "th", {}, name);
    for (const cell of cells) {
      const isResult = cell === "passed" || cell === "failed";
      make(line, "td", isResult ? { class: cell } : {}, typeof cell === "string" ? cell : short(cell));
    }
  }
}

// The value of a threshold, with its unit.
function figure(checked) {
  const units = { value_ms: " ms", value_percent: " %", value_per_s: "/s", value: "" };
  const key = Object.keys(units).find((key) => key in checked);
  if (checked[key] == null) return checked.result === "failed" ? "infinite: too many requests failed" : "not known yet";
  return key === "value_ms" ? time(checked[key]) : short(checked[key]) + units[key];
}

function show(snapshot) {
  const limit = snapshot.duration_s === null ? "" : ` of ${snapshot.duration_s} s`;
  const most = snapshot.max_requests === null ? "" : `, ${snapshot.requests} of ${snapshot.max_requests} requests`;
  put("time", `${snapshot.time_s.toFixed(0)} s${limit}${most}, `);
  put("phase", PHASES[snapshot.phase] + (snapshot.failed_threshold === null ? "" : `: ${snapshot.failed_threshold}`)
    + (snapshot.write_error === null ? "" : `; NOT RECORDED, retrying every second: ${snapshot.write_error}`));
  const part = (of, all) => (all === null ? 0 : Math.min(of / all, 1));
  element("progress").value = Math.max(part(snapshot.time_s, snapshot.duration_s), part(snapshot.requests, snapshot.max_requests));
  element("verdict").className = `verdict ${{ valid: "valid", invalid: "invalid" }[snapshot.validity] ?? "open"}`;
  put("validity", { valid_with_warnings: "VALID, WITH WARNINGS" }[snapshot.validity] ?? snapshot.validity.replace("_", " ").toUpperCase());
  put("reason", snapshot.reason);
  row("recent", snapshot.recent);
  row("so_far", snapshot.so_far);
  row("service", { response: snapshot.service });
  const hasTarget = [snapshot.recent, snapshot.so_far].some(({ target_rate_per_s: target }) => target != null);
  document.body.classList.toggle("without-target", !hasTarget);
  element("all-successes").hidden = snapshot.thresholds.length === 0;
  const overloaded = snapshot.growth?.overloaded;
  element("overloaded").hidden = !overloaded;
  const rates = ({ target_rate_per_s: target, completed_rate_per_s: completed }) =>
    `${target == null ? "" : `target ${short(target)}/s, `}completed ${short(completed)}/s`;
  put("growth", overloaded ? `${rates(snapshot.recent)} in the last 10 s; requests in flight grow by ${short(snapshot.growth.per_s)}/s` : "");
  const failed = snapshot.thresholds.filter((checked) => checked.result === "failed");
  element("failed").hidden = failed.length === 0;
  put("failed_thresholds", failed.map((checked) => `${checked.metric} ${checked.bound}: ${figure(checked)}`).join("; "));
  table("thresholds", snapshot.thresholds.map((checked) => [`${checked.metric} ${checked.bound}`, figure(checked), checked.result.replace("_", " ")]));
  const stateText = ({ state, silent_s: silent }) => WORKER_STATES[state] + (silent == null ? "" : ` for ${silent.toFixed(0)} s`);
  table("workers", snapshot.workers.map((worker) => [worker.name, stateText(worker), worker.requests, worker.unsent, worker.errors,
    worker.sent_rate_per_s, time(worker.response?.p50_ms), time(worker.response?.p99_ms), time(lateness(worker.lateness, "p99_us"))]));
  const rows = snapshot.by_request.length > 1 ? snapshot.by_request : [];
  const results = ({ name, ok, failed, response: r }) =>
    [name, ok + failed, ok, failed, time(r?.p50_ms), time(r?.p95_ms), time(r?.p99_ms), time(r?.max_ms)];
  table("by_scenario", snapshot.by_scenario.map(results));
  table("by_request", rows.map(results));
  for (const count of ["requests", "in_flight", "unsent", "retries", "pattern"]) put(count, snapshot[count]);
  put("visits", snapshot.visits === null ? "none" : `${snapshot.visits.ok} ok, ${snapshot.visits.failed} failed`);
  put("errors", errors(snapshot).map(([name, count]) => `${count} ${name}`).join(", ") || "none");
  put("statuses", Object.entries(snapshot.statuses).map(([status, count]) => `${count} of ${status}`).join(", ") || "none");
  put("cov", snapshot.measured_cov == null ? "not known yet"
    : `${three(snapshot.measured_cov)} (95 % ${three(snapshot.measured_cov_low)} to ${three(snapshot.measured_cov_high)}), scheduled ${three(snapshot.scheduled_cov)}`);
  element("stop").disabled = snapshot.phase === "stopping" || snapshot.phase === "ended";
  figures.forEach(draw);
  drawHistogram(snapshot.response_histogram);
}

// Draws a burst of past snapshots only once.
let drawing = false;
function soon() {
  if (drawing) return;
  drawing = true;
  setTimeout(() => { drawing = false; show(snapshots.at(-1)); }, 30);
}

const source = new EventSource("events");
source.addEventListener("about", (event) => {
  const { about, can_stop } = JSON.parse(event.data);
  element("stop").hidden = !can_stop;
  snapshots.length = 0; // the server sends them all again
  put("about", about);
  document.title = `offered: ${about}`;
});
source.addEventListener("snapshot", (event) => {
  snapshots.push(JSON.parse(event.data));
  if (snapshots.length > MAX_PAST) snapshots.shift();
  soon();
});
source.addEventListener("ended", () => {
  source.close();
  location.reload(); // the same address is now the report
});
source.onerror = () => put("phase", "no connection to the run: it has ended or is not reachable");

element("stop").addEventListener("click", () => element("ask").showModal());
element("ask").addEventListener("close", (event) => {
  if (event.target.returnValue === "yes") fetch("stop", { method: "POST" }).then(() => { element("stop").disabled = true; });
  event.target.returnValue = "";
});
