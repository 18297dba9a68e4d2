// Numbers and times as text.

// rate has three digits: 0.0213, 1.94, 52.3, 1,240.
export function rate(value) {
  if (!value) return "0";
  if (value >= 1000) return Math.round(value).toLocaleString("en-US");
  const digits = Math.max(0, 2 - Math.floor(Math.log10(value)));
  return value.toFixed(Math.min(digits, 4));
}

export const count = (value) => (value ?? 0).toLocaleString("en-US");

// seconds is a duration: 40 ms, 3.2 s, 2 min 5 s, 1 h 2 min.
export function seconds(value) {
  if (!value) return "0 s";
  if (value < 1) return `${Math.max(1, Math.round(value * 1000))} ms`;
  if (value < 60) return `${value.toFixed(1)} s`;
  const whole = Math.round(value);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.round((whole % 3600) / 60)} min`;
}

export const clock = (time) => new Date(time).toLocaleTimeString("en-GB");
