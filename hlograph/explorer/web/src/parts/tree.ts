/** A collapsible tree of any length: only the rows that are seen are in the page. */

import { el, fill } from "./dom";

/** A row of a tree. Children are asked for when it is opened. */
export interface TreeItem {
  /** Unique in the tree. */
  readonly id: string;
  readonly label: string;
  /** Small text behind the label. */
  readonly note?: string | undefined;
  /** Colour of a mark before the label. */
  readonly colour?: (() => string) | undefined;
  readonly children?: (() => readonly TreeItem[]) | undefined;
}

export interface TreeOptions {
  readonly label: string;
  /** Called with a row that was clicked, or that Enter was pressed on. */
  chosen(item: TreeItem): void;
}

export interface Tree {
  readonly element: HTMLElement;
  /** Shows other rows, collapsed. */
  show(items: readonly TreeItem[]): void;
  /** Opens or closes a row, if it is there. */
  toggle(id: string): void;
  /** Marks the row that is selected, and scrolls to it if it is there. */
  mark(id: string | null): void;
  /** Returns the id of the first row, of those that are open, that fits; the marked one if it does. */
  listed(fits: (item: TreeItem) => boolean): string | null;
  /** Draws the rows again, after colours changed. */
  refresh(): void;
}

interface Row {
  readonly item: TreeItem;
  readonly level: number;
  open: boolean;
}

const HEIGHT = 22;
const AROUND = 10; // rows above and below the window that are drawn as well
let trees = 0;

export function tree(options: TreeOptions): Tree {
  const prefix = `tree-${++trees}`;
  let rows: Row[] = [];
  let current = 0;
  let marked: string | null = null;
  const sheet = el("div", { class: "tree-sheet", role: "none" });
  const element = el(
    "div",
    { class: "tree", role: "tree", tabindex: "0", "aria-label": options.label, onscroll: draw, onkeydown: key },
    sheet,
  );
  new ResizeObserver(draw).observe(element);

  function draw(): void {
    const first = Math.max(0, Math.floor(element.scrollTop / HEIGHT) - AROUND);
    const last = Math.min(rows.length, first + Math.ceil(element.clientHeight / HEIGHT) + 2 * AROUND);
    sheet.style.height = `${rows.length * HEIGHT}px`;
    const seen: HTMLElement[] = [];
    for (let i = first; i < last; i++) seen.push(drawn(rows[i]!, i));
    fill(sheet, ...seen);
    if (rows.length > 0) element.setAttribute("aria-activedescendant", `${prefix}-${current}`);
    else element.removeAttribute("aria-activedescendant");
  }

  function drawn(row: Row, i: number): HTMLElement {
    const { item } = row;
    return el(
      "div",
      {
        class: i === current ? "row current" : "row",
        id: `${prefix}-${i}`,
        role: "treeitem",
        "aria-level": row.level + 1,
        "aria-expanded": item.children ? String(row.open) : null,
        "aria-selected": String(item.id === marked),
        style: { top: `${i * HEIGHT}px`, "padding-left": `${6 + row.level * 14}px` },
        onclick: (event: Event) => {
          const onArrow = (event.target as Element).classList.contains("twist");
          if (onArrow) turn(i);
          else choose(i);
        },
      },
      el("span", { class: "twist", "aria-hidden": "true", text: item.children ? (row.open ? "▾" : "▸") : "" }),
      item.colour ? el("span", { class: "dot", style: { background: item.colour() } }) : null,
      el("span", { class: "row-label", text: item.label }),
      item.note ? el("span", { class: "row-note", text: item.note }) : null,
    );
  }

  function turn(i: number): void {
    const row = rows[i];
    if (!row?.item.children) return;
    if (row.open) {
      let end = i + 1;
      while ((rows[end]?.level ?? -1) > row.level) end++;
      rows = [...rows.slice(0, i + 1), ...rows.slice(end)];
    } else {
      // A spread of fifty thousand arguments would overflow the stack; concat takes any number.
      const inner = row.item.children().map((item) => ({ item, level: row.level + 1, open: false }));
      rows = rows.slice(0, i + 1).concat(inner, rows.slice(i + 1));
    }
    row.open = !row.open;
    current = i;
    draw();
  }

  function choose(i: number): void {
    const row = rows[i];
    if (!row) return;
    current = i;
    marked = row.item.id;
    draw();
    options.chosen(row.item);
  }

  function move(i: number): void {
    current = Math.min(Math.max(i, 0), rows.length - 1);
    const top = current * HEIGHT;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + HEIGHT > element.scrollTop + element.clientHeight) {
      element.scrollTop = top + HEIGHT - element.clientHeight;
    }
    draw();
  }

  function parent(i: number): number {
    const level = rows[i]?.level ?? 0;
    while (i > 0 && (rows[i]?.level ?? 0) >= level) i--;
    return i;
  }

  function key(event: KeyboardEvent): void {
    const row = rows[current];
    if (!row) return;
    const page = Math.max(1, Math.floor(element.clientHeight / HEIGHT) - 1);
    if (event.key === "ArrowDown") move(current + 1);
    else if (event.key === "ArrowUp") move(current - 1);
    else if (event.key === "PageDown") move(current + page);
    else if (event.key === "PageUp") move(current - page);
    else if (event.key === "Home") move(0);
    else if (event.key === "End") move(rows.length - 1);
    else if (event.key === "ArrowRight") row.open || !row.item.children ? move(current + 1) : turn(current);
    else if (event.key === "ArrowLeft") row.open ? turn(current) : move(parent(current));
    else if (event.key === "Enter") choose(current);
    else if (event.key === " ") row.item.children ? turn(current) : choose(current);
    else return;
    event.preventDefault();
  }

  return {
    element,
    show(items) {
      rows = items.map((item) => ({ item, level: 0, open: false }));
      current = 0;
      element.scrollTop = 0;
      draw();
    },
    toggle(id) {
      turn(rows.findIndex((row) => row.item.id === id));
    },
    mark(id) {
      marked = id;
      const at = rows.findIndex((row) => row.item.id === id);
      if (at >= 0) move(at);
      else draw();
    },
    listed(fits) {
      const row = rows.find((each) => each.item.id === marked && fits(each.item));
      return (row ?? rows.find((each) => fits(each.item)))?.item.id ?? null;
    },
    refresh: draw,
  };
}
