/** Curves over the steps of an episode: value, probability of stopping, instructions. */

import { el, fill, svg } from "../parts/dom";
import { count } from "../parts/numbers";
import type { Move } from "./data";
import { percent } from "./data";

const WIDTH = 300;
const HEIGHT = 34;

interface Curve {
  readonly title: string;
  valueOf(move: Move): number | null;
  text(value: number): string;
}

const CURVES: readonly Curve[] = [
  { title: "Value", valueOf: (move) => move.value, text: (value) => value.toFixed(1) },
  { title: "Stop", valueOf: (move) => move.stop, text: percent },
  { title: "Instructions", valueOf: (move) => move.step.op_count, text: count },
];

export interface Trace {
  readonly element: HTMLElement;
  show(moves: readonly Move[]): void;
  mark(number: number): void;
}

export function trace(chosen: (number: number) => void): Trace {
  const element = el("div", { class: "trace" });
  let moves: readonly Move[] = [];
  let marks: (() => void)[] = [];
  let current = 1;

  function drawn(curve: Curve): HTMLElement | null {
    const values = moves.map((move) => curve.valueOf(move));
    const known = values.filter((value): value is number => value !== null);
    if (known.length === 0) return null;
    const low = Math.min(0, ...known);
    const high = Math.max(...known, low + 1e-9);
    const x = (i: number) => (moves.length < 2 ? WIDTH / 2 : 4 + ((WIDTH - 8) * i) / (moves.length - 1));
    const y = (value: number) => HEIGHT - 3 - ((HEIGHT - 6) * (value - low)) / (high - low);
    const points = values.flatMap((value, i) => (value === null ? [] : [`${x(i)},${y(value)}`]));
    const line = svg("line", { class: "trace-now", y1: 0, y2: HEIGHT });
    const dot = svg("circle", { class: "trace-dot", r: 3 });
    const number = el("span", { class: "mono trace-value" });
    const picture = svg(
      "svg",
      {
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
        preserveAspectRatio: "none",
        "aria-hidden": "true",
        onclick: (event: MouseEvent) => {
          const box = picture.getBoundingClientRect();
          const place = (WIDTH * (event.clientX - box.left)) / box.width;
          chosen(Math.round(((place - 4) / (WIDTH - 8)) * (moves.length - 1)) + 1);
        },
      },
      line,
      svg("polyline", { class: "trace-line", points: points.join(" ") }),
      dot,
    );
    marks.push(() => {
      const value = values[current - 1];
      if (value === null || value === undefined) return;
      line.setAttribute("x1", String(x(current - 1)));
      line.setAttribute("x2", String(x(current - 1)));
      dot.setAttribute("cx", String(x(current - 1)));
      dot.setAttribute("cy", String(y(value)));
      number.textContent = curve.text(value);
    });
    return el("div", { class: "trace-row" }, el("span", { class: "note", text: curve.title }), picture, number);
  }

  return {
    element,
    show(all) {
      moves = all;
      marks = [];
      fill(element, ...CURVES.map(drawn));
    },
    mark(number) {
      current = number;
      for (const mark of marks) mark();
    },
  };
}
