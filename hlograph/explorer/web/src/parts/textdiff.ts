/** A diff of text in pieces, whose lines can be chosen. */

import { el, fill } from "./dom";

export interface TextLine {
  readonly sign: "-" | "+" | " ";
  readonly text: string;
}

export interface TextHunk<Line extends TextLine> {
  readonly title: string;
  readonly lines: readonly Line[];
}

export interface TextDiff<Line extends TextLine> {
  readonly element: HTMLElement;
  show(hunks: readonly TextHunk<Line>[]): void;
  /** Marks some lines, and scrolls to the first of them. */
  mark(isMarked: (line: Line) => boolean): void;
}

const MEANING = { "-": "removed: ", "+": "added: ", " ": "" };

export function textDiff<Line extends TextLine>(options: {
  readonly label: string;
  /** Called with a line that was clicked, or Enter was pressed on. */
  chosen(line: Line): void;
}): TextDiff<Line> {
  const element = el("div", { class: "textdiff", role: "region", "aria-label": options.label, tabindex: "0" });
  const rows = new Map<HTMLElement, Line>();
  let marked: HTMLElement[] = [];
  element.addEventListener("click", choose);
  element.addEventListener("keydown", (event) => {
    const row = (event.target as Element).closest<HTMLElement>(".diff-line");
    if (event.key === "Enter" && row) choose(event);
    else if (event.key === "ArrowDown" && row) focusOn(row, 1);
    else if (event.key === "ArrowUp" && row) focusOn(row, -1);
    else return;
    event.preventDefault();
  });

  function choose(event: Event): void {
    const row = (event.target as Element).closest<HTMLElement>(".diff-line");
    const line = row && rows.get(row);
    if (line) options.chosen(line);
  }

  function focusOn(row: HTMLElement, step: number): void {
    const all = [...rows.keys()];
    all[all.indexOf(row) + step]?.focus();
  }

  function drawn(line: Line): HTMLElement {
    const kind = { "-": "removed", "+": "added", " ": "" }[line.sign];
    const row = el(
      "div",
      { class: `diff-line ${kind}`, tabindex: "-1" },
      el("span", { class: "diff-sign", text: line.sign, "aria-hidden": "true" }),
      el("span", { class: "hidden", text: MEANING[line.sign] }),
      el("span", { class: "diff-text", text: line.text }),
    );
    rows.set(row, line);
    return row;
  }

  return {
    element,
    show(hunks) {
      rows.clear();
      marked = [];
      fill(
        element,
        ...hunks.map((hunk) =>
          el("div", { class: "diff-hunk" }, el("div", { class: "diff-title", text: hunk.title }), ...hunk.lines.map(drawn)),
        ),
      );
      const first = rows.keys().next().value;
      if (first) first.tabIndex = 0;
    },
    mark(isMarked) {
      for (const row of marked) row.classList.remove("marked");
      marked = [...rows].filter(([, line]) => isMarked(line)).map(([row]) => row);
      for (const row of marked) row.classList.add("marked");
      const first = marked[0];
      if (!first) return;
      // Not scrollIntoView, which also scrolls what is around.
      const box = element.getBoundingClientRect();
      const there = first.getBoundingClientRect();
      if (there.top < box.top || there.bottom > box.bottom) {
        element.scrollTop += there.top - box.top - box.height / 4;
      }
    },
  };
}
