/** The view of a module: tree, neighbourhood, overview, details. */

import { type Colouring, colourings } from "../graph/colours";
import { detailsOf, hintOf } from "../graph/details";
import { type Id, type ModuleData, ModuleGraph } from "../graph/module";
import { sidebar } from "../graph/sidebar";
import { Surroundings } from "../graph/surroundings";
import { el, fill } from "../parts/dom";
import { type DrawnEdge, type DrawnNode, MOST_NODES, neighbourhood } from "../parts/neighbourhood";
import { count, counted, seconds } from "../parts/numbers";
import { overview } from "../parts/overview";
import type { PageData, Site, View } from "../site";

/** Data of the page; hlograph/explorer/graph_pages.py. */
interface GraphPage {
  /** Data file with the module. */
  module: string;
  /** Name of the colours to begin with. */
  colour?: string;
  /** Measured seconds of a run, and what of them is outside of kernels. */
  seconds?: number;
  outside?: number;
  /** Instruction to begin with; by default the root of the entry computation. */
  focus?: string | null;
}

const keys = [
  ["↑ ↓ → ←", "in the tree: move, open, close; in the picture: to the next instruction"],
  ["Enter", "look at an instruction"],
  ["e", "in the picture: show more neighbours of an instruction"],
] as const;

async function show(root: HTMLElement, page: PageData, site: Site): Promise<void> {
  const data = page.data as GraphPage;
  const module = new ModuleGraph((await site.load(data.module)) as ModuleData);
  const ways = colourings(module);
  let colouring: Colouring = ways.find((way) => way.name === data.colour) ?? ways[0]!;
  const colourOf = (node: Id) => colouring.palette[colouring.places[node]!]!;
  const around = new Surroundings(module);

  const side = sidebar(module, colourOf, {
    instruction: choose,
    say: (message) => site.say(message),
  });
  const picture = neighbourhood({
    label: "Instructions around the chosen one",
    chosen: (id) => choose(Number(id)),
    expand: (id) => expand(Number(id)),
  });
  const map = overview({ ...module.overview, titles: module.computationNames }, {
    label: `Overview of all ${count(module.size)} instructions`,
    chosen: choose,
    hint: (node) => hintOf(module, node, ways),
  });
  const details = el("aside", { class: "details", "aria-label": "Details of the instruction", tabindex: "0" });
  const shown = el("span", { class: "note drawn" });
  const run = data.seconds === undefined ? "" : runText(data.seconds, data.outside ?? 0);
  const legend = el("ul", { class: "legend", "aria-label": "Colours" });
  const more = el("button", { type: "button", text: "Expand all", onclick: () => expand(null) });
  const anew = el("button", { type: "button", text: "Only around this", onclick: () => look(around.focus, true) });
  const select = el(
    "select",
    { id: `colour-${page.name}`, onchange: () => recolour(ways[select.selectedIndex]!) },
    ...ways.map((way) =>
      el("option", { value: way.name, text: way.title, selected: way === colouring }),
    ),
  );
  fill(
    root,
    side.element,
    el(
      "div",
      { class: "graph-middle" },
      el(
        "div",
        { class: "toolbar" },
        el("label", { for: select.id, text: "Colour by" }),
        select,
        run ? el("span", { class: "note", text: run }) : null,
        el("span", { class: "space" }),
        shown,
        more,
        anew,
        legend,
      ),
      picture.element,
      map.element,
    ),
    details,
  );

  function recolour(way: Colouring): void {
    colouring = way;
    fill(legend, ...way.legend.map(({ colour, text }) =>
      el("li", {}, el("span", { class: "dot", style: { background: colour } }), text),
    ));
    map.colour(way.palette, way.places);
    side.recolour();
    void draw();
  }

  /** Looks at an instruction, and writes it into the address. */
  function choose(node: Id): void {
    site.select(page.name, module.address(node));
    look(node, !around.has(node));
  }

  function look(node: Id, anew: boolean): void {
    if (anew) around.around(node);
    else around.refocus(node);
    fill(details, ...detailsOf(module, node, ways, (each) => site.link(page.name, module.address(each))));
    details.scrollTop = 0;
    side.mark(node);
    void draw();
  }

  function expand(node: Id | null): void {
    const added = node === null ? around.expandAll() : around.expand(node);
    const none = around.isFull ? `at most ${MOST_NODES} instructions are drawn` : "all neighbours are drawn";
    site.say(added > 0 ? `${counted(added, "instruction")} more` : none);
    void draw();
  }

  function draw(): Promise<void> {
    const nodes = around.nodes;
    shown.textContent = `${nodes.length} of ${count(module.size)} instructions drawn`;
    more.disabled = around.isFull;
    map.select([around.focus, ...nodes.filter((node) => node !== around.focus)]);
    return picture.show({ nodes: nodes.map(drawn), edges: edgesAmong(module, around) });
  }

  function drawn(node: Id): DrawnNode {
    const shape = module.shape(node);
    const title = module.names[node]!;
    const subtitle = `${module.opcode(node)} ${shape.length > 30 ? `${shape.slice(0, 29)}…` : shape}`;
    return {
      id: String(node),
      title: title.length > 34 ? `${title.slice(0, 33)}…` : title,
      subtitle,
      colour: colourOf(node),
      marks: node === around.focus ? ["focus"] : [],
      hidden: around.isFull ? 0 : around.hidden(node).length,
      label: `${title} ${module.opcode(node)} ${shape}`,
      hint: () => hintOf(module, node, ways),
    };
  }

  function follow(selection: string): void {
    const node = selection === "" ? first : module.find(selection);
    if (node === null) {
      site.say(`no instruction is called ${selection}`);
      return;
    }
    look(node, !around.has(node));
  }

  const first = module.find(data.focus ?? "") ?? module.root(module.entry);
  recolour(colouring);
  site.onSelection(page.name, follow);
  follow(site.selection(page.name));
  if (around.nodes.length === 0) look(first, true);
  await draw();
}

/** Returns the edges between shown instructions; operand numbers where there are several. */
function edgesAmong(module: ModuleGraph, around: Surroundings): DrawnEdge[] {
  const edges: DrawnEdge[] = [];
  for (const node of around.nodes) {
    const operands = module.operands(node);
    operands.forEach((operand, i) => {
      if (!around.has(operand)) return;
      const label = operands.length > 1 ? String(i) : undefined;
      edges.push({ from: String(operand), to: String(node), kind: "data", label });
    });
    for (const before of module.controlledBy(node)) {
      if (around.has(before)) edges.push({ from: String(before), to: String(node), kind: "control" });
    }
  }
  return edges;
}

function runText(run: number, outside: number): string {
  return `a run takes ${seconds(run)}, ${Math.round((100 * outside) / run)} % of it outside of kernels`;
}

export const graph: View = { show, keys };
