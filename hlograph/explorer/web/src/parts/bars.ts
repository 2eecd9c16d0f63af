/** Values with their intervals, as bars from a base. */

import { el, svg } from "./dom";
import { ratioText } from "./ratios";

export interface Interval {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

export interface BarScale {
  /** Value that bars begin at. */
  readonly base: number;
  /** Returns the place of a value, from 0 to 1. */
  at(value: number): number;
}

/** Returns a scale for values and their base: of ratios logarithmic, so that 2 is as far as 0.5. */
export function barScale(intervals: readonly Interval[], base: number): BarScale {
  const ends = intervals.flatMap((one) => [one.low, one.value, one.high]).filter(Number.isFinite);
  const least = Math.min(base, ...ends);
  const most = Math.max(base, ...ends);
  const isLog = base > 0 && least > 0;
  const scaled = (value: number) => (isLog ? Math.log(value) : value);
  const from = scaled(least);
  const range = scaled(most) - from || 1;
  // Some room at both ends, so that no end of an interval is cut.
  return { base, at: (value) => 0.03 + (0.94 * (scaled(value) - from)) / range };
}

/** One bar with its interval, to stand in a line of text. */
export function intervalBar(one: Interval, scale: BarScale, width = 150): SVGSVGElement {
  const at = (value: number) => Math.max(0, Math.min(width, scale.at(value) * width));
  const base = at(scale.base);
  const end = at(one.value);
  const sign = one.low > scale.base ? "better" : one.high < scale.base ? "worse" : "";
  return svg(
    "svg",
    { class: `bar ${sign}`, width, height: 14, viewBox: `0 0 ${width} 14`, "aria-hidden": "true" },
    svg("rect", { class: "bar-body", x: Math.min(base, end), y: 3, width: Math.max(0.5, Math.abs(end - base)), height: 8 }),
    svg("line", { class: "bar-base", x1: base, x2: base, y1: 0, y2: 14 }),
    one.high > one.low
      ? svg("path", { class: "bar-interval", d: `M${at(one.low)} 4v6m0 -3H${at(one.high)}m0 -3v6` })
      : null,
  );
}

/** Returns a value with its interval as text: 1.33 (1.19 to 1.52). */
export function intervalText(one: Interval): string {
  const ends = one.high > one.low ? ` (${ratioText(one.low)} to ${ratioText(one.high)})` : "";
  return ratioText(one.value) + ends;
}

export interface Bar {
  readonly label: string;
  readonly interval: Interval;
}

/** A table of bars on one scale, in the given order. */
export function bars(rows: readonly Bar[], base: number, caption: string): HTMLElement {
  const scale = barScale(rows.map((row) => row.interval), base);
  const lines = rows.map(({ label, interval }) =>
    el(
      "tr",
      {},
      el("th", { scope: "row", text: label }),
      el("td", {}, intervalBar(interval, scale, 360)),
      el("td", { class: "right", text: intervalText(interval) }),
    ),
  );
  return el(
    "table",
    { class: "bars" },
    el("caption", { class: "hidden", text: caption }),
    el("thead", { class: "hidden" }, el("tr", {}, ...["name", "bar", "value"].map((text) => el("th", { text })))),
    el("tbody", {}, ...lines),
  );
}
