/** The one tooltip of the page, beside what the pointer or the focus is on. */

import { type Child, el, fill } from "./dom";

let shown: HTMLElement | null = null;

export interface Place {
  readonly x: number;
  readonly y: number;
}

/** Shows content beside a point of the window. */
export function showTooltip(place: Place, ...content: Child[]): void {
  shown ??= document.body.appendChild(el("div", { class: "tooltip", role: "tooltip" }));
  fill(shown, ...content);
  shown.hidden = false;
  const { width, height } = shown.getBoundingClientRect();
  const left = place.x + 14 + width > innerWidth ? place.x - width - 14 : place.x + 14;
  const top = Math.min(place.y + 14, innerHeight - height - 4);
  shown.style.left = `${Math.max(4, left)}px`;
  shown.style.top = `${Math.max(4, top)}px`;
}

export function hideTooltip(): void {
  if (shown) shown.hidden = true;
}

/** Longer values are folded: the shape of a tuple may have thousands of parts. */
const LONG = 300;

function folded(value: string): HTMLElement {
  const summary = el("summary", { text: `${value.slice(0, LONG / 2)}… (${value.length} characters)` });
  return el("details", {}, summary, value);
}

/** Returns rows of names and values, without those that have no value. */
export function facts(rows: readonly (readonly [string, string])[]): HTMLElement {
  const full = rows.filter(([, value]) => value !== "");
  return el(
    "dl",
    { class: "facts" },
    ...full.map(([name, value]) =>
      el("div", {}, el("dt", { text: name }), el("dd", {}, value.length > LONG ? folded(value) : value)),
    ),
  );
}
