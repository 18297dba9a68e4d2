// What the page shows. Text from outside is only ever set as textContent.

import { RequestError, dropToken, get, hasToken, post, stream, takeToken } from "./api.js";
import { Chart } from "./chart.js";
import { clock, count, rate, seconds } from "./format.js";

const $ = (id) => document.getElementById(id);
const cards = new Map(); // by name of the limiter
const events = new Map(); // by id
const mostEvents = 100;
let actions = false;
let keyed = false; // the program has keys

// put sets a text unless it is there already, so that readers of the screen are told of changes only.
function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function show(element, yes) {
  if (element.hidden === yes) element.hidden = !yes;
}

class Card {
  constructor(name) {
    this.name = name;
    this.element = $("card").content.firstElementChild.cloneNode(true);
    const find = (selector) => this.element.querySelector(selector);
    this.parts = {
      name: find("h2"), state: find(".state"), big: find(".big b"), unit: find(".unit"), meaning: find(".meaning"), why: find(".why"),
      note: find(".note"), chart: find(".chart"), facts: find(".facts"), actions: find(".actions"),
      admitted: find(".admitted dd"), rate: find(".rate dd"), hits: find(".hits dd"), waiting: find(".waiting dd"), wait: find(".wait dd"), inFlight: find(".in-flight dd"),
    };
    put(this.parts.name, name);
    this.element.setAttribute("aria-label", `Limiter ${name}`);
    for (const button of this.element.querySelectorAll("button")) {
      button.setAttribute("aria-label", `${button.textContent} ${name}`);
      button.addEventListener("click", () => act[button.dataset.action](this));
    }
    this.chart = new Chart(this.parts.chart);
    this.chart.onpoint = (sample) => {
      this.pointed = sample;
      this.legend();
    };
  }

  async history() {
    const span = $("span").value;
    const history = await get(`api/series?limiter=${encodeURIComponent(this.name)}&span=${span}`).catch(() => null);
    if (history && span === $("span").value) this.chart.set(history, span);
  }

  update(limiter) {
    const l = this.limiter = limiter;
    const p = this.parts;
    put(p.state, l.state);
    p.state.className = `state ${l.state}`;
    const [big, unit, meaning] = headline(l);
    put(p.big, big);
    put(p.unit, unit);
    put(p.meaning, meaning);
    put(p.why, l.why);
    put(p.note, l.note ?? "");
    show(p.note, !!l.note);
    put(p.facts, facts(l));
    show(this.button("pause"), l.state !== "paused" && l.state !== "closed");
    show(this.button("resume"), l.state === "paused" || l.state === "closed");
    this.legend();
    p.chart.setAttribute("aria-label", `Timeline of ${this.name}: ${rate(l.per_second)} calls admitted a second, ${count(l.waiting)} waiting`);
  }

  button(action) {
    return this.element.querySelector(`[data-action="${action}"]`);
  }

  // legend shows the numbers of now, or those under the cursor.
  legend() {
    const { limiter: l, parts: p, pointed: s } = this;
    if (!l) return;
    put(p.admitted, `${rate(s ? s.admitted : l.per_second)}/s`);
    const limit = s ? s.rate : l.rate;
    put(p.rate, limit ? `${rate(limit)}/s` : "none");
    put(p.hits, s ? count(s.hits) : count(l.hits));
    put(p.waiting, count(s ? s.waiting : l.waiting));
    put(p.wait, seconds((s ?? this.chart.last())?.wait));
    const cap = s ? s.cap : l.cap;
    put(p.inFlight, count(s ? s.in_flight : l.in_flight) + (cap ? ` of ${count(cap)}` : ""));
  }

  remove() {
    this.chart.destroy();
    this.element.remove();
  }
}

