// The live page: shows each pulse of the run as it comes. Texts go in as text, never as markup.
"use strict";

const KEPT = 900;
const pulses = [];
const element = (id) => document.getElementById(id);
const put = (id, text) => { element(id).textContent = text; };

// A number to four digits, as the terminal shows it.
function short(number) {
  if (number == null) return "-";
  const size = Math.abs(number);
  const text = number.toFixed(size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : size >= 1 ? 3 : 4);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}
const three = (number) => number == null ? "-" : number.toFixed(3);

const errors = (pulse) => Object.entries(pulse.outcomes).filter(([name]) => !["ok", "unsent", "cut"].includes(name));
const sum = (counts) => counts.reduce((all, [, count]) => all + count, 0);

// Each line of a chart: its name, what it shows of a pulse, and its colour.
const CHARTS = [
  ["Rate per second", [["asked", (p) => p.recent.asked_per_s, "b"], ["sent", (p) => p.recent.sent_per_s, "a"],
    ["answered", (p) => p.recent.answered_per_s, "c"]]],
  ["Response R, ms", [["p50", (p) => p.recent.response_ms?.p50, "a"], ["p95", (p) => p.recent.response_ms?.p95, "b"],
    ["p99", (p) => p.recent.response_ms?.p99, "c"]]],
  ["In flight", [["requests", (p) => p.in_flight, "a"]]],
  ["Lateness, us", [["p50", (p) => p.recent.lateness_us?.p50, "a"], ["p99", (p) => p.recent.lateness_us?.p99, "c"]]],
  ["CoV of the gaps so far", [["meant", (p) => p.meant_cov, "b"], ["sent", (p) => p.cov, "a"]]],
  ["Errors and unsent, in all", [["errors", (p) => sum(errors(p)), "c"], ["unsent", (p) => p.unsent, "b"]]],
];
const WIDE = 480, HIGH = 150, LEFT = 44, TOP = 8, BOTTOM = 18;

function make(parent, name, attributes = {}, text = "") {
  const child = document.createElementNS(parent.namespaceURI, name);
  for (const [key, value] of Object.entries(attributes)) child.setAttribute(key, value);
  child.textContent = text;
  return parent.appendChild(child);
}

