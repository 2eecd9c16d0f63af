/** A table that sorts by a click on, or Enter in, the head of a column. */

import { type Child, el, fill } from "./dom";

export interface Column<Row> {
  readonly title: string;
  /** Content of a cell; text or elements. */
  cell(row: Row): Child;
  /** What rows are sorted by; without it the column does not sort. */
  key?(row: Row): number | string;
  /** True for numbers, which stand at the right. */
  readonly right?: boolean;
  /** Says more of the column, on hover. */
  readonly hint?: string;
}

export interface TableOptions<Row> {
  readonly caption: string;
  /** Called at a click or Enter on a row, which then can be focused. */
  chosen?(row: Row): void;
  /** Classes of a row. */
  classOf?(row: Row): string;
}

export interface Table<Row> {
  readonly element: HTMLElement;
  /** Shows other rows, sorted as before. */
  show(rows: readonly Row[]): void;
  /** Marks a row as selected, and scrolls to it. */
  mark(row: Row | null): void;
}

export function table<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  options: TableOptions<Row>,
): Table<Row> {
  let shown = rows;
  let sorted: { column: Column<Row>; falling: boolean } | null = null;
  let marked: Row | null = null;
  let elements = new Map<Row, HTMLTableRowElement>();
  const body = el("tbody");
  const heads = columns.map((column) => head(column));
  const element = el(
    "div",
    { class: "table-scroll", tabindex: "0", role: "region", "aria-label": options.caption },
    el(
      "table",
      { class: "table" },
      el("caption", { class: "hidden", text: options.caption }),
      el("thead", {}, el("tr", {}, ...heads)),
      body,
    ),
  );

  function head(column: Column<Row>): HTMLTableCellElement {
    const cell = el("th", { scope: "col", class: column.right ? "right" : null, title: column.hint });
    if (column.key) cell.append(el("button", { type: "button", text: column.title, onclick: () => sortBy(column) }));
    else cell.append(column.title);
    return cell;
  }

  function sortBy(column: Column<Row>): void {
    const again = sorted?.column === column;
    // Numbers are looked at from the largest.
    sorted = { column, falling: again ? !sorted?.falling : Boolean(column.right) };
    columns.forEach((other, i) => {
      if (other === column) heads[i]?.setAttribute("aria-sort", sorted?.falling ? "descending" : "ascending");
      else heads[i]?.removeAttribute("aria-sort");
    });
    draw();
  }

  function draw(): void {
    const ordered = [...shown];
    const key = sorted?.column.key;
    if (sorted && key) {
      const sign = sorted.falling ? -1 : 1;
      ordered.sort((a, b) => sign * compare(key(a), key(b)));
    }
    elements = new Map(ordered.map((row) => [row, drawn(row)]));
    fill(body, ...elements.values());
  }

  function drawn(row: Row): HTMLTableRowElement {
    const choose = options.chosen;
    const cells = columns.map((column) =>
      el("td", { class: column.right ? "right" : null }, column.cell(row)),
    );
    const line = el(
      "tr",
      {
        class: options.classOf?.(row) || null,
        tabindex: choose ? "0" : null,
        "aria-selected": choose ? String(row === marked) : null,
        onclick: choose ? () => choose(row) : null,
        onkeydown: choose ? (event: KeyboardEvent) => keyOnRow(event, row) : null,
      },
      ...cells,
    );
    return line;
  }

  function keyOnRow(event: KeyboardEvent, row: Row): void {
    const line = event.currentTarget as HTMLElement;
    if (event.target !== line) return;
    if (event.key === "Enter" || event.key === " ") options.chosen?.(row);
    else if (event.key === "ArrowDown") (line.nextElementSibling as HTMLElement | null)?.focus();
    else if (event.key === "ArrowUp") (line.previousElementSibling as HTMLElement | null)?.focus();
    else return;
    event.preventDefault();
  }

  draw();
  return {
    element,
    show(others) {
      shown = others;
      draw();
    },
    mark(row) {
      if (marked !== null) elements.get(marked)?.setAttribute("aria-selected", "false");
      marked = row;
      const line = row === null ? undefined : elements.get(row);
      line?.setAttribute("aria-selected", "true");
      line?.scrollIntoView({ block: "nearest" });
    },
  };
}

function compare(a: number | string, b: number | string): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}
