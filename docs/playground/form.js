// What the form holds, and its place in the address of the page.

const $ = (id) => document.getElementById(id);
const numbers = ["rate", "burst", "change", "cap", "calls", "atOnce", "seconds", "minutes", "seed"];
const wholes = new Set(["cap", "calls", "atOnce", "seed"]);
const choices = ["kind", "reports", "speed"];
const greatestSeed = 2 ** 32 - 1;

const boxes = () => [...document.querySelectorAll("#controllers input")];

// offer makes a checkbox for each controller.
export function offer(controllers) {
  for (const c of controllers) {
    const label = document.createElement("label");
    label.className = "choice";
    label.title = c.about;
    const box = document.createElement("input");
    box.type = "checkbox";
    box.value = c.id;
    box.checked = c.shown;
    label.append(box, c.name);
    $("controllers").append(label);
  }
}

// show hides the fields that the kind of provider does not have.
export function show() {
  for (const field of document.querySelectorAll("[data-kinds]")) {
    field.hidden = !field.dataset.kinds.split(" ").includes($("kind").value);
  }
}

export const speed = () => Number($("speed").value);

// request is the form as the simulator takes it.
export function request() {
  const n = Object.fromEntries(numbers.map((name) => [name, $(name).valueAsNumber || 0]));
  return {
    provider: { kind: $("kind").value, rate: n.rate, burst: n.burst, change: n.change, cap: n.cap, reports: $("reports").value },
    traffic: { atOnce: n.atOnce, seconds: n.seconds, calls: n.calls },
    controllers: boxes().filter((box) => box.checked).map((box) => box.value),
    seed: n.seed,
    minutes: n.minutes,
  };
}

// check returns the problems that the simulator cannot report, because it only gets numbers of its own types.
export function check() {
  const problems = [];
  for (const name of numbers) {
    const value = $(name).valueAsNumber;
    if ($(name).closest("[data-kinds]")?.hidden) {
      if (Number.isNaN(value) || (wholes.has(name) && !Number.isSafeInteger(value))) $(name).value = $(name).defaultValue;
    } else if (Number.isNaN(value)) {
      problems.push({ field: name, text: "must be a number" });
    } else if (wholes.has(name) && !Number.isSafeInteger(value)) {
      problems.push({ field: name, text: "must be a whole number" });
    }
  }
  const seed = $("seed").valueAsNumber;
  if (seed < 0 || seed > greatestSeed) problems.push({ field: "seed", text: `must be between 0 and ${greatestSeed.toLocaleString("en-US")}` });
  return problems;
}

// mark shows problems beside their fields, and no others, and moves the focus to the first.
export function mark(problems) {
  for (const old of document.querySelectorAll(".problem")) old.remove();
  for (const old of document.querySelectorAll("[aria-invalid]")) {
    old.removeAttribute("aria-invalid");
    old.removeAttribute("aria-describedby");
  }
  for (const { field, text } of problems) {
    const place = $(field);
    const note = document.createElement("span");
    note.className = "problem";
    note.id = `${field}-problem`;
    const name = place.labels?.[0]?.textContent ?? place.querySelector("legend").textContent;
    note.textContent = `${name} ${text}.`;
    if (place.tagName === "FIELDSET") place.append(note);
    else place.after(note);
    place.setAttribute("aria-invalid", "true");
    place.setAttribute("aria-describedby", note.id);
  }
  const first = problems.map(({ field }) => $(field)).sort((a, b) => (a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1))[0];
  (first?.tagName === "FIELDSET" ? first.querySelector("input") : first)?.focus();
}

// save puts the form into the address.
export function save() {
  const all = new URLSearchParams();
  for (const name of [...choices, ...numbers]) {
    if (!$(name).closest("[data-kinds]")?.hidden) all.set(name, $(name).value);
  }
  all.set("controllers", request().controllers.join(" "));
  history.replaceState(null, "", `#${all}`);
}

// restore fills the form from the address. What is not there, or makes no sense, stays as it is.
export function restore() {
  const all = new URLSearchParams(location.hash.slice(1));
  for (const name of choices) {
    if ([...$(name).options].some((option) => option.value === all.get(name))) $(name).value = all.get(name);
  }
  for (const name of numbers) {
    if (all.get(name) && Number.isFinite(Number(all.get(name)))) $(name).value = all.get(name);
  }
  if (all.has("controllers")) {
    const ids = all.get("controllers").split(" ");
    for (const box of boxes()) box.checked = ids.includes(box.value);
  }
}

// reseed draws another seed.
export function reseed() {
  $("seed").value = crypto.getRandomValues(new Uint32Array(1))[0] % 1_000_000;
}