// headline is the number that matters most, its unit, and what it is.
function headline(l) {
  const learned = l.learned ?? {};
  if (l.state === "paused") return ["0", "/s", `until ${clock(l.paused_until)}`];
  if (l.state === "closed") return ["0", "/s", "until it is reopened"];
  if (l.rate) {
    const from = learned.requests === l.rate ? "learned rate" : "set by its limits";
    return [rate(l.rate), "/s", from];
  }
  const [unit] = Object.keys(learned);
  if (unit) return [rate(learned[unit]), `${unit}/s`, "learned rate"];
  if (l.cap) return [count(l.cap), "in flight", l.cap === l.learned_cap ? "learned cap" : "set by its limits"];
  return [rate(l.per_second), "/s", "admitted; no limit was met yet"];
}

function facts(l) {
  const parts = [`${count(l.admitted)} admitted`, `${count(l.hits)} rate-limited`];
  if (l.failed) parts.push(`${count(l.failed)} failed otherwise`);
  if (l.longest_wait_s) parts.push(`waits ${seconds(l.mean_wait_s)} on average, ${seconds(l.longest_wait_s)} at most`);
  if (l.oldest_wait_s) parts.push(`the first in the queue has waited ${seconds(l.oldest_wait_s)}`);
  if (l.limits) parts.push(`limits ${l.limits}`);
  for (const [unit, value] of Object.entries(l.learned ?? {})) {
    if (unit !== "requests") parts.push(`${rate(value)} ${unit}/s learned`);
  }
  return parts.join(" · ");
}

// What a frame changes.

function limiters(all) {
  for (const l of all) {
    let card = cards.get(l.name);
    if (!card) {
      card = new Card(l.name);
      cards.set(l.name, card);
      const after = [...cards.keys()].sort().indexOf(l.name);
      $("limiters").insertBefore(card.element, $("limiters").children[after] ?? null);
      show(card.parts.actions, actions);
      card.history();
    }
    card.update(l);
  }
}

function gone(names) {
  for (const name of names) {
    cards.get(name)?.remove();
    cards.delete(name);
  }
}

function totals(more) {
  const sum = { per_second: 0, waiting: 0, in_flight: 0, hits: 0 };
  for (const { limiter } of cards.values()) {
    for (const key of Object.keys(sum)) sum[key] += limiter[key];
  }
  for (const [key, value] of Object.entries(sum)) {
    put(document.querySelector(`[data-total="${key}"]`), key === "per_second" ? rate(value) : count(value));
  }
  show($("totals"), cards.size > 1);
  show($("timeline"), cards.size > 0);
  show($("empty"), cards.size === 0 && !keyed);
  show($("more"), more > 0);
  put($("more"), `${count(more)} more limiters are in use. Those without a call for the longest time are not shown.`);
}

function clients(all) {
  if (!all) return;
  show($("clients"), all.length > 0);
  const sum = all.reduce((total, c) => total + c.per_second, 0);
  const rows = all.map((c) => ({ ...c, share: sum > 0 ? c.per_second / sum : 0 })).sort((a, b) => b.per_second - a.per_second || a.name.localeCompare(b.name));
  const body = document.querySelector("#clients tbody");
  while (body.rows.length > rows.length) body.lastElementChild.remove();
  rows.forEach((c, i) => {
    let row = body.rows[i];
    if (!row) {
      row = body.insertRow();
      for (let n = 0; n < 6; n++) row.insertCell().className = n > 1 ? "number" : "";
      const bar = document.createElement("progress");
      bar.max = 1;
      row.cells[1].append(bar, document.createTextNode(""));
    }
    put(row.cells[0], c.name + (c.weight && c.weight !== 1 ? ` (weight ${c.weight})` : ""));
    row.cells[0].title = c.name;
    const [bar, percent] = row.cells[1].childNodes;
    bar.value = c.share;
    bar.setAttribute("aria-label", `share of ${c.name}`);
    put(percent, ` ${Math.round(c.share * 100)} %`);
    put(row.cells[2], rate(c.per_second));
    put(row.cells[3], count(c.waiting));
    put(row.cells[4], count(c.admitted));
    put(row.cells[5], c.admitted ? seconds(c.waited_ns / 1e9 / c.admitted) : "");
  });
}

