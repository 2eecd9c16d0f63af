/** Instructions of a table as nodes and edges of a picture. */

import { el } from "../parts/dom";
import type { DrawnEdge, DrawnNode, Mark } from "../parts/neighbourhood";
import { facts } from "../parts/tooltip";
import { type Instruction, shapeOf } from "./data";

export interface NodeLook {
  readonly marks?: readonly Mark[];
  readonly colour?: string | undefined;
  /** More rows of the tooltip. */
  readonly facts?: readonly (readonly [string, string])[];
}

const LONGEST = 30;

export function drawnNode(instruction: Instruction, id: number, look: NodeLook): DrawnNode {
  const shape = shapeOf(instruction);
  return {
    id: String(id),
    title: shortened(instruction.name),
    subtitle: shortened(`${instruction.opcode} ${shape}`),
    marks: look.marks,
    colour: look.colour,
    label: `${instruction.name}, ${instruction.opcode} ${shape}`,
    hint: () =>
      el(
        "div",
        {},
        el("strong", { class: "mono", text: instruction.name }),
        facts([
          ["Computation", instruction.computation],
          ["Text", instruction.line],
          ...(look.facts ?? []),
        ]),
      ),
  };
}

/** Returns the edges among shown instructions; operand numbers where there are several. */
export function edgesAmong(
  table: readonly Instruction[],
  shown: readonly number[],
  look: (from: number, to: number) => Partial<DrawnEdge> = () => ({}),
): DrawnEdge[] {
  const there = new Set(shown);
  return shown.flatMap((to) => {
    const operands = table[to]!.operands.filter((from) => there.has(from));
    return [...new Set(operands)].map((from) => ({
      from: String(from),
      to: String(to),
      ...look(from, to),
    }));
  });
}

function shortened(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
}