// A figure with its caption and an empty drawing, made once.
function canvas(title) {
  const figure = make(element("charts"), "figure");
  const caption = make(figure, "figcaption", {}, title);
  const svg = figure.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "svg"));
  svg.setAttribute("viewBox", `0 0 ${WIDE} ${HIGH}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", title);
  return { caption, svg };
}

// The charts, drawn anew with every pulse; and how the responses of the last ten seconds are spread.
const figures = CHARTS.map(([title, lines]) => {
  const { caption, svg } = canvas(title);
  return { svg, lines, legend: lines.map(([, , colour]) => make(caption, "span", { class: colour })) };
});
const spread = canvas("Responses R of the last 10 s, ms").svg;

// The end of an axis for values up to `most`: a small number times a power of ten.
function round(most) {
  const power = 10 ** Math.floor(Math.log10(most || 1));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((times) => times * power).find((end) => end >= most * 0.999);
}

// Empties a drawing and rules it for `values`; where a value stands.
function ruled(svg, values) {
  const top = round(Math.max(...values, 0));
  const y = (value) => HIGH - BOTTOM - value / top * (HIGH - TOP - BOTTOM);
  svg.replaceChildren();
  for (const part of [0, 0.5, 1]) {
    const at = y(part * top);
    make(svg, "line", { class: "grid", x1: LEFT, x2: WIDE - 6, y1: at, y2: at });
    if (values.length) make(svg, "text", { x: LEFT - 5, y: at + 4, "text-anchor": "end" }, short(part * top));
  }
  return y;
}

function draw({ svg, legend, lines }) {
  const from = pulses[0].time_s, to = Math.max(pulses.at(-1).time_s, from + 10);
  const y = ruled(svg, lines.flatMap(([, of]) => pulses.map(of)).filter((value) => value != null));
  const x = (time) => LEFT + (time - from) / (to - from) * (WIDE - LEFT - 6);
  make(svg, "text", { x: LEFT, y: HIGH - 4 }, `${from.toFixed(0)} s`);
  make(svg, "text", { x: WIDE - 6, y: HIGH - 4, "text-anchor": "end" }, `${to.toFixed(0)} s`);
  lines.forEach(([name, of, colour], at) => {
    legend[at].textContent = `${name} ${short(of(pulses.at(-1)))}`;
    const points = pulses.filter((pulse) => of(pulse) != null).map((pulse) => `${x(pulse.time_s)},${y(of(pulse))}`);
    make(svg, "polyline", { class: colour, points: points.join(" ") });
  });
}

function drawSpread(bars) {
  const y = ruled(spread, bars.map((bar) => bar.n));
  const wide = (WIDE - LEFT - 6) / bars.length;
  const every = Math.ceil(bars.length / 8);
  bars.forEach(({ from_ms, to_ms, n }, i) => {
    const x = LEFT + i * wide;
    const bar = make(spread, "rect", { class: "bar", x: x + 1, width: Math.max(wide - 2, 1), y: y(n), height: HIGH - BOTTOM - y(n) });
    make(bar, "title", {}, `${short(from_ms)} to ${short(to_ms)} ms: ${n}`);
    if (i % every === 0) make(spread, "text", { x, y: HIGH - 4, "text-anchor": "middle" }, short(Number(from_ms.toPrecision(2))));
  });
}

const PHASES = {
  "starting": "waiting for the start", "warming-up": "warming up, not counted yet", "running": "running",
  "draining": "all launched, waiting for the last answers", "stopping": "stopping, waiting for answers under way", "ended": "ended",
};

const AT = { "nothing": "not begun", "work": "running", "silent": "SILENT", "end": "ended", "gone": "GONE" };

function row(id, { asked_per_s, sent_per_s, answered_per_s, response_ms: r, lateness_us: late }) {
  const line = element(id);
  line.replaceChildren(line.firstElementChild);
  const numbers = [answered_per_s, r?.p50, r?.p95, r?.p99, sent_per_s, asked_per_s, late?.p50, late?.p99];
  for (const number of numbers) make(line, "td", {}, short(number));
}

// A table made anew: rows of a name and numbers or words; hidden while there is nothing to show.
function table(id, rows) {
  element(id).hidden = rows.length === 0;
  const body = element(id).querySelector("tbody");
  body.replaceChildren();
  for (const [name, ...cells] of rows) {
    const line = make(body, "tr");
    make(line, "th", {}, name);
    for (const cell of cells) {
      const judged = cell === "holds" || cell === "fails";
      make(line, "td", judged ? { class: cell } : {}, typeof cell === "string" ? cell : short(cell));
    }
  }
}

// The figure of a threshold, under the name of its unit.
function figure(checked) {
  const unit = { value_ms: " ms", value_percent: " %", value_per_s: "/s", value: "" };
  const key = Object.keys(unit).find((key) => key in checked);
  if (checked[key] != null) return short(checked[key]) + unit[key];
  return checked.result === "failed" ? "never: too many failed" : "-";
}

function show(pulse) {
  const limit = pulse.duration_s === null ? "" : ` of ${short(pulse.duration_s)} s`;
  const most = pulse.most === null ? "" : `, ${pulse.launched} of ${pulse.most} requests`;
  put("time", `${pulse.time_s.toFixed(0)} s${limit}${most}, `);
  put("phase", PHASES[pulse.phase] + (pulse.broken === null ? "" : `: ${pulse.broken}`)
    + (pulse.unkept === null ? "" : `; not kept, tried again every second: ${pulse.unkept}`));
  const part = (of, all) => (all === null ? 0 : Math.min(of / all, 1));
  element("progress").value = Math.max(part(pulse.time_s, pulse.duration_s), part(pulse.launched, pulse.most));
  element("verdict").className = `verdict ${{ valid: "holds", invalid: "fails" }[pulse.validity] ?? "open"}`;
  put("validity", { valid_with_warnings: "VALID, WITH WARNINGS" }[pulse.validity] ?? pulse.validity.replace("_", " ").toUpperCase());
  put("reason", pulse.reason);
  row("recent", pulse.recent);
  row("so_far", pulse.so_far);
  row("without_lateness", { response_ms: pulse.without_lateness_ms });
  const outrun = pulse.growth?.outrun;
  element("outrun").hidden = !outrun;
  const flow = ({ asked_per_s: asked, answered_per_s: answered }) =>
    `${asked == null ? "" : `asked ${short(asked)}/s, `}answered ${short(answered)}/s`;
  put("growth", outrun ? `${flow(pulse.recent)} in the last 10 s; ${short(pulse.growth.per_s)} more under way every second` : "");
  const unkept = pulse.thresholds.filter((checked) => checked.result === "failed");
  element("unkept").hidden = unkept.length === 0;
  put("which", unkept.map((checked) => `${checked.metric} ${checked.bound}: ${figure(checked)}`).join("; "));
  table("thresholds", pulse.thresholds.map((checked) => [`${checked.metric} ${checked.bound}`, figure(checked), checked.result.replace("_", " ")]));
  const standing = ({ at, silent_s: silent }) => AT[at] + (silent == null ? "" : ` for ${silent.toFixed(0)} s`);
  table("workers", pulse.workers.map((worker) => [worker.name, standing(worker), worker.launched, worker.unsent, worker.errors,
    worker.sent_per_s, worker.response_ms?.p50, worker.response_ms?.p99, worker.lateness_us?.p99]));
  const requests = pulse.requests.length > 1 ? pulse.requests : [];
  table("requests", requests.map(({ name, ok, failed, response_ms: r }) => [name, ok + failed, ok, failed, r?.p50, r?.p95, r?.p99, r?.max]));
  for (const count of ["launched", "in_flight", "unsent", "pattern"]) put(count, pulse[count]);
  put("errors", errors(pulse).map(([name, count]) => `${count} ${name}`).join(", ") || "none");
  put("statuses", Object.entries(pulse.statuses).map(([status, count]) => `${count} of ${status}`).join(", ") || "none");
  put("cov", pulse.cov == null ? "too soon to tell"
    : `${three(pulse.cov)} (95 % ${three(pulse.cov_low)} to ${three(pulse.cov_high)}), meant ${three(pulse.meant_cov)}`);
  element("stop").disabled = pulse.phase === "stopping" || pulse.phase === "ended";
  figures.forEach(draw);
  drawSpread(pulse.bars);
}

// A burst of past pulses is drawn once.
let drawing = false;
function soon() {
  if (drawing) return;
  drawing = true;
  setTimeout(() => { drawing = false; show(pulses.at(-1)); }, 30);
}

const source = new EventSource("events");
source.addEventListener("about", (event) => {
  const { about, can_stop } = JSON.parse(event.data);
  element("stop").hidden = !can_stop;
  pulses.length = 0; // all of them come again
  put("about", about);
  document.title = `offered: ${about}`;
});
source.addEventListener("pulse", (event) => {
  pulses.push(JSON.parse(event.data));
  if (pulses.length > KEPT) pulses.shift();
  soon();
});
source.addEventListener("ended", () => {
  source.close();
  location.reload(); // the same address is now the report
});
source.onerror = () => put("phase", "no word from the run: it is over, or out of reach");

element("stop").addEventListener("click", () => element("ask").showModal());
element("ask").addEventListener("close", (event) => {
  if (event.target.returnValue === "yes") fetch("stop", { method: "POST" }).then(() => { element("stop").disabled = true; });
  event.target.returnValue = "";
});
