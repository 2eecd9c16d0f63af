/** The decisions of a plan, and what each brings. */

import { barScale, intervalBar, intervalText, type BarScale, type Interval } from "../parts/bars";
import { type Child, el, fill } from "../parts/dom";
import { count, counted } from "../parts/numbers";
import { table } from "../parts/table";
import type { Site } from "../site";
import type { Brought, DecisionData, SpeedPage } from "./data";

interface Row {
  /** Number of the decision; null of a row about the whole plan. */
  readonly number: number | null;
  readonly kind: string;
  readonly what: string;
  readonly places: readonly string[];
  brought: Brought | null;
}

export function decisions(page: SpeedPage, site: Site): HTMLElement {
  const rows: Row[] = [...wholeRows(page), ...page.decisions.map(decisionRow)];
  const queries = site.live?.queries.includes(page.queries.decision) ? page.queries : null;
  const waiting = new Set<Row>();
  let scale: BarScale = barScale([], 1);
  let failed = "";
  const note = el("p", { class: "note" });
  const shown = table<Row>(
    [
      { title: "kind", cell: (row) => row.kind, key: (row) => row.kind },
      { title: "decision", cell: what, key: (row) => row.what },
      { title: "", cell: (row) => bar(row) },
      { title: "times as fast with it", right: true, cell: brought, key: (row) => row.brought?.ratio ?? 0, hint: "The plan without the decision / the plan, runs in turns: above 1, the decision makes it faster" },
      { title: "", cell: button },
    ],
    rows,
    { caption: "Decisions of the plan" },
  );
  const all = el("button", { type: "button", text: "Measure all", onclick: () => void measureAll() });

  function what(row: Row): Child {
    const text = el("span", { class: "mono", text: row.what });
    if (row.places.length < 2) return text;
    return el(
      "details",
      {},
      el("summary", {}, text, el("span", { class: "note", text: ` at ${counted(row.places.length, "place")}` })),
      el("ul", { class: "places mono" }, ...row.places.slice(0, 200).map((place) => el("li", { text: place }))),
      row.places.length > 200 ? el("p", { class: "note", text: `and ${count(row.places.length - 200)} more` }) : null,
    );
  }

  function bar(row: Row): Child {
    const interval = intervalOf(row.brought);
    return interval ? intervalBar(interval, scale, 180) : null;
  }

  function brought(row: Row): Child {
    const found = row.brought;
    if (waiting.has(row)) return el("span", { class: "note", text: "measuring …" });
    if (!found) return el("span", { class: "note", text: "not measured" });
    if (found.error) return el("span", { class: "note reason", text: `not measured: ${found.error}` });
    if (found.same_code) return el("span", { class: "note", text: "nothing: the same code without it" });
    const interval = intervalOf(found);
    return el("span", {}, el("span", { class: "nowrap", text: interval ? intervalText(interval) : "" }), found.note ? el("div", { class: "note", text: found.note }) : null);
  }

  function button(row: Row): Child {
    if (!queries || row.number === null) return null;
    return el("button", {
      type: "button",
      text: row.brought ? "Again" : "Measure",
      "aria-label": `Measure the plan without ${row.kind} ${row.what}`,
      disabled: waiting.size > 0,
      onclick: () => void measure([row]),
    });
  }

  async function measureAll(): Promise<void> {
    if (!queries) return;
    const whole = rows.filter((row) => row.number === null);
    for (const row of whole) waiting.add(row);
    draw();
    try {
      const answer = (await site.live!.ask(queries.whole, { about: queries.about })) as Pick<SpeedPage, "whole" | "control">;
      page.whole = answer.whole;
      page.control = answer.control;
      const [first, second] = whole;
      if (first) first.brought = answer.whole;
      if (second) second.brought = answer.control;
    } catch (error) {
      failed = error instanceof Error ? error.message : String(error);
    }
    for (const row of whole) waiting.delete(row);
    await measure(rows.filter((row) => row.number !== null));
  }

  async function measure(chosen: readonly Row[]): Promise<void> {
    if (!queries) return;
    for (const row of chosen) {
      waiting.add(row);
      draw();
      try {
        row.brought = (await site.live!.ask(queries.decision, { about: queries.about, number: row.number })) as Brought;
        page.decisions[row.number!]!.brought = row.brought;
        site.say(`measured: ${row.kind} ${row.what}`);
      } catch (error) {
        failed = error instanceof Error ? error.message : String(error);
      }
      waiting.delete(row);
    }
    draw();
  }

  function draw(): void {
    const known = rows.map((row) => intervalOf(row.brought)).filter((one) => one !== null);
    scale = barScale(known, 1);
    shown.show(rows);
    all.disabled = waiting.size > 0;
    const measured = rows.some((row) => row.brought);
    fill(
      note,
      failed ? el("span", { class: "error", text: `${failed} ` }) : null,
      measured
        ? "The plan without the decision beside the plan: medians of ratios, pair by pair, with their 95 % intervals. Decisions that work only together are counted in each of their rows."
        : queries
          ? "What a decision brings is measured on request: the plan in turns with itself without the decision."
          : "What the decisions bring was not measured: hlograph explore --measure does it.",
    );
  }

  draw();
  return el(
    "section",
    { class: "speed-decisions", "aria-label": "Decisions" },
    el("div", { class: "toolbar" }, el("h2", { text: "Decisions" }), queries ? all : null),
    note,
    shown.element,
  );
}

function wholeRows(page: SpeedPage): Row[] {
  return [
    { number: null, kind: "", what: "the whole plan, beside jaxlib's default", places: [], brought: page.whole },
    { number: null, kind: "", what: "control: the plan compiled again", places: [], brought: page.control },
  ];
}

function decisionRow(one: DecisionData, number: number): Row {
  const what = one.value === "" ? one.name : `${one.name} = ${one.value}`;
  return { number, kind: one.kind, what, places: one.places, brought: one.brought };
}

function intervalOf(brought: Brought | null): Interval | null {
  if (!brought || brought.error || brought.same_code || brought.ratio === undefined) return null;
  return { value: brought.ratio, low: brought.low ?? brought.ratio, high: brought.high ?? brought.ratio };
}
