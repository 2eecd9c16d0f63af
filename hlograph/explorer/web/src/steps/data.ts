/** Data of steps, as hlograph/explorer/steps.py and difference.py write it. */

/** One step: a pass, a rewrite or a decision. */
export interface Step {
  readonly name: string;
  readonly seconds: number;
  readonly changed: boolean;
  /** XLA's message if the step failed; else empty. */
  readonly error: string;
  /** Instructions after the step. */
  readonly op_count: number;
  readonly added: number;
  readonly removed: number;
  readonly modified: number;
  readonly renamed: number;
  /** Data file with what changed; null if nothing did. */
  readonly file: string | null;
}

/** One instruction of a table. */
export interface Instruction {
  readonly name: string;
  readonly computation: string;
  readonly opcode: string;
  /** Its line of HLO text. */
  readonly line: string;
  /** Numbers in the same table. */
  readonly operands: readonly number[];
}

export interface ChangedInstruction extends Instruction {
  readonly mark: "added" | "removed" | "changed" | "renamed" | "";
  /** The same instruction in the other table, or -1. */
  readonly match: number;
}

/** Changes that hang together, with what is around them: numbers in both tables. */
export interface Region {
  readonly computation: string;
  readonly changes: number;
  readonly before: readonly number[];
  readonly after: readonly number[];
}

/** A line of the text diff: sign, number before, number after; -1 where there is none. */
export type DiffLine = readonly ["-" | "+" | " ", number, number];

export interface Hunk {
  readonly computation: string;
  readonly lines: readonly DiffLine[];
}

export interface Difference {
  readonly before: readonly ChangedInstruction[];
  readonly after: readonly ChangedInstruction[];
  readonly regions: readonly Region[];
  readonly hunks: readonly Hunk[];
  /** Changes that are not described. */
  readonly left_out: number;
}

/** Returns the shape of an instruction, from its line. */
export function shapeOf(instruction: Instruction): string {
  const rest = instruction.line.slice(instruction.line.indexOf(" = ") + 3);
  const end = rest.indexOf(` ${instruction.opcode}(`);
  return end < 0 ? "" : rest.slice(0, end);
}
