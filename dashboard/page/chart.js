// The timeline of a limiter: calls a second on the left, calls on the right, and below them how long calls wait.

/* global uPlot */

const columns = ["at", "admitted", "rate", "hits", "waiting", "in_flight", "cap", "wait"];
const strip = 60; // pixels, of the waits
const right = 40; // pixels, of the axis of calls
const spans = { "10m": { seconds: 600, most: 600 }, "2h": { seconds: 7200, most: 720 } };

let made = 0;

export class Chart {
  constructor(element) {
    this.element = element;
    this.plots = []; // calls, and waits
    this.key = `chart ${++made}`; // they share a cursor
    this.data = columns.map(() => []);
    this.span = "10m";
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.dark.addEventListener("change", this.rebuild);
    this.sizes = new ResizeObserver(() => this.resize());
    this.sizes.observe(element);
  }

  // set takes over a history, as GET api/series returns it.
  set(history, span) {
    this.span = span;
    this.data = columns.map((name) => [...(history[name] ?? [])]);
    this.draw();
  }

  // add takes over one sample of a frame, unless it is coarse history that is shown, or the sample is known.
  add(sample) {
    const last = this.data[0].at(-1) ?? 0;
    if (this.span !== "10m" || !(sample.at[0] > last)) return;
    columns.forEach((name, i) => {
      this.data[i].push(sample[name][0]);
      if (this.data[i].length > spans[this.span].most) this.data[i].shift();
    });
    this.draw();
  }

  // shown is the data of each plot. The marks of 429s are at the rate that was tried: what was admitted.
  shown() {
    const [at, admitted, limit, hits, waiting, inFlight, cap, wait] = this.data;
    const marks = hits.map((n, i) => (n > 0 ? admitted[i] : null));
    return [[at, waiting, inFlight, cap, admitted, limit, marks], [at, wait]];
  }

  draw() {
    if (!this.data[0].length) return this.clear();
    if (!this.plots.length) this.build();
    const now = this.data[0].at(-1);
    const begin = Math.max(this.data[0][0], now - spans[this.span].seconds);
    this.plots.forEach((plot, i) => plot.batch(() => {
      plot.setData(this.shown()[i], false);
      plot.setScale("x", { min: Math.min(begin, now - 60), max: now });
    }));
  }

  clear() {
    this.plots.forEach((plot) => plot.destroy());
    this.plots = [];
  }

  build() {
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(`--${name}`).trim();
    const step = uPlot.paths.stepped({ align: -1 });
    const axis = {
      stroke: color("quiet"), font: "11px system-ui, sans-serif", ticks: { show: false },
      grid: { stroke: color("line"), width: 1 },
    };
    const upTo = (least) => (_, __, max) => [0, Math.max(least, (max ?? 0) * 1.15)];
    const whole = (_, values) => values.map((v) => (Number.isInteger(v) ? v.toLocaleString("en-US") : ""));
    const label = { size: 44, labelSize: 14, labelFont: axis.font, labelGap: 0 };
    const shared = {
      padding: [8, 0, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 }, sync: { key: this.key } },
    };
    const [calls, waits] = this.shown();
    const [size, below] = this.fit();
    this.plots.push(new uPlot({
      ...shared,
      ...size,
      scales: { x: { time: true }, second: { range: upTo(1) }, calls: { range: upTo(4) } },
      axes: [
        { ...axis, grid: { show: false }, size: 24, space: 70, values: clocks },
        { ...axis, ...label, scale: "second", label: "per second", space: 34 },
        { ...axis, ...label, scale: "calls", side: 1, size: right, label: "calls", grid: { show: false }, space: 34, values: whole },
      ],
      series: [
        {},
        { label: "waiting", scale: "calls", stroke: color("waiting"), fill: color("waiting-area"), width: 1, paths: step, points: { show: false } },
        { label: "in flight", scale: "calls", stroke: color("in-flight"), width: 1.25, points: { show: false } },
        { label: "cap", scale: "calls", stroke: color("in-flight"), width: 1, dash: [2, 4], paths: step, points: { show: false } },
        { label: "admitted", scale: "second", stroke: color("admitted"), width: 2, points: { show: false } },
        { label: "limit", scale: "second", stroke: color("rate"), width: 1.5, dash: [6, 3], paths: step, points: { show: false } },
        { label: "429s", scale: "second", stroke: color("hits"), fill: color("hits"), paths: () => null, points: { show: true, size: 7, width: 1, fill: color("hits") } },
      ],
      hooks: { setCursor: [(plot) => this.onpoint?.(this.at(plot.cursor.idx))] },
    }, calls, this.element));
    this.plots.push(new uPlot({
      ...shared,
      ...below,
      padding: [6, right + label.labelSize, 4, 0],
      scales: { x: { time: true }, wait: { range: upTo(1.2) } },
      axes: [
        { show: false },
        { ...axis, ...label, scale: "wait", label: "wait (s)", space: 22 },
      ],
      series: [
        {},
        { label: "wait", scale: "wait", stroke: color("waiting"), fill: color("waiting-area"), width: 1.25, points: { show: false } },
      ],
    }, waits, this.element));
  }

  // last is the newest sample.
  last() {
    return this.at(this.data[0].length - 1);
  }

  // at is the sample under the cursor; undefined: there is none.
  at(index) {
    if (index === null || index === undefined || this.data[0][index] === undefined) return undefined;
    return Object.fromEntries(columns.map((name, i) => [name, this.data[i][index]]));
  }

  // fit is the size of each plot.
  fit() {
    const width = Math.max(200, this.element.clientWidth);
    return [{ width, height: Math.max(100, this.element.clientHeight - strip) }, { width, height: strip }];
  }

  resize() {
    this.plots.forEach((plot, i) => plot.setSize(this.fit()[i]));
  }

  rebuild = () => {
    this.clear();
    this.draw();
  };

  destroy() {
    this.dark.removeEventListener("change", this.rebuild);
    this.sizes.disconnect();
    this.clear();
  }
}

// clocks are the labels of the time axis.
function clocks(_, values, __, ___, step) {
  const parts = { hour: "2-digit", minute: "2-digit", second: step < 60 ? "2-digit" : undefined };
  return values.map((v) => new Date(v * 1000).toLocaleTimeString("en-GB", parts));
}
