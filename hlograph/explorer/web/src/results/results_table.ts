/** A table of results: sortable, with bars in columns of intervals, and a filter by text. */

import { barScale, intervalBar, intervalText, type Interval } from "../parts/bars";
import { type Child, el } from "../parts/dom";
import { count } from "../parts/numbers";
import { type Column, table } from "../parts/table";
import type { CellData, ColumnData, TableData } from "./data";

type Row = readonly CellData[];

export interface ResultsTable {
  readonly element: HTMLElement;
  /** Shows the rows that have all words of a text; returns their number. */
  filter(text: string): number;
}

/** Returns what stands in a cell that names a program or plan. */
export type LinkOf = (kind: "program" | "plan", name: string) => Child;

export function resultsTable(data: TableData, caption: string, linkOf: LinkOf): ResultsTable {
  const columns = data.columns.map((column, i) => columnOf(column, i, data, linkOf));
  const rows = data.sort === null ? data.rows : sorted(data.rows, data.sort);
  const shown = table<Row>(columns, rows, { caption });
  const texts = rows.map((row) => row.map(textOf).join(" ").toLowerCase());
  return {
    element: shown.element,
    filter(text) {
      const words = text.toLowerCase().split(/\s+/).filter(Boolean);
      const found = rows.filter((_, i) => words.every((word) => texts[i]!.includes(word)));
      shown.show(found);
      return found.length;
    },
  };
}

function columnOf(column: ColumnData, at: number, data: TableData, linkOf: LinkOf): Column<Row> {
  const cells = data.rows.map((row) => row[at] ?? null);
  const isText = column.kind === "text" || column.kind === "program" || column.kind === "plan";
  const key = (row: Row) => {
    const cell = row[at] ?? null;
    if (Array.isArray(cell)) return (cell as readonly number[])[0] ?? -Infinity;
    // What was not measured comes last, from the largest on.
    return isText ? String(cell ?? "") : cell === null ? -Infinity : Number(cell);
  };
  const common = { title: column.name, key, ...(column.hint === "" ? {} : { hint: column.hint }) };
  if (column.kind === "interval") {
    const intervals = cells.map(intervalOf).filter((one) => one !== null);
    const scale = barScale(intervals, 1);
    return {
      ...common,
      right: true,
      cell(row) {
        const interval = intervalOf(row[at] ?? null);
        if (!interval) return "";
        return el("span", { class: "interval" }, intervalBar(interval, scale, 90), intervalText(interval));
      },
    };
  }
  if (column.kind === "program" || column.kind === "plan") {
    const kind = column.kind;
    return { ...common, cell: (row) => (row[at] ? linkOf(kind, String(row[at])) : "") };
  }
  if (isText) return { ...common, cell: (row) => longText(String(row[at] ?? "")) };
  const show = column.kind === "count" ? count : threeDigits;
  return { ...common, right: true, cell: (row) => (typeof row[at] === "number" ? show(row[at]) : "") };
}

/** Long texts, such as the decisions of a plan, are shown when they are asked for. */
function longText(text: string): Child {
  const most = 70;
  if (text.length <= most) return text;
  return el("details", {}, el("summary", { text: `${text.slice(0, most)}…` }), el("p", { class: "long", text }));
}

function intervalOf(cell: CellData): Interval | null {
  if (!Array.isArray(cell)) return null;
  const [value, low, high] = cell as readonly [number, number | null, number | null];
  return { value, low: low ?? value, high: high ?? value };
}

function sorted(rows: readonly Row[], at: number): Row[] {
  const value = (row: Row) => {
    const cell = row[at];
    return Array.isArray(cell) ? (cell as readonly number[])[0]! : typeof cell === "number" ? cell : -Infinity;
  };
  return [...rows].sort((a, b) => value(b) - value(a));
}

function threeDigits(value: number): string {
  return Math.abs(value) >= 1000 ? count(Math.round(value)) : String(Number(value.toPrecision(4)));
}

function textOf(cell: CellData): string {
  return cell === null || Array.isArray(cell) ? "" : String(cell);
}
