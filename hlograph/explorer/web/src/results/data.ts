/** Data of a page of results; hlograph/explorer/results/tables.py. */

import type { Point } from "../parts/lines";

export type CellData = string | number | null | readonly [number, number, number];

export interface ColumnData {
  readonly name: string;
  readonly kind: "text" | "number" | "count" | "interval" | "program" | "plan";
  readonly hint: string;
}

export interface TableData {
  readonly kind: "table";
  readonly columns: readonly ColumnData[];
  readonly rows: readonly (readonly CellData[])[];
  /** Number of the column that it is sorted by at first, largest first. */
  readonly sort: number | null;
}

export interface BarsData {
  readonly kind: "bars";
  readonly base: number;
  readonly rows: readonly (readonly [string, number | null, number | null, number | null])[];
}

export interface CurvesData {
  readonly kind: "lines";
  readonly x: string;
  readonly y: string;
  readonly steps: boolean;
  readonly lines: Readonly<Record<string, readonly (readonly [number | null, number | null])[]>>;
}

export interface TextData {
  readonly kind: "text";
  readonly text: string;
}

export type PartData = TableData | BarsData | CurvesData | TextData;

export interface SectionData {
  readonly title: string;
  readonly note: string;
  readonly folded: boolean;
  readonly parts: readonly PartData[];
}

export interface ResultsData {
  readonly title: string;
  readonly findings: readonly string[];
  readonly notes: readonly string[];
  readonly made: Readonly<Record<string, string>>;
  readonly sections: readonly SectionData[];
}

/** Data of the page; hlograph/explorer/results_page.py. */
export interface ResultsPage {
  /** Data file with the results. */
  readonly results: string;
  /** Data files of the programs that were written with the page, by their names. */
  readonly programs: Readonly<Record<string, string>>;
  /** Names of the queries that make the pages of programs and of plans. */
  readonly queries: { readonly program: string; readonly plan: string };
}

export function points(line: CurvesData["lines"][string]): Point[] {
  return line.filter((point): point is Point => point[0] !== null && point[1] !== null);
}
