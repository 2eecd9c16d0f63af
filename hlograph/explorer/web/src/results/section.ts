/** A section of a page of results. */

import { bars } from "../parts/bars";
import { el } from "../parts/dom";
import { lines } from "../parts/lines";
import { points, type BarsData, type CurvesData, type PartData, type SectionData } from "./data";
import { resultsTable, type LinkOf, type ResultsTable } from "./results_table";

/** Lines that are shown at first, of a part that has more. */
const LINES = 12;

export interface Section {
  readonly element: HTMLElement;
  readonly tables: readonly ResultsTable[];
}

export function section(data: SectionData, linkOf: LinkOf): Section {
  const tables: ResultsTable[] = [];
  const elements = () => data.parts.map((part) => element(part));
  const charts = data.parts.length > 1 && data.parts.every((part) => part.kind === "lines");
  const content = el("div", { class: charts ? "section-charts" : "section-parts" });
  const note = data.note === "" ? null : el("p", { class: "note", text: data.note });

  function element(part: PartData): HTMLElement {
    if (part.kind === "table") {
      const made = resultsTable(part, data.title, linkOf);
      tables.push(made);
      return made.element;
    }
    if (part.kind === "bars") return barsOf(part, data.title);
    if (part.kind === "lines") return linesOf(part);
    return el("pre", { class: "mono", tabindex: "0", text: part.text });
  }

  if (!data.folded) {
    content.append(...elements());
    return { element: el("section", { class: "result" }, el("h2", { text: data.title }), note, content), tables };
  }
  let made = false;
  const folded = el(
    "details",
    {
      class: "result",
      ontoggle: () => {
        if (!made) content.append(...elements());
        made = true;
      },
    },
    el("summary", {}, el("h2", { text: data.title })),
    note,
    content,
  );
  return { element: folded, tables };
}

function barsOf(part: BarsData, caption: string): HTMLElement {
  const rows = part.rows.flatMap(([label, value, low, high]) =>
    value === null ? [] : [{ label, interval: { value, low: low ?? value, high: high ?? value } }],
  );
  return bars(rows, part.base, caption);
}

function linesOf(part: CurvesData): HTMLElement {
  const all = Object.entries(part.lines).map(([name, line]) => ({ name, points: points(line) }));
  const hidden = new Set(all.slice(LINES).map(({ name }) => name));
  return lines({ x: part.x, y: part.y, steps: part.steps, lines: all, hidden });
}
