/** Everything that is known of one instruction. */

import { el } from "../parts/dom";
import { counted } from "../parts/numbers";
import { facts } from "../parts/tooltip";
import type { Colouring } from "./colours";
import type { Id, ModuleGraph } from "./module";

/** Links of one list; a constant may have thousands of users. */
const MOST_LINKS = 60;

/** Returns the rows of facts that hover and the panel of details share. */
export function factRows(
  module: ModuleGraph,
  node: Id,
  colourings: readonly Colouring[],
): (readonly [string, string])[] {
  const numbers = colourings.map((each) => [each.title, each.valueOf(node)] as const);
  const { shape, layout } = splitLayout(module.shape(node));
  return [
    ["Opcode", module.opcode(node) + (module.isRoot(node) ? ", root" : "")],
    ["Shape", shape],
    ["Layout", layout],
    ["Attributes", module.attributes(node)],
    ["Computation", module.computationNames[module.computation(node)]!],
    ["Scope", module.scope(node)],
    ["Source", module.source(node)],
    ...numbers,
  ];
}

/** Returns the content of a tooltip. */
export function hintOf(module: ModuleGraph, node: Id, colourings: readonly Colouring[]): HTMLElement {
  return el(
    "div",
    {},
    el("strong", { class: "mono", text: module.names[node]! }),
    facts(factRows(module, node, colourings).map(([name, value]) => [name, shortened(value)] as const)),
  );
}

/** Returns the panel of an instruction, with links to its neighbours. */
export function detailsOf(
  module: ModuleGraph,
  node: Id,
  colourings: readonly Colouring[],
  link: (node: Id) => string,
): HTMLElement[] {
  const called = module.calls(node);
  return [
    el("h2", { class: "mono", text: module.names[node]! }),
    facts(factRows(module, node, colourings)),
    ...list("Operands", "operand", module.operands(node)),
    ...list("Runs after", "predecessor", module.controlledBy(node)),
    ...list("Users", "user", module.usersOf(node)),
    ...list("Roots of what it calls", "root", called.map((each) => module.root(each))),
    ...list("Called by", "caller", module.callers(module.computation(node))),
  ];

  function list(title: string, noun: string, nodes: readonly Id[]): HTMLElement[] {
    if (nodes.length === 0) return [];
    const rest = nodes.length - MOST_LINKS;
    return [
      el("h3", { text: title, title: counted(nodes.length, noun) }, ` ${nodes.length}`),
      el(
        "ul",
        { class: "links" },
        ...nodes.slice(0, MOST_LINKS).map((each) =>
          el(
            "li",
            {},
            el("a", { class: "mono", href: link(each), text: module.names[each]! }),
            el("span", { class: "row-note", text: ` ${module.opcode(each)} ${module.shape(each)}` }),
          ),
        ),
        rest > 0 ? el("li", { class: "row-note", text: `and ${counted(rest, `more ${noun}`)}` }) : null,
      ),
    ];
  }
}

/** Splits the layout from the shape of an array; that of a tuple stays as it is. */
function splitLayout(shape: string): { shape: string; layout: string } {
  const array = /^(\w+\[[^\]]*\])(\{.*\})$/.exec(shape);
  return array ? { shape: array[1]!, layout: array[2]! } : { shape, layout: "" };
}

function shortened(text: string): string {
  return text.length <= 160 ? text : `${text.slice(0, 159)}…`;
}
