/** What a step changed: the graph before and after, side by side, and the text diff. */

import { el, fill } from "../parts/dom";
import { type Mark, neighbourhood } from "../parts/neighbourhood";
import { count, counted } from "../parts/numbers";
import { type TextLine, textDiff } from "../parts/textdiff";
import type { ChangedInstruction, Difference, DiffLine, Region } from "./data";
import { drawnNode, edgesAmong } from "./picture";

interface Line extends TextLine {
  readonly before: number;
  readonly after: number;
}

type Side = "before" | "after";

export interface DifferenceView {
  readonly element: HTMLElement;
  /** Shows a difference at one of its regions. */
  show(difference: Difference, region: number): Promise<void>;
  /** Shows a message instead. */
  say(message: string): void;
}

export function differenceView(options: {
  /** Called when another region is looked at. */
  region(number: number): void;
}): DifferenceView {
  let shown: Difference | null = null;
  let at = 0;
  let chosen: { side: Side; id: number } | null = null;
  const pictures = {
    before: picture("before", "Instructions before the step"),
    after: picture("after", "Instructions after the step"),
  };
  const nothing = {
    before: el("p", { class: "placeholder note", text: "Nothing of this was there before." }),
    after: el("p", { class: "placeholder note", text: "Nothing of this is left." }),
  };
  const text = textDiff<Line>({
    label: "Text diff",
    chosen: (line) => void chooseLine(line),
  });
  const regions = el("select", { "aria-label": "Change", onchange: () => go(regions.selectedIndex) });
  const back = el("button", { type: "button", text: "‹", "aria-label": "Previous change", onclick: () => go(at - 1) });
  const on = el("button", { type: "button", text: "›", "aria-label": "Next change", onclick: () => go(at + 1) });
  const note = el("span", { class: "note" });
  const message = el("p", { class: "placeholder note", hidden: true });
  const panes = el(
    "div",
    { class: "difference-panes" },
    pane("Before", pictures.before.element, nothing.before),
    pane("After", pictures.after.element, nothing.after),
    pane("Text", text.element),
  );
  const toolbar = el("div", { class: "toolbar" }, back, regions, on, note, el("span", { class: "space" }), legend());
  const element = el("div", { class: "difference" }, toolbar, panes, message);

  function picture(side: Side, label: string) {
    return neighbourhood({ label, chosen: (id) => void choose(side, Number(id)) });
  }

  async function show(difference: Difference, region: number): Promise<void> {
    hide(false);
    shown = difference;
    fill(
      regions,
      ...difference.regions.map((each, i) =>
        el("option", { value: String(i), text: `${i + 1} of ${difference.regions.length}: ${counted(each.changes, "change")} in ${each.computation}` }),
      ),
    );
    note.textContent =
      difference.left_out > 0 ? `${count(difference.left_out)} more changes are not in the pages` : "";
    text.show(
      difference.hunks.map((hunk) => ({ title: hunk.computation, lines: hunk.lines.map(lineOf) })),
    );
    await lookAt(region);
  }

  function lineOf([sign, before, after]: DiffLine): Line {
    const row = after >= 0 ? shown!.after[after] : shown!.before[before];
    return { sign, before, after, text: row?.line ?? "" };
  }

  function go(region: number): void {
    options.region(region);
    void lookAt(region);
  }

  async function lookAt(region: number): Promise<void> {
    if (!shown) return;
    at = Math.min(Math.max(region, 0), shown.regions.length - 1);
    chosen = null;
    regions.selectedIndex = at;
    back.disabled = at <= 0;
    on.disabled = at >= shown.regions.length - 1;
    const here = shown.regions[at];
    if (!here) return;
    const lines = { before: new Set(changes("before", here)), after: new Set(changes("after", here)) };
    text.mark((line) => line.sign !== " " && (lines.before.has(line.before) || lines.after.has(line.after)));
    await draw(here);
  }

  function changes(side: Side, region: Region): number[] {
    return region[side].filter((id) => ["added", "removed", "changed"].includes(shown![side][id]!.mark));
  }

  async function draw(region: Region): Promise<void> {
    await Promise.all(
      (["before", "after"] as const).map((side) => {
        const table = shown![side];
        const ids = region[side];
        pictures[side].element.hidden = ids.length === 0;
        nothing[side].hidden = ids.length > 0;
        if (ids.length === 0) return Promise.resolve();
        return pictures[side].show({
          nodes: ids.map((id) => drawnNode(table[id]!, id, { marks: marksOf(side, id, table[id]!) })),
          edges: edgesAmong(table, ids, (from, to) => edgeMarks(side, from, to)),
        });
      }),
    );
  }

  function marksOf(side: Side, id: number, row: ChangedInstruction): Mark[] {
    const marks: Mark[] = [];
    if (row.mark === "added" || row.mark === "removed" || row.mark === "changed") marks.push(row.mark);
    if (chosen && (chosen.side === side ? chosen.id === id : row.match === chosen.id)) marks.push("focus");
    return marks;
  }

  /** An edge between two instructions of both states may itself be new, or gone. */
  function edgeMarks(side: Side, from: number, to: number): { marks: Mark[] } {
    const other = shown![side === "before" ? "after" : "before"];
    const [source, target] = [shown![side][from]!, shown![side][to]!];
    const kept = target.match >= 0 && source.match >= 0 && other[target.match]!.operands.includes(source.match);
    return { marks: kept ? [] : [side === "before" ? "removed" : "added"] };
  }

  /** Marks an instruction on both sides and in the text. */
  async function choose(side: Side, id: number): Promise<void> {
    chosen = { side, id };
    const match = shown![side][id]!.match;
    const ids = side === "before" ? { before: id, after: match } : { before: match, after: id };
    text.mark((line) => (ids.before >= 0 && line.before === ids.before) || (ids.after >= 0 && line.after === ids.after));
    await draw(shown!.regions[at]!);
  }

  /** Goes to the region of a line, and marks its instruction. */
  async function chooseLine(line: Line): Promise<void> {
    const side: Side = line.sign === "-" ? "before" : "after";
    const id = line[side];
    const found = shown!.regions.findIndex((region) => region[side].includes(id));
    if (found < 0) return;
    if (!shown!.regions[at]![side].includes(id)) {
      options.region(found);
      await lookAt(found);
    }
    await choose(side, id);
  }

  function hide(hidden: boolean): void {
    panes.hidden = toolbar.hidden = hidden;
    message.hidden = !hidden;
  }

  return {
    element,
    show,
    say(words) {
      shown = null;
      message.textContent = words;
      hide(true);
    },
  };
}

function pane(title: string, ...content: HTMLElement[]): HTMLElement {
  return el("section", { class: "pane", "aria-label": title }, el("h3", { class: "pane-title", text: title }), ...content);
}

function legend(): HTMLElement {
  return el(
    "ul",
    { class: "legend", "aria-label": "Marks" },
    ...(["added", "removed", "changed"] as const).map((mark) =>
      el("li", {}, el("span", { class: `swatch ${mark}` }), mark),
    ),
  );
}
