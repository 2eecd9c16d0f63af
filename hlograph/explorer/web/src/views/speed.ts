/** The view of a plan: report, decisions, timelines, kernels, and what is within a kernel. */

import { el, fill } from "../parts/dom";
import { neighbourhood } from "../parts/neighbourhood";
import { count, seconds } from "../parts/numbers";
import { timeline, type Timeline } from "../parts/timeline";
import { timeWindow } from "../parts/time_window";
import { facts } from "../parts/tooltip";
import type { PageData, Site, View } from "../site";
import { isRecorded, VERSIONS, type Recorded, type SpeedPage, type Version } from "../speed/data";
import { decisions } from "../speed/decisions";
import { fusionDrawing, instructionFacts } from "../speed/fusion_drawing";
import { kernelTable, type KernelTable } from "../speed/kernel_table";
import { colourOfKind } from "../speed/kinds";
import { kindsTable } from "../speed/kinds_table";
import { Optimized, type OptimizedData } from "../speed/optimized";
import { reportOf } from "../speed/report";

const keys = [
  ["← →", "in a timeline: to the step before or after"],
  ["+ −", "in a timeline: magnify, reduce"],
  ["0", "in a timeline: the whole run"],
  ["Enter", "in a table: look at a kernel"],
] as const;

/** From this distance from 1 on, times of kernels are rough; from this ratio on, runs were slowed. */
const ROUGH = 0.1;
const SLOWER = 1.3;
/** Name of what is not a kernel. */
const OUTSIDE = "outside kernels";

interface Shown {
  readonly recorded: Recorded;
  readonly timeline: Timeline;
  readonly kernels: KernelTable;
  readonly numbers: ReadonlyMap<string, number>;
}

