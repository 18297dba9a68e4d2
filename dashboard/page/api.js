// Requests to the dashboard. The token is kept in memory only.

let token = "";

export const hasToken = () => token !== "";
export const dropToken = () => { token = ""; };

// RequestError has the message of the dashboard, and the status; 0 if there was no response.
export class RequestError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function request(path, options = {}, as = token) {
  const headers = as ? { ...options.headers, Authorization: `Bearer ${as}` } : options.headers;
  let response;
  try {
    response = await fetch(path, { ...options, headers, cache: "no-store" });
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new RequestError(0, "The program does not answer.");
  }
  if (response.ok) return response;
  const body = await response.json().catch(() => null);
  throw new RequestError(response.status, body?.error?.message ?? `The answer was ${response.status}.`);
}

// takeToken checks a token with the program, and keeps it if it is right.
export async function takeToken(value) {
  await request("api/token", {}, value);
  token = value;
}

export const get = async (path) => (await request(path)).json();

export const post = async (path, body) =>
  (await request(path, { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } })).json();

// silence is how long a stream may be silent, in milliseconds. There is a sign of life every 15 seconds.
const silence = 40_000;

// stream calls on(type, data) for each server-sent event until the stream ends, which is an error.
export async function stream(path, on) {
  const aborted = new AbortController();
  let alarm = setTimeout(() => aborted.abort(), silence);
  try {
    const response = await request(path, { signal: aborted.signal });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ""; ;) {
      const { value, done } = await reader.read();
      if (done) return;
      clearTimeout(alarm);
      alarm = setTimeout(() => aborted.abort(), silence);
      const parts = (rest + value).split("\n\n");
      rest = parts.pop();
      for (const part of parts) {
        const type = /^event: (.*)$/m.exec(part)?.[1];
        const data = /^data: (.*)$/m.exec(part)?.[1];
        if (type && data) on(type, JSON.parse(data));
      }
    }
  } finally {
    clearTimeout(alarm);
    aborted.abort();
  }
}
