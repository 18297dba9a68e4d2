// The page's side of the worker.

const file = "simulator.wasm.gz";
let module; // compiled once, for every worker

// load fetches and compiles the simulator.
async function load() {
  const response = await fetch(file).catch(() => null);
  if (response?.status === 404) throw new Error(`${file} is missing here. It is built by make playground.`);
  if (!response?.ok) throw new Error(`${file} could not be fetched.`);
  const data = await response.arrayBuffer();
  const [first, second] = new Uint8Array(data, 0, Math.min(2, data.byteLength));
  const packed = first === 0x1f && second === 0x8b; // some hosts have the browser decompress it already
  if (packed && typeof DecompressionStream === "undefined") {
    throw new Error("This browser cannot decompress the simulator (it has no DecompressionStream). A newer one can.");
  }
  const bytes = packed ? await new Response(new Blob([data]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer() : data;
  return WebAssembly.compile(bytes);
}

export class Simulator {
  // open starts a worker. Its promise is of the controllers that can be chosen.
  async open() {
    module ??= await load();
    this.close();
    const worker = this.worker = new Worker("worker.js");
    return new Promise((resolve, reject) => {
      const failed = (text) => {
        if (this.worker !== worker) return;
        this.close();
        reject(new Error(text)); // nothing, if it was resolved before
        this.onfailed?.(text);
      };
      worker.onerror = (event) => failed(event.message || "worker.js could not be loaded");
      worker.onmessage = ({ data }) => {
        if (this.worker !== worker) return;
        if (data.controllers) resolve(data.controllers);
        else if (data.failed) failed(data.failed);
        else {
          if (data.problems || data.slice?.over) this.busy = false;
          this.onmessage?.(data);
        }
      };
      worker.postMessage({ load: module });
    });
  }

  // run plays a request: onmessage gets problems, or a plan and slices.
  run(request) {
    this.busy = true;
    this.worker.postMessage({ run: request });
  }

  // idle is whether run can be called; otherwise open has to come before.
  get idle() {
    return !!this.worker && !this.busy;
  }

  // close ends the worker, in the midst of a run too.
  close() {
    this.worker?.terminate();
    this.worker = null;
    this.busy = false;
  }
}