function keys(all) {
  if (!all) return;
  keyed = true;
  const body = document.querySelector("#keys tbody");
  while (body.rows.length > all.length) body.lastElementChild.remove();
  all.forEach((k, i) => {
    let row = body.rows[i];
    if (!row) {
      row = body.insertRow();
      for (let n = 0; n < 2; n++) row.insertCell().className = n > 0 ? "number" : "";
    }
    put(row.cells[0], k.name);
    row.cells[0].title = k.name;
    put(row.cells[1], count(k.refused));
  });
  show($("keys"), true);
  show($("blocked"), all.length > 0);
  show($("unblocked"), all.length === 0);
}

function happened(all) {
  for (const e of all ?? []) {
    if (events.has(e.id)) continue;
    const line = document.createElement("li");
    const [time, name, text] = ["time", "b", "span"].map((tag) => document.createElement(tag));
    time.dateTime = e.time;
    put(time, clock(e.time));
    put(name, e.limiter);
    put(text, e.text || e.kind);
    line.append(time, name, text);
    events.set(e.id, line);
    document.querySelector("#events ol").prepend(line);
  }
  for (const [id, line] of events) {
    if (events.size <= mostEvents) break;
    line.remove();
    events.delete(id);
  }
  show($("events"), events.size > 0);
}

function snapshot(status) {
  document.title = status.title === "headrace" ? "headrace" : `${status.title} · headrace`;
  put($("title"), status.title);
  actions = status.actions;
  if (status.started !== snapshot.started) { // another process
    snapshot.started = status.started;
    gone([...cards.keys()]);
    for (const line of events.values()) line.remove();
    events.clear();
  }
  const names = new Set(status.limiters.map((l) => l.name));
  gone([...cards.keys()].filter((name) => !names.has(name)));
  for (const card of cards.values()) {
    show(card.parts.actions, actions);
    card.history();
  }
  show($("drain"), actions && status.drains);
  show($("unlock"), actions && !hasToken());
  limiters(status.limiters);
  happened(status.events);
  rest(status);
}

function frame(f) {
  gone(f.gone ?? []);
  limiters(f.limiters ?? []);
  for (const [name, sample] of Object.entries(f.samples ?? {})) cards.get(name)?.chart.add(sample);
  happened(f.events);
  rest(f);
}

function rest(f) {
  clients(f.clients);
  keys(f.keys);
  totals(f.more);
  $("drain").disabled = f.draining;
  put($("drain"), f.draining ? "Draining" : "Drain");
  seen = f.time;
}

// The connection.

let seen;

async function follow() {
  for (let wait = 1; ; wait = Math.min(wait * 2, 15)) {
    let problem;
    try {
      await stream("api/events", (type, data) => {
        wait = 1;
        live();
        if (type === "snapshot") snapshot(data);
        if (type === "frame") frame(data);
      });
    } catch (caught) {
      if (!(caught instanceof RequestError) && caught.name !== "AbortError" && !(caught instanceof TypeError)) console.error(caught);
      problem = caught;
    }
    if (problem?.status === 401) {
      await unlock(hasToken() ? problem.message : "");
      continue;
    }
    for (let left = wait; left > 0; left--) {
      lost(left, problem);
      await new Promise((done) => setTimeout(done, 1000));
    }
  }
}

function live() {
  put($("connection"), "Live");
  $("connection").classList.add("live");
  document.body.classList.remove("stale");
  show($("notice"), false);
}

function lost(left, problem) {
  put($("connection"), "Not connected");
  $("connection").classList.remove("live");
  document.body.classList.add("stale");
  const why = problem instanceof RequestError && problem.status ? problem.message : "The connection to the program was lost. Is it still running?";
  const since = seen ? ` The numbers are those of ${clock(seen)}.` : "";
  put($("notice"), `${why}${since} Next try in ${left} s.`);
  show($("notice"), true);
}

// Questions and actions.

