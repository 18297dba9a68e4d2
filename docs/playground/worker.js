// The simulator, away from the page's own thread. It gets the compiled module with "load", and a request with "run".

/* global Go, headrace */

importScripts("wasm_exec.js");

const slices = 150; // about how many parts the longest run is sent in

onmessage = async ({ data }) => {
  try {
    if (data.load) {
      const go = new Go();
      const instance = await WebAssembly.instantiate(data.load, go.importObject);
      go.run(instance).then(() => postMessage({ failed: "the simulator ended" }), (error) => postMessage({ failed: String(error) }));
      postMessage({ controllers: JSON.parse(headrace.controllers()) });
    }
    if (data.run) play(data.run);
  } catch (error) {
    postMessage({ failed: String(error?.message ?? error) });
  }
};

function play(request) {
  const begun = answer(headrace.start(JSON.stringify(request)));
  postMessage(begun);
  if (begun.problems) return;
  const steps = Math.max(1, Math.round(begun.plan.end / begun.plan.step / slices));
  for (let over = false; !over;) {
    const next = answer(headrace.next(steps));
    postMessage(next);
    over = next.slice.over;
  }
}

function answer(text) {
  const value = JSON.parse(text);
  if (value.error) throw new Error(value.error);
  return value;
}
