/** Data of a policy's episodes, as hlograph/explorer/policies.py writes it. */

import type { Instruction, Step } from "../steps/data";

/** Data of the page. */
export interface PolicyPage {
  readonly name: string;
  readonly policy: string;
  readonly about: string;
  readonly program: string;
  readonly start_op_count: number;
  /** Data file of the episode that the policy plays by itself. */
  readonly episode: string;
}

export interface Episode {
  /** Actions that were given; the policy took those that follow. */
  readonly first: readonly number[];
  readonly moves: readonly Move[];
  readonly ending: "stop" | "horizon" | "limit";
}

export interface Move {
  /** Numbers of the actions that the lists below are about. */
  readonly actions: readonly number[];
  readonly names: readonly string[];
  readonly facts: readonly Readonly<Record<string, number | null>>[];
  readonly probabilities: readonly number[];
  readonly allowed: readonly boolean[];
  readonly value: number;
  /** Probability of stopping; null for policies that do not stop by themselves. */
  readonly stop: number | null;
  readonly preferred: number;
  readonly action: number;
  readonly reward: number;
  readonly ending: string;
  /** Data file of what the policy saw. */
  readonly state: string;
  readonly step: Step;
}

/** What a policy saw in one state. */
export interface Seen {
  readonly nodes: readonly SeenNode[];
  /** By action and role, numbers of nodes. */
  readonly touched: Readonly<Record<string, Readonly<Record<string, readonly number[]>>>>;
  /** The nodes with the largest weights, the largest first. */
  readonly attended: readonly number[];
  /** From, to, and the weights of the edge in both directions. */
  readonly edges: readonly (readonly [number, number, number, number])[];
}

export interface SeenNode extends Instruction {
  readonly attention?: number;
}

/** Returns the place of an action in the lists of a move. */
export function placeOf(move: Move, action: number): number {
  return move.actions.indexOf(action);
}

/** Returns a probability in percent: 99.5 %. */
export function percent(probability: number): string {
  if (probability > 0 && probability < 0.0005) return "< 0.1 %";
  return `${(100 * probability).toFixed(1)} %`;
}