// ask opens the dialog and calls done with the value until it throws nothing. It resolves to whether it did.
function ask({ title, text, label, value = "", yes, type = "text", problem = "", done }) {
  const dialog = $("ask");
  put($("ask-title"), title);
  put($("ask-text"), text);
  put($("ask-label"), label ?? "");
  put($("ask-yes"), yes);
  put($("ask-problem"), problem);
  const input = $("ask-value");
  input.type = type;
  input.value = value;
  show(input, !!label);
  show($("ask-label"), !!label);
  return new Promise((resolve) => {
    const form = dialog.querySelector("form");
    const end = (yes) => {
      dialog.close();
      input.value = "";
      resolve(yes);
    };
    form.onsubmit = async (event) => {
      event.preventDefault();
      $("ask-yes").disabled = true;
      try {
        await done(input.value.trim());
        end(true);
      } catch (caught) {
        put($("ask-problem"), caught.message);
      } finally {
        $("ask-yes").disabled = false;
      }
    };
    $("ask-no").onclick = () => end(false);
    dialog.onclose = () => { // by Escape, or else the event comes late, and the next question may be open
      if (!dialog.open) end(false);
    };
    dialog.showModal();
    if (label) input.select();
  });
}

// unlock asks for the token until it is the right one.
const unlock = (problem = "") => ask({
  title: "Unlock actions", label: "Token", type: "password", yes: "Unlock", problem,
  text: "The token that the program was started with, for example in HEADRACE_TOKEN. This page keeps it until it is closed or reloaded.",
  done: async (value) => {
    if (!value) throw new Error("Type the token.");
    await takeToken(value);
    show($("unlock"), false);
  },
});

// send posts an action, and asks for the token if there is none or it is wrong.
async function send(path, body) {
  if (!hasToken() && !await unlock()) return undefined;
  return post(path, body).catch((problem) => {
    if (problem.status === 401) {
      dropToken();
      show($("unlock"), true);
    }
    throw problem;
  });
}

const path = (card, action) => `api/limiters/${encodeURIComponent(card.name)}/${action}`;

async function change(card, action, body) {
  const limiter = await send(path(card, action), body);
  if (limiter) card.update(limiter);
}

async function tell(work) {
  try {
    await work();
  } catch (problem) {
    await ask({ title: "That did not work", text: problem.message, yes: "Close", done: () => {} });
  }
}

// asking asks for the token first, so that there is one question at a time.
async function asking(question) {
  if (hasToken() || await unlock()) await ask(question);
}

// keep moves the focus from a button that is gone, such as Pause, to the one in its place.
async function keep(card, work) {
  await work;
  const shown = document.activeElement.offsetParent !== null; // nor does the body have one
  if (!shown) card.element.querySelector(".actions button:not([hidden])")?.focus();
}

const act = {
  pause: (card) => keep(card, asking({
    title: `Pause ${card.name}`, label: "For how long", value: "5m", yes: "Pause",
    text: "No call is admitted for this time, such as 90s, 5m or 2h. Calls in flight finish, others wait in their place. What was learned is kept.",
    done: (value) => change(card, "pause", { for: value }),
  })),
  resume: (card) => keep(card, tell(() => change(card, "resume", {}))),
  limit: (card) => asking({
    title: `Limits of ${card.name}`, label: "Limits", value: card.limiter.limits ?? "", yes: "Set",
    text: "Hard limits until the program ends, such as 20/s, 600/min or \"20/s, 8 concurrent\". \"unlimited\" removes them. The rate is still learned within them.",
    done: (value) => change(card, "limit", { limits: value }),
  }),
};

$("unlock").addEventListener("click", () => unlock());
$("drain").addEventListener("click", () => asking({
  title: "Drain", text: "The program takes no new calls, finishes those that it has, and ends. This cannot be undone.", yes: "Drain",
  done: () => send("api/drain", {}),
}));
$("span").addEventListener("change", () => cards.forEach((card) => card.history()));
setInterval(() => { // coarse history has no frames
  if ($("span").value !== "10m") cards.forEach((card) => card.history());
}, 10_000);

follow();
