/** Data of the page of a plan; hlograph/explorer/plan_pages.py. */

import type { Interval } from "../parts/bars";
import type { Spans } from "../parts/timeline";

/** What a decision brings, from runs in turns; or why that is not known. */
export interface Brought extends Partial<Interval> {
  readonly ratio?: number;
  readonly seconds?: number | null;
  readonly other_seconds?: number | null;
  readonly pairs?: number;
  readonly same_code?: boolean;
  readonly note?: string;
  readonly error?: string;
}

export interface DecisionData {
  readonly kind: string;
  readonly name: string;
  readonly value: string;
  readonly places: readonly string[];
  brought: Brought | null;
}

export interface Report {
  readonly program: string;
  readonly fingerprint: string;
  readonly numerics: string;
  readonly method: string;
  readonly summary: readonly string[];
  readonly measured: {
    readonly default_seconds: number;
    readonly seconds: number;
    readonly ratio: number;
    readonly low: number;
    readonly high: number;
    readonly control: number;
    readonly pairs: number;
  } | null;
  readonly machine: string | null;
  readonly here: string;
}

/** Kernels as columns, slowest first. */
export interface Kernels {
  readonly name: readonly string[];
  readonly computation: readonly string[];
  readonly opcode: readonly string[];
  readonly kind: readonly string[];
  readonly calls: readonly number[];
  readonly seconds: readonly number[];
  /** What is predicted without a run; null where nothing is. */
  readonly predicted: readonly (number | null)[];
  readonly shape: readonly string[];
  readonly library: readonly string[];
  readonly op_name: readonly string[];
}

export interface Recorded {
  readonly module: string;
  readonly seconds: number;
  readonly recorded_seconds: number;
  readonly accounted: number;
  readonly compile_seconds: number;
  readonly kernels: Kernels;
  readonly run: Spans & {
    readonly seconds: number;
    readonly left_out: number;
    readonly left_out_seconds: number;
  };
}

export interface Failed {
  readonly error: string;
}

export interface SpeedPage {
  readonly report: Report;
  readonly decisions: readonly DecisionData[];
  /** The whole plan beside the default, and beside itself, measured here. */
  whole: Brought | null;
  control: Brought | null;
  readonly timelines: { readonly default: Recorded | Failed; readonly plan: Recorded | Failed };
  /** Data files with the optimized modules. */
  readonly modules: Readonly<Partial<Record<Version, string>>>;
  /** Names of the queries that measure, and what they are told of which plan it is. */
  readonly queries: { readonly decision: string; readonly whole: string; readonly about: string };
}

export type Version = "default" | "plan";

export const VERSIONS: readonly { readonly name: Version; readonly title: string }[] = [
  { name: "default", title: "jaxlib's default" },
  { name: "plan", title: "with the plan" },
];

export function isRecorded(one: Recorded | Failed): one is Recorded {
  return !("error" in one);
}