async function show(root: HTMLElement, page: PageData, site: Site): Promise<void> {
  const data = page.data as SpeedPage;
  const recorded = VERSIONS.map(({ name }) => data.timelines[name]).filter(isRecorded);
  const window = timeWindow(Math.max(1, ...recorded.map((one) => lastEnd(one.run))));
  const shown = new Map<Version, Shown>();
  const modules = new Map<Version, Promise<Optimized>>();
  const picture = neighbourhood({ label: "The kernel and its neighbours", chosen: chooseInPicture });
  const about = el("div", { class: "kernel-facts" });
  const search = el("input", {
    type: "search",
    placeholder: "Filter the kernels",
    "aria-label": "Filter the kernels",
    oninput: () => {
      for (const one of shown.values()) one.kernels.filter(search.value);
    },
  });
  let drawn: { version: Version; module: Optimized } | null = null;
  let turn = 0;

  for (const { name, title } of VERSIONS) {
    const one = data.timelines[name];
    if (isRecorded(one)) shown.set(name, shownRun(name, title, one));
  }
  fill(
    root,
    el("div", { class: "speed-top" }, reportOf(data.report), decisions(data, site)),
    el(
      "section",
      { class: "speed-timelines", "aria-label": "Timelines" },
      el("div", { class: "toolbar" }, el("h2", { text: "One run, kernel by kernel" }), legend(), el("span", { class: "space" }), wholeRun()),
      ...VERSIONS.map(({ name, title }) => run(name, title)),
      remarks(),
    ),
    el(
      "div",
      { class: "speed-bottom" },
      el(
        "section",
        { class: "speed-kernels", "aria-label": "Kernels" },
        el("div", { class: "toolbar" }, el("h2", { text: "By kind" })),
        kindsTable(data),
        el("div", { class: "toolbar" }, el("h2", { text: "Kernels" }), search),
        ...VERSIONS.map(({ name, title }) => {
          const one = shown.get(name);
          return one ? el("div", { class: "kernel-table" }, el("h3", { text: title }), one.kernels.table.element) : null;
        }),
      ),
      el(
        "section",
        { class: "speed-picture", "aria-label": "Within a kernel" },
        el("div", { class: "toolbar" }, el("h2", { text: "Within a kernel" }), el("span", { class: "note", text: "Boxes are fusions and loops" })),
        about,
        picture.element,
      ),
    ),
  );

  function shownRun(version: Version, title: string, one: Recorded): Shown {
    const choose = (kernel: number) => void select(version, one.kernels.name[kernel]!, true);
    return {
      recorded: one,
      numbers: new Map(one.kernels.name.map((name, kernel) => [name, kernel])),
      kernels: kernelTable(one, `Kernels, ${title}`, choose),
      timeline: timeline(one.run, window, {
        label: `Timeline, ${title}`,
        colour: (kernel) => colourOfKind(one.kernels.kind[kernel]!),
        name: (kernel) => one.kernels.name[kernel]!,
        hint: (kernel, span) => kernelFacts(one, kernel, span),
        chosen: choose,
      }),
    };
  }

  function run(version: Version, title: string): HTMLElement {
    const one = data.timelines[version];
    const made = shown.get(version);
    if (!isRecorded(one) || !made) {
      const reason = isRecorded(one) ? "" : one.error;
      return el("div", { class: "run" }, el("h3", { text: title }), el("p", { class: "error", text: reason }));
    }
    const left = one.run.left_out;
    const omitted = left > 0 ? `; ${count(left)} short steps are left out, ${seconds(one.run.left_out_seconds)} of the run` : "";
    return el(
      "div",
      { class: "run" },
      el(
        "h3",
        {},
        title,
        el("span", { class: "note", text: ` ${seconds(one.seconds)} a run; recorded in ${seconds(one.run.seconds)}, ${count(one.run.start.length)} steps${omitted}` }),
      ),
      made.timeline.element,
    );
  }

  function legend(): HTMLElement {
    const kinds = new Set(recorded.flatMap((one) => [...one.kernels.kind]));
    const items = [...kinds].map((kind) => el("li", {}, el("span", { class: "dot", style: { background: colourOfKind(kind) } }), kind));
    return el("ul", { class: "legend", "aria-label": "Kinds of kernels" }, ...items);
  }

  function wholeRun(): HTMLElement {
    return el("button", { type: "button", text: "Whole run", onclick: window.reset });
  }

  function remarks(): HTMLElement | null {
    const rough = recorded.filter((one) => Math.abs(one.accounted - 1) > ROUGH);
    const longer = recorded.filter((one) => one.run.seconds > SLOWER * one.seconds);
    const values = rough.map((one) => one.accounted.toFixed(2)).join(" and ");
    const texts = [
      rough.length > 0
        ? `The times of kernels explain ${values} of a run's time, and 1 is all of it: the machine was busy, and they are rough.`
        : "",
      longer.length > 0
        ? "Under the profiler a run takes longer than without it, most where steps are short: gaps between such steps are the profiler's. The tables have times without it."
        : "",
    ].filter(Boolean);
    return texts.length > 0 ? el("div", { class: "warning" }, ...texts.map((text) => el("p", { text }))) : null;
  }

  async function select(version: Version, name: string, written: boolean): Promise<void> {
    const mine = ++turn;
    if (written) site.select(page.name, `${version}/${name}`);
    const top = root.scrollTop;
    for (const [other, one] of shown) {
      const kernel = other === version ? (one.numbers.get(name) ?? null) : null;
      one.timeline.mark(kernel);
      one.kernels.table.mark(kernel === null ? null : one.kernels.rows[kernel]!);
    }
    root.scrollTop = top; // the tables scroll to the kernel, and the page stays
    const module = await moduleOf(version);
    if (mine !== turn) return;
    const row = module?.find(name) ?? null;
    if (!module || row === null) {
      const outside = "Time of a run in which no kernel runs: it is started, and its results are handed over.";
      fill(about, el("p", { class: "note", text: name === OUTSIDE ? outside : `no kernel is called ${name}` }));
      drawn = null;
      await picture.show({ nodes: [], edges: [] });
      return;
    }
    drawn = { version, module };
    fill(about, instructionFacts(module, row, timeIn(version)));
    await picture.show(fusionDrawing(module, row, timeIn(version)));
  }

  function chooseInPicture(id: string): void {
    if (!drawn) return;
    const { version, module } = drawn;
    const row = Number(id);
    // Kernels are looked at; what is within one is described.
    if (shown.get(version)?.numbers.has(module.name(row))) void select(version, module.name(row), true);
    else fill(about, instructionFacts(module, row, timeIn(version)));
  }

  function timeIn(version: Version): (name: string) => number | undefined {
    const one = shown.get(version);
    return (name) => {
      const kernel = one?.numbers.get(name);
      return kernel === undefined ? undefined : one?.recorded.kernels.seconds[kernel];
    };
  }

  function moduleOf(version: Version): Promise<Optimized> | null {
    const file = data.modules[version];
    if (file === undefined) return null;
    const known = modules.get(version) ?? site.load(file).then((read) => new Optimized(read as OptimizedData));
    modules.set(version, known);
    return known;
  }

  async function follow(selection: string): Promise<void> {
    const [version = "", ...rest] = selection.split("/");
    const name = rest.join("/");
    if (name !== "") await select(version === "default" ? "default" : "plan", name, false);
    else await selectSlowest();
  }

  /** Looks at the slowest kernel at first, so that there is something to see. */
  async function selectSlowest(): Promise<void> {
    const version = shown.has("plan") ? "plan" : "default";
    const kernels = shown.get(version)?.recorded.kernels;
    const first = kernels?.name.find((_, i) => kernels.kind[i] !== OUTSIDE);
    if (first !== undefined) await select(version, first, false);
  }

  site.onSelection(page.name, (selection) => void follow(selection));
  await follow(site.selection(page.name));
}

/** Returns when the last step of a run ends; what comes after it is outside of kernels. */
function lastEnd(run: Recorded["run"]): number {
  return run.start.reduce((most, start, i) => Math.max(most, start + run.duration[i]!), 0);
}

function kernelFacts(recorded: Recorded, kernel: number, span: number): HTMLElement {
  const { kernels, run } = recorded;
  return facts([
    ["kernel", kernels.name[kernel]!],
    ["this step", `${seconds(run.duration[span]! * 1e-6)}, from ${seconds(run.start[span]! * 1e-6)}`],
    ["in a run", `${seconds(kernels.seconds[kernel]!)} in ${count(Math.round(kernels.calls[kernel]!))} calls, ${((100 * kernels.seconds[kernel]!) / recorded.seconds).toFixed(1)} %`],
    ["kind", kernels.kind[kernel]!],
    ["library", kernels.library[kernel] === "none" ? "" : kernels.library[kernel]!],
    ["shape", kernels.shape[kernel]!],
    ["source", kernels.op_name[kernel]!],
  ]);
}

export const speed: View = { show, keys };
