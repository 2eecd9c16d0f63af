/** Numbers and units as people read them. */

const PREFIXES = ["", "k", "M", "G", "T", "P"];

/** Returns a count with separators: 48,875. */
export function count(value: number): string {
  return value.toLocaleString("en-US");
}

/** Returns a count and its noun: "1 user", "2 users". */
export function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** Returns an amount of something with a prefix: 1.2 M. */
export function amount(value: number, unit = ""): string {
  let power = 0;
  let scaled = value;
  while (Math.abs(scaled) >= 1000 && power < PREFIXES.length - 1) {
    scaled /= 1000;
    power += 1;
  }
  const digits = power === 0 && Number.isInteger(value) ? String(value) : threeDigits(scaled);
  const suffix = `${PREFIXES[power] ?? ""}${unit}`;
  return suffix ? `${digits} ${suffix}` : digits;
}

/** Returns a time: 12.3 µs. */
export function seconds(value: number): string {
  if (value >= 1 || value === 0) return `${threeDigits(value)} s`;
  if (value >= 1e-3) return `${threeDigits(value * 1e3)} ms`;
  if (value >= 1e-6) return `${threeDigits(value * 1e6)} µs`;
  return `${threeDigits(value * 1e9)} ns`;
}

function threeDigits(value: number): string {
  return String(Number(value.toPrecision(3)));
}
