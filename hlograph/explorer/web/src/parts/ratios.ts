/** Ratios as people read them. */

/** Returns a ratio with three digits after the point, fewer where it is large. */
export function ratioText(value: number): string {
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 2 ? 2 : 3);
}
