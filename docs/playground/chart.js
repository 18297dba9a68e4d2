// One controller: calls per second over simulated minutes, beside what the provider allows.

/* global uPlot */

const beyond = 4; // times the highest limit: the scale ends there

export class Chart {
  constructor(element, plan) {
    this.element = element;
    this.plan = plan;
    this.admitted = [];
    this.rejected = [];
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.dark.addEventListener("change", this.rebuild);
    this.sizes = new ResizeObserver(() => this.plot?.setSize(this.fit()));
    this.sizes.observe(element);
  }

  add(row) {
    this.admitted.push(...row.admitted);
    this.rejected.push(...row.rejected);
  }

  // highest is the top of what there is to show.
  highest() {
    const limit = Math.max(...this.plan.allowed.map((l) => l.perSecond));
    return Math.min(limit * beyond, [...this.admitted, ...this.rejected].reduce((a, b) => Math.max(a, b), limit));
  }

  // data has a point at the end of each step, in minutes, and one at the start.
  data() {
    const { step, end, allowed } = this.plan;
    const at = this.admitted.map((_, i) => Math.min((i + 1) * step, end));
    const limit = at.map((t) => allowed.findLast((l) => l.at < t).perSecond);
    const hits = this.rejected.map((n) => n || -1); // without 429s the line is out of sight
    return [[0, ...at.map((t) => t / 60)], [-1, ...hits], [allowed[0].perSecond, ...limit], [null, ...this.admitted]];
  }

  // draw shows everything on a scale up to top, for so many seconds.
  draw(top, until) {
    this.top = top;
    this.until = until;
    if (!this.plot) this.build();
    this.plot.batch(() => {
      this.plot.setData(this.data(), false);
      this.plot.setScale("x", { min: 0, max: until / 60 });
      this.plot.setScale("y", { min: 0, max: top * 1.1 });
    });
  }

  build() {
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(`--${name}`).trim();
    const step = uPlot.paths.stepped({ align: -1 });
    const axis = {
      stroke: color("quiet"), font: "11px system-ui, sans-serif", ticks: { show: false }, grid: { stroke: color("line"), width: 1 },
      labelSize: 14, labelFont: "11px system-ui, sans-serif", labelGap: 0,
    };
    this.plot = new uPlot({
      ...this.fit(),
      padding: [8, 12, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 }, sync: { key: "playground" } },
      scales: { x: { time: false }, y: { auto: false } },
      axes: [
        { ...axis, grid: { show: false }, size: 22, space: 50, label: "minutes" },
        { ...axis, size: 40, space: 30, label: "per second" },
      ],
      series: [
        {},
        { label: "429s", stroke: color("rejected"), fill: color("rejected-area"), width: 1, paths: step, points: { show: false } },
        { label: "allowed", stroke: color("allowed"), width: 1.5, dash: [6, 3], paths: step, points: { show: false } },
        { label: "admitted", stroke: color("admitted"), width: 2, points: { show: false } },
      ],
      hooks: { setCursor: [(plot) => this.onpoint?.(this.at(plot.cursor.idx))] },
    }, this.data(), this.element);
  }

  // at is what there is at a point of data; undefined: there is nothing.
  at(index) {
    const i = (index ?? 0) - 1;
    if (this.admitted[i] === undefined) return undefined;
    return { at: Math.min((i + 1) * this.plan.step, this.plan.end), admitted: this.admitted[i], rejected: this.rejected[i] };
  }

  fit() {
    return { width: Math.max(160, this.element.clientWidth), height: Math.max(100, this.element.clientHeight) };
  }

  rebuild = () => {
    if (!this.plot) return;
    this.plot.destroy();
    this.plot = null;
    this.draw(this.top, this.until);
  };

  destroy() {
    this.dark.removeEventListener("change", this.rebuild);
    this.sizes.disconnect();
    this.plot?.destroy();
  }
}
