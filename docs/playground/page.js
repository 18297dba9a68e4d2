// What the page does: a run of the simulator, shown slice by slice.

import { Chart } from "./chart.js";
import { check, mark, offer, request, reseed, restore, save, show, speed } from "./form.js";
import { Simulator } from "./simulator.js";

const $ = (id) => document.getElementById(id);
const simulator = new Simulator();
let abouts = new Map(); // by ID of the controller
let play = null; // what is shown, or null

$("start").remove();
show();

function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function notice(text) {
  put($("notice"), text);
  $("notice").hidden = !text;
}

const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
const count = (n) => n.toLocaleString("en-US");
const perSecond = (n) => n.toFixed(n < 100 ? 1 : 0);

// Play is one run on the screen.
class Play {
  constructor(plan) {
    this.plan = plan;
    this.waiting = []; // slices that are not shown yet
    this.began = performance.now();
    this.at = 0;
    this.rows = plan.rows.map(({ id, name }) => this.row(id, name));
    this.charts = plan.rows.map(({ id, name }) => (id === "best" ? null : this.card(id, name)));
    $("rows").replaceChildren(...this.rows.map((r) => r.element));
    $("charts").replaceChildren(...this.charts.filter(Boolean).map((c) => c.element));
    $("progress").value = 0;
    put($("status"), `Running ${plan.rows.length - 1} controller${plan.rows.length === 2 ? "" : "s"}`);
    this.frame = requestAnimationFrame(this.tick);
  }

  row(id, name) {
    const element = document.createElement("tr");
    element.dataset.id = id;
    element.className = id === "best" ? "best" : id === "headrace" ? "own" : "";
    const head = document.createElement("th");
    head.scope = "row";
    head.textContent = name;
    const cells = [1, 2, 3, 4].map(() => Object.assign(document.createElement("td"), { className: "number" }));
    element.append(head, ...cells);
    return { element, cells };
  }

  card(id, name) {
    const element = $("card").content.firstElementChild.cloneNode(true);
    const find = (selector) => element.querySelector(selector);
    element.dataset.id = id;
    put(find("h3"), name);
    put(find(".about"), abouts.get(id) ?? "");
    const chart = new Chart(find(".chart"), this.plan);
    chart.onpoint = (point) => put(find(".figures"), point ? `At ${clock(point.at)}: ${perSecond(point.admitted)} admitted, ${perSecond(point.rejected)} 429s` : "");
    return { element, chart, name, image: find(".chart") };
  }

  add(slice) {
    this.waiting.push(slice);
  }

  // tick shows the slices whose time has come.
  tick = () => {
    const now = speed() ? this.virtualNow() : Infinity;
    let shown = null;
    while (this.waiting.length && this.waiting[0].at <= now) {
      shown = this.waiting.shift();
      shown.rows.forEach((row, i) => this.charts[i]?.chart.add(row));
    }
    if (shown) this.show(shown);
    if (!shown?.over) this.frame = requestAnimationFrame(this.tick);
  };

  // virtualNow is how far simulated time has come. A change of the speed counts from now on.
  virtualNow() {
    const now = performance.now();
    this.virtual = (this.virtual ?? 0) + (now - (this.last ?? this.began)) / 1000 * speed();
    this.last = now;
    // It does not run ahead of the simulator.
    if (!this.waiting.length) this.virtual = Math.min(this.virtual, this.at);
    return this.virtual;
  }

  show(slice) {
    this.at = slice.at;
    slice.rows.forEach((row, i) => {
      const cells = this.rows[i].cells;
      put(cells[0], `${row.goodput.toFixed(1)} %`);
      put(cells[1], row.perMille.toFixed(row.perMille < 10 ? 1 : 0));
      put(cells[2], count(row.done));
      put(cells[3], row.took ? clock(row.took) : "–");
    });
    const cards = this.charts.filter(Boolean);
    const top = Math.max(...cards.map((c) => c.chart.highest()));
    const until = slice.over ? slice.at : Math.max(slice.at, Math.min(this.plan.end, 60));
    for (const c of cards) c.chart.draw(top, until);
    $("progress").value = slice.over ? 1 : slice.at / this.plan.end;
    put($("time"), `${clock(slice.at)} of at most ${clock(this.plan.end)} minutes`);
    if (slice.over) this.finish(slice);
  }

  finish(slice) {
    const left = slice.rows.some((row) => !row.took);
    put($("status"), left ? "The time is up, and calls are left" : "All calls are done");
    slice.rows.forEach((row, i) => {
      const c = this.charts[i];
      c?.image.setAttribute("aria-label", `Calls per second of ${c.name}: goodput ${row.goodput.toFixed(1)} percent, ${row.perMille.toFixed(1)} 429s per 1,000 responses`);
    });
    running(false);
  }

  stop() {
    cancelAnimationFrame(this.frame);
  }

  destroy() {
    this.stop();
    for (const c of this.charts) c?.chart.destroy();
  }
}

function running(yes) {
  $("stop").disabled = !yes;
  if (!yes && document.activeElement === $("stop")) $("run").focus();
  document.body.classList.toggle("running", yes);
}

simulator.onmessage = ({ problems, plan, slice }) => {
  if (problems) {
    refused(problems);
  } else if (plan) {
    play?.destroy();
    play = new Play(plan);
  } else {
    play.add(slice);
  }
};

simulator.onfailed = (text) => {
  play?.stop();
  running(false);
  put($("status"), "The run has failed");
  notice(`The simulator has failed: ${text}. Run starts it again.`);
};

function refused(problems) {
  running(false);
  mark(problems);
  put($("status"), "The run was not started");
  notice(`The run was not started: ${problems.length === 1 ? "one field needs" : `${problems.length} fields need`} a change.`);
}

// run plays what the form says. A run that goes on ends first.
async function run() {
  const problems = check();
  if (problems.length) return refused(problems);
  mark([]);
  notice("");
  play?.stop();
  running(true);
  try {
    if (!simulator.idle) await simulator.open();
    simulator.run(request());
    save();
  } catch (error) {
    simulator.onfailed(error.message);
  }
}

// begin is run for a button. On a narrow screen the results are below the form.
function begin() {
  run();
  if (!$("notice").textContent && matchMedia("(max-width: 56rem)").matches) $("results-title").scrollIntoView();
}

$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  begin();
});

$("stop").addEventListener("click", () => {
  simulator.close();
  play?.stop();
  put($("status"), "Stopped");
  running(false);
});

$("another").addEventListener("click", () => {
  reseed();
  begin();
});

$("kind").addEventListener("change", show);

addEventListener("hashchange", () => {
  restore();
  show();
  run();
});

try {
  const controllers = await simulator.open();
  abouts = new Map(controllers.map((c) => [c.id, c.about]));
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) $("speed").value = "0";
  offer(controllers);
  restore();
  show();
  $("run").disabled = $("another").disabled = false;
  await run();
} catch (error) {
  put($("status"), "The simulator could not be loaded");
  notice(error.message);
}
