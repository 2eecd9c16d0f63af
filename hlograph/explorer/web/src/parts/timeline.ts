/** The steps of a run in lanes over time, on a canvas. */

import { onTheme } from "../theme";
import { el, onceAFrame } from "./dom";
import { seconds } from "./numbers";
import { ticks } from "./ticks";
import type { TimeWindow } from "./time_window";
import { hideTooltip, showTooltip } from "./tooltip";

/** Steps, by their begin. Times are in microseconds. */
export interface Spans {
  readonly start: readonly number[];
  readonly duration: readonly number[];
  readonly lane: readonly number[];
  /** What each step is an execution of. */
  readonly kernel: readonly number[];
  /** How many loops, branches and calls are around the steps of each lane. */
  readonly depths: readonly number[];
}

export interface TimelineOptions {
  readonly label: string;
  colour(kernel: number): string;
  name(kernel: number): string;
  /** Content of the tooltip of a step. */
  hint(kernel: number, span: number): Node;
  /** Called with a step that was clicked, or that the arrow keys went to. */
  chosen(kernel: number, span: number): void;
}

export interface Timeline {
  readonly element: HTMLElement;
  /** Marks the steps of a kernel. */
  mark(kernel: number | null): void;
}

const LANE = 19;
const AXIS = 18;
const LETTER = 6.4;

