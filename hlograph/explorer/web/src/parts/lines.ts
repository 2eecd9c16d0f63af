/** Curves over a common axis, with a legend that hides and shows them. */

import { el, fill, svg } from "./dom";
import { amount } from "./numbers";
import { strokeOf } from "./palette";
import { ticks } from "./ticks";
import { facts, hideTooltip, showTooltip } from "./tooltip";

export type Point = readonly [number, number];

export interface LinesData {
  readonly x: string;
  readonly y: string;
  readonly lines: readonly { readonly name: string; readonly points: readonly Point[] }[];
  /** True if a value holds until the next point. */
  readonly steps: boolean;
  /** Names of lines that are hidden at first. */
  readonly hidden?: ReadonlySet<string>;
}

/** Narrowest and widest picture, in pixels; its text has the same size in all. */
const NARROW = 280;
const WIDEST = 760;
const HEIGHT = 230;
const LEFT = 52;
const RIGHT = 12;
const TOP = 8;
const BOTTOM = 34;

/** From this ratio of the largest to the least, the horizontal axis is logarithmic. */
const WIDE = 300;

export function lines(data: LinesData): HTMLElement {
  const hidden = new Set(data.hidden);
  const legend = el("div", { class: "line-legend", role: "group", "aria-label": "Lines" });
  const picture = svg("svg", {
    class: "lines",
    role: "img",
    "aria-label": `${data.y} over ${data.x}: ${data.lines.map((line) => line.name).join(", ")}`,
  });
  let width = WIDEST;
  const all = data.lines.flatMap((line) => line.points.map(([x]) => x));
  const positive = all.filter((x) => x > 0);
  const isLog = Math.max(...positive) / Math.min(...positive) > WIDE && positive.length === all.length;

  function draw(): void {
    picture.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    const shown = data.lines.filter((line) => !hidden.has(line.name));
    const ys = shown.flatMap((line) => line.points.map(([, y]) => y));
    const xAxis = axis(all, LEFT, width - RIGHT, isLog);
    const yAxis = axis(ys, HEIGHT - BOTTOM, TOP, false);
    const paths = data.lines.map((line, i) => {
      if (hidden.has(line.name)) return null;
      const { colour, dash } = strokeOf(i);
      const style = { stroke: colour, "stroke-dasharray": dash };
      return svg("path", { class: "line", d: path(line.points, xAxis.at, yAxis.at, data.steps), style });
    });
    fill(picture, ...grid(xAxis, yAxis), ...paths);
  }

  function grid(xAxis: Axis, yAxis: Axis): (SVGElement | null)[] {
    return [
      ...xAxis.ticks.flatMap((tick) => [
        svg("line", { class: "grid", x1: xAxis.at(tick), x2: xAxis.at(tick), y1: TOP, y2: HEIGHT - BOTTOM }),
        svg("text", { x: xAxis.at(tick), y: HEIGHT - BOTTOM + 13, "text-anchor": "middle", text: amount(tick) }),
      ]),
      ...yAxis.ticks.flatMap((tick) => [
        svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: yAxis.at(tick), y2: yAxis.at(tick) }),
        svg("text", { x: LEFT - 5, y: yAxis.at(tick) + 4, "text-anchor": "end", text: amount(tick) }),
      ]),
      svg("text", { x: (LEFT + width - RIGHT) / 2, y: HEIGHT - 4, "text-anchor": "middle", text: data.x }),
    ];
  }

  function hint(event: PointerEvent): void {
    const area = picture.getBoundingClientRect();
    const xAxis = axis(all, LEFT, width - RIGHT, isLog);
    const x = xAxis.of(((event.clientX - area.left) / area.width) * width);
    const rows = data.lines
      .filter((line) => !hidden.has(line.name))
      .map((line): [string, number | null] => [line.name, valueAt(line.points, x, data.steps)])
      .filter((row): row is [string, number] => row[1] !== null)
      .sort((a, b) => b[1] - a[1])
      .map(([name, value]): [string, string] => [name, String(Number(value.toPrecision(4)))]);
    showTooltip({ x: event.clientX, y: event.clientY }, facts([[data.x, amount(x)], ...rows.slice(0, 14)]));
  }

  function toggle(name: string, button: HTMLButtonElement): void {
    if (!hidden.delete(name)) hidden.add(name);
    button.setAttribute("aria-pressed", String(!hidden.has(name)));
    draw();
  }

  fill(
    legend,
    ...data.lines.map(({ name }, i) => {
      const button = el(
        "button",
        { type: "button", class: "quiet", "aria-pressed": String(!hidden.has(name)), onclick: () => toggle(name, button) },
        sample(i),
        name,
      );
      return button;
    }),
  );
  new ResizeObserver(() => {
    const seen = Math.max(NARROW, Math.min(WIDEST, Math.round(picture.clientWidth)));
    if (seen === width && picture.hasAttribute("viewBox")) return;
    width = seen;
    draw();
  }).observe(picture);
  picture.addEventListener("pointermove", hint);
  picture.addEventListener("pointerleave", hideTooltip);
  draw();
  return el("figure", { class: "chart" }, el("figcaption", { text: data.y }), picture, legend);
}

/** A piece of a line, as the legend shows it. */
function sample(number: number): SVGSVGElement {
  const { colour, dash } = strokeOf(number);
  const style = { stroke: colour, "stroke-dasharray": dash };
  return svg(
    "svg",
    { class: "sample", width: 20, height: 8, "aria-hidden": "true" },
    svg("line", { x1: 0, x2: 20, y1: 4, y2: 4, style }),
  );
}

interface Axis {
  readonly ticks: readonly number[];
  at(value: number): number;
  of(place: number): number;
}

function axis(values: readonly number[], from: number, to: number, isLog: boolean): Axis {
  const scaled = (value: number) => (isLog ? Math.log10(value) : value);
  let least = Infinity;
  let most = -Infinity;
  for (const value of values) {
    least = Math.min(least, scaled(value));
    most = Math.max(most, scaled(value));
  }
  if (least > most) [least, most] = [0, 1];
  if (least === most) [least, most] = [least - 0.5, most + 0.5];
  const marks = isLog
    ? Array.from({ length: Math.floor(most) - Math.ceil(least) + 1 }, (_, i) => 10 ** (Math.ceil(least) + i))
    : ticks(least, most, 5);
  return {
    ticks: marks,
    at: (value) => from + ((scaled(value) - least) / (most - least)) * (to - from),
    of(place) {
      const value = least + ((place - from) / (to - from)) * (most - least);
      return isLog ? 10 ** value : value;
    },
  };
}

function path(
  points: readonly Point[],
  atX: (x: number) => number,
  atY: (y: number) => number,
  steps: boolean,
): string {
  return points
    .map(([x, y], i) => {
      const place = `${atX(x).toFixed(1)} ${atY(y).toFixed(1)}`;
      if (i === 0) return `M${place}`;
      return steps ? `H${atX(x).toFixed(1)}V${atY(y).toFixed(1)}` : `L${place}`;
    })
    .join("");
}

/** Returns the value of a line at a place: of the last point before it, or between two points. */
function valueAt(points: readonly Point[], x: number, steps: boolean): number | null {
  const after = points.findIndex(([at]) => at > x);
  const before = points[(after < 0 ? points.length : after) - 1];
  if (!before) return null;
  const next = points[after];
  if (steps || !next) return before[1];
  return before[1] + ((x - before[0]) / (next[0] - before[0])) * (next[1] - before[1]);
}
