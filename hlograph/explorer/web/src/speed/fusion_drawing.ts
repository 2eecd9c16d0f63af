/** A kernel with its neighbours as a picture: fusions and loops are boxes around what is in them. */

import { MOST_NODES, type DrawnBox, type DrawnEdge, type DrawnNode, type Drawing } from "../parts/neighbourhood";
import { seconds } from "../parts/numbers";
import { facts } from "../parts/tooltip";
import { colourOfKind } from "./kinds";
import type { Optimized, Row } from "./optimized";

/** Neighbours of a kernel that are drawn, and instructions of a fusion or loop that are. */
const NEIGHBOURS = 24;
const WITHIN = 90;
const OPENED = ["fusion", "while", "call"];
/** What has no kernel and only passes values on is not drawn. */
const PASSED_ON = ["get-tuple-element", "tuple"];

/** Returns the picture of a kernel, its operands and its users. */
export function fusionDrawing(
  module: Optimized,
  kernel: Row,
  timeOf: (name: string) => number | undefined,
): Drawing {
  const around = neighbours(module, kernel).slice(0, NEIGHBOURS);
  /** Rows that stand for what they call, with the instructions that are drawn for them. */
  const opened = new Set<Row>();
  /** The opened row that calls a computation. */
  const callers = new Map<string, Row>();
  const nodes: DrawnNode[] = [];
  const boxes: DrawnBox[] = [];
  let room = MOST_NODES - around.length - 1;
  for (const row of [kernel, ...around]) {
    if (!open(row)) nodes.push(node(row));
    else {
      boxes.push(box(row));
      nodes.push(...inside(row).map((inner) => node(inner, `box${row}`)));
    }
  }
  return { nodes, edges: edges(), boxes };

  function open(row: Row): boolean {
    const within = module.within(row);
    const size = within.length;
    const shared = within.some((inner) => callers.has(module.computation(inner)));
    if (!OPENED.includes(module.opcode(row)) || size === 0 || size > WITHIN || size > room || shared) return false;
    opened.add(row);
    for (const inner of within) callers.set(module.computation(inner), row);
    room -= size;
    return true;
  }

  /** Instructions of an opened row, and of loops and calls in it; parameters are its operands. */
  function inside(row: Row): Row[] {
    return module
      .within(row)
      .filter((inner) => module.parameter(inner) === null && !PASSED_ON.includes(module.opcode(inner)))
      .flatMap((inner) => (module.opcode(inner) !== "fusion" && open(inner) ? inside(inner) : [inner]));
  }

  function edges(): DrawnEdge[] {
    const drawn = new Map(nodes.map(({ id }) => [id, Number(id)]));
    const found = new Map<string, DrawnEdge>();
    for (const [id, row] of drawn) {
      for (const operand of module.operands(row)) {
        const from = String(standsFor(operand));
        if (drawn.has(from)) found.set(`${from} ${id}`, { from, to: id });
      }
    }
    return [...found.values()];
  }

  /** The instruction that makes the value of a row: of an opened one its root, of an element that. */
  function standsFor(row: Row): Row | null {
    const number = module.parameter(row);
    if (number !== null) {
      const caller = callers.get(module.computation(row));
      if (caller === undefined) return row;
      const given = module.operands(caller)[number];
      return given === undefined ? null : standsFor(given);
    }
    if (module.opcode(row) === "get-tuple-element") return element(row);
    const root = opened.has(row) ? module.root(row) : row;
    return root === null || root === row ? root : standsFor(root);
  }

  function element(row: Row): Row | null {
    const [operand] = module.operands(row);
    const from = operand === undefined ? null : standsFor(operand);
    if (from === null || module.opcode(from) !== "tuple") return from;
    const index = Number(/index=(\d+)/.exec(module.attributes(row))?.[1]);
    const given = module.operands(from)[index];
    return given === undefined ? null : standsFor(given);
  }

  function node(row: Row, parent?: string): DrawnNode {
    const shape = module.shape(row);
    const time = parent === undefined ? timeOf(module.name(row)) : undefined;
    const note = time === undefined ? "" : `, ${seconds(time)}`;
    return {
      id: String(row),
      title: cut(module.name(row), 32),
      subtitle: `${module.opcode(row)} ${cut(shape, 26)}${note}`,
      colour: colourOfKind(module.kind(row)),
      marks: row === kernel ? ["focus"] : [],
      box: parent,
      label: `${module.name(row)}, ${module.opcode(row)} ${shape}`,
      hint: () => instructionFacts(module, row, timeOf),
    };
  }

  function box(row: Row): DrawnBox {
    const time = timeOf(module.name(row));
    const word = row === kernel ? " (chosen)" : "";
    return { id: `box${row}`, title: `${module.name(row)}${word}${time === undefined ? "" : `  ${seconds(time)}`}` };
  }
}

/** Returns operands, then users, of a kernel, through tuples and their elements. */
function neighbours(module: Optimized, kernel: Row): Row[] {
  const found = new Set<Row>();
  const seen = new Set<Row>();
  const follow = (row: Row, next: (row: Row) => readonly Row[]) => {
    if (seen.has(row)) return;
    seen.add(row);
    if (PASSED_ON.includes(module.opcode(row))) for (const one of next(row)) follow(one, next);
    else if (row !== kernel) found.add(row);
  };
  for (const operand of module.operands(kernel)) follow(operand, (row) => module.operands(row));
  seen.clear();
  for (const user of module.users(kernel)) follow(user, (row) => module.users(row));
  return [...found];
}

/** What is known of an instruction. */
export function instructionFacts(
  module: Optimized,
  row: Row,
  timeOf: (name: string) => number | undefined,
): HTMLElement {
  const time = timeOf(module.name(row));
  return facts([
    ["name", module.name(row)],
    ["opcode", module.opcode(row)],
    ["shape", module.shape(row)],
    ["time", time === undefined ? "" : seconds(time)],
    ["kind", module.kind(row)],
    ["in", module.computation(row)],
    ["source", module.scope(row)],
    ["attributes", module.attributes(row)],
  ]);
}

function cut(text: string, letters: number): string {
  return text.length > letters ? `${text.slice(0, letters - 1)}…` : text;
}