export function timeline(spans: Spans, window: TimeWindow, options: TimelineOptions): Timeline {
  const lanes = spans.depths.length;
  const height = AXIS + Math.max(1, lanes) * LANE + 2;
  const canvas = el("canvas", {
    class: "timeline-canvas",
    tabindex: "0",
    role: "img",
    "aria-label": options.label,
    style: { height: `${height}px` },
  });
  const element = el("div", { class: "timeline" }, canvas);
  const inLane = byLane(spans, lanes);
  let marked: number | null = null;
  let current = -1;
  const draw = onceAFrame(paint);
  let dragged: { x: number; from: number; to: number } | null = null;
  let moved = false;

  new ResizeObserver(draw).observe(canvas);
  window.onChange(draw);
  onTheme(draw);

  function paint(): void {
    const area = canvas.getBoundingClientRect();
    const context = canvas.getContext("2d");
    if (!context || area.width === 0) return;
    const ratio = devicePixelRatio;
    canvas.width = Math.round(area.width * ratio);
    canvas.height = Math.round(height * ratio);
    context.scale(ratio, ratio);
    const style = getComputedStyle(element);
    const scale = area.width / (window.to - window.from);
    paintAxis(context, style, area.width, scale);
    context.font = `11px ${style.getPropertyValue("--mono")}`;
    context.textBaseline = "middle";
    for (const steps of inLane) paintLane(context, style, steps, area.width, scale);
  }

  function paintAxis(context: CanvasRenderingContext2D, style: CSSStyleDeclaration, width: number, scale: number): void {
    context.font = `10px ${style.getPropertyValue("--sans")}`;
    context.textBaseline = "top";
    context.strokeStyle = style.getPropertyValue("--line");
    context.fillStyle = style.getPropertyValue("--soft");
    for (const tick of ticks(window.from, window.to, Math.max(2, width / 110))) {
      const x = Math.round((tick - window.from) * scale) + 0.5;
      context.beginPath();
      context.moveTo(x, 0);
      context.lineTo(x, height);
      context.stroke();
      context.fillText(seconds(tick * 1e-6), x + 3, 3);
    }
  }

  function paintLane(
    context: CanvasRenderingContext2D,
    style: CSSStyleDeclaration,
    steps: readonly number[],
    width: number,
    scale: number,
  ): void {
    let painted = -1; // steps that are narrower than a part of a pixel are painted once
    for (const step of steps) {
      const kernel = spans.kernel[step]!;
      const left = (spans.start[step]! - window.from) * scale;
      const right = left + spans.duration[step]! * scale;
      if (right < 0) continue;
      if (left > width) break;
      if (right <= painted && marked !== kernel) continue;
      const x = Math.max(left, -1);
      const wide = Math.max(0.7, Math.min(right, width + 1) - x);
      const y = AXIS + spans.lane[step]! * LANE;
      painted = Math.max(painted, x + 0.7);
      const faint = marked !== null && marked !== kernel;
      context.globalAlpha = faint ? 0.35 : 1;
      context.fillStyle = options.colour(kernel);
      context.fillRect(x, y + 1, wide - (wide > 3 ? 0.6 : 0), LANE - 2);
      if (step === current) {
        context.strokeStyle = style.getPropertyValue("--text");
        context.lineWidth = 2;
        context.strokeRect(x + 1, y + 2, Math.max(1, wide - 2), LANE - 4);
      }
      if (wide > 30) {
        context.globalAlpha = 1;
        // Dark text is read on all colours of kinds, in both themes.
        context.fillStyle = faint ? style.getPropertyValue("--text") : "#10141a";
        context.fillText(shortened(options.name(kernel), (wide - 6) / LETTER), Math.max(x, 0) + 3, y + LANE / 2 + 1);
      }
    }
    context.globalAlpha = 1;
  }

  function stepAt(event: MouseEvent): number {
    const area = canvas.getBoundingClientRect();
    const perPixel = (window.to - window.from) / Math.max(1, area.width);
    const moment = window.from + (event.clientX - area.left) * perPixel;
    const steps = inLane[Math.floor((event.clientY - area.top - AXIS) / LANE)] ?? [];
    let low = 0;
    let high = steps.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (spans.start[steps[middle]!]! <= moment + perPixel) low = middle + 1;
      else high = middle;
    }
    const step = steps[low - 1];
    if (step === undefined) return -1;
    return moment <= spans.start[step]! + spans.duration[step]! + 2 * perPixel ? step : -1;
  }

  function choose(step: number): void {
    current = step;
    const kernel = spans.kernel[step]!;
    const middle = spans.start[step]! + spans.duration[step]! / 2;
    if (middle < window.from || middle > window.to) {
      const half = (window.to - window.from) / 2;
      window.set(middle - half, middle + half);
    }
    canvas.setAttribute("aria-label", `${options.label}: ${options.name(kernel)}, ${seconds(spans.duration[step]! * 1e-6)}`);
    options.chosen(kernel, step);
    draw();
  }

  canvas.addEventListener(
    "wheel",
    (event) => {
      const area = canvas.getBoundingClientRect();
      const moment = window.from + ((event.clientX - area.left) / area.width) * (window.to - window.from);
      if (!event.ctrlKey && !event.shiftKey && Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        const by = (event.deltaX / area.width) * (window.to - window.from);
        window.set(window.from + by, window.to + by);
      } else window.around(moment, event.deltaY > 0 ? 1.25 : 0.8);
      event.preventDefault();
    },
    { passive: false },
  );
  canvas.addEventListener("pointerdown", (event) => {
    moved = false;
    if (event.button === 0) dragged = { x: event.clientX, from: window.from, to: window.to };
  });
  canvas.addEventListener("pointermove", (event) => {
    if (dragged && Math.abs(event.clientX - dragged.x) > 3) {
      moved = true;
      canvas.setPointerCapture(event.pointerId);
      const by = ((event.clientX - dragged.x) / canvas.clientWidth) * (dragged.to - dragged.from);
      window.set(dragged.from - by, dragged.to - by);
      hideTooltip();
      return;
    }
    const step = stepAt(event);
    if (step < 0) hideTooltip();
    else showTooltip({ x: event.clientX, y: event.clientY }, options.hint(spans.kernel[step]!, step));
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => (dragged = null));
  canvas.addEventListener("pointerleave", hideTooltip);
  canvas.addEventListener("dblclick", window.reset);
  canvas.addEventListener("click", (event) => {
    const step = moved ? -1 : stepAt(event);
    if (step >= 0) choose(step);
  });
  canvas.addEventListener("keydown", (event) => {
    const middle = (window.from + window.to) / 2;
    const last = spans.start.length - 1;
    if (event.key === "ArrowRight" && last >= 0) choose(Math.min(last, current + 1));
    else if (event.key === "ArrowLeft" && last >= 0) choose(Math.max(0, current - 1));
    else if (event.key === "+") window.around(middle, 0.6);
    else if (event.key === "-") window.around(middle, 1 / 0.6);
    else if (event.key === "0" || event.key === "Home") window.reset();
    else return;
    event.preventDefault();
  });

  return {
    element,
    mark(kernel) {
      marked = kernel;
      if (kernel === null || spans.kernel[current] !== kernel) current = -1;
      draw();
    },
  };
}

function byLane(spans: Spans, lanes: number): number[][] {
  const found: number[][] = Array.from({ length: lanes }, () => []);
  spans.lane.forEach((lane, step) => found[lane]?.push(step));
  return found;
}

function shortened(text: string, letters: number): string {
  return text.length <= letters ? text : `${text.slice(0, Math.max(1, Math.floor(letters) - 1))}…`;
}
