/** A list of steps with a slider, one of which is chosen. */

import { type Child, el } from "../parts/dom";
import { count, seconds } from "../parts/numbers";
import { type Column, table } from "../parts/table";
import type { Step } from "./data";

export interface StepRow {
  /** Number of the step, from 1; 0 is the start. */
  readonly number: number;
  readonly step: Step;
}

export interface StepList {
  readonly element: HTMLElement;
  /** Shows other steps. */
  show(steps: readonly Step[], start: number): void;
  /** Marks a step as chosen. */
  mark(number: number): void;
}

export function stepList(options: {
  readonly caption: string;
  /** Columns in place of time and effect. */
  readonly columns?: readonly Column<StepRow>[];
  chosen(number: number): void;
}): StepList {
  let rows: StepRow[] = [];
  let before = 0;
  let current = 0;
  const columns: Column<StepRow>[] = [
    { title: "#", cell: (row) => row.number, key: (row) => row.number, right: true },
    { title: "Step", cell: (row) => nameOf(row.step), key: (row) => row.step.name },
    { title: "Instructions", cell: (row) => sizeOf(row), key: (row) => row.step.op_count, right: true },
    ...(options.columns ?? TIME_AND_EFFECT),
  ];
  const list = table<StepRow>(columns, [], {
    caption: options.caption,
    chosen: (row) => options.chosen(row.number),
    classOf: (row) => (row.step.error ? "failed" : row.step.changed ? "" : "no-op"),
  });
  const slider = el("input", {
    type: "range",
    class: "slider",
    min: "1",
    "aria-label": "Step",
    oninput: () => options.chosen(Number(slider.value)),
  });
  const place = el("span", { class: "slider-place mono" });
  const only = el("input", { type: "checkbox", onchange: () => draw() });
  const element = el(
    "div",
    { class: "step-list" },
    el("div", { class: "slider-row" }, slider, place),
    el("label", { class: "only" }, only, "Only steps that changed something"),
    list.element,
  );

  /** Instructions after a step, with the change that it made. */
  function sizeOf(row: StepRow): Child {
    const last = row.number > 1 ? rows[row.number - 2]!.step.op_count : before;
    const change = row.step.op_count - last;
    if (change === 0) return count(row.step.op_count);
    const sign = change > 0 ? "+" : "−";
    return el(
      "span",
      {},
      el("span", { class: change > 0 ? "more" : "less", text: `${sign}${count(Math.abs(change))} ` }),
      count(row.step.op_count),
    );
  }

  function draw(): void {
    list.show(only.checked ? rows.filter((row) => row.step.changed) : rows);
    list.mark(rows[current - 1] ?? null);
  }

  return {
    element,
    show(steps, start) {
      rows = steps.map((step, i) => ({ number: i + 1, step }));
      before = start;
      slider.max = String(rows.length);
      slider.disabled = rows.length < 2;
      draw();
    },
    mark(number) {
      current = number;
      slider.value = String(number);
      const row = rows[number - 1];
      place.textContent = `${number} / ${rows.length}`;
      slider.setAttribute("aria-valuetext", row ? `${number}: ${row.step.name}${row.step.changed ? "" : ", no effect"}` : "");
      list.mark(row ?? null);
    },
  };
}

const TIME_AND_EFFECT: readonly Column<StepRow>[] = [
  { title: "Time", cell: (row) => seconds(row.step.seconds), key: (row) => row.step.seconds, right: true },
  { title: "Effect", cell: (row) => effect(row.step), key: (row) => row.step.added + row.step.removed + row.step.modified, right: true, hint: "Instructions added, removed and changed" },
];

function nameOf(step: Step): Child {
  return el("span", { class: "mono", text: step.name, title: step.name });
}

function effect(step: Step): Child {
  if (step.error) return el("span", { class: "less", text: "failed", title: step.error });
  if (!step.changed) return el("span", { class: "note", text: "none" });
  const parts = ([["more", "+", step.added], ["less", "−", step.removed], ["other", "~", step.modified]] as const)
    .filter(([, , number]) => number > 0)
    .map(([kind, sign, number]) => el("span", { class: kind, text: `${sign}${short(number)} ` }));
  return el("span", {}, ...parts);
}

function short(number: number): string {
  return number >= 10_000 ? `${Math.round(number / 1000)}k` : count(number);
}

/** Returns what a step did, in words. */
export function summary(step: Step): string {
  if (step.error) return `failed: ${step.error}`;
  if (!step.changed) return "changed nothing";
  const counts = [`${count(step.added)} added`, `${count(step.removed)} removed`, `${count(step.modified)} changed`];
  if (step.renamed > 0) counts.push(`${count(step.renamed)} renamed or moved`);
  return counts.join(", ");
}
