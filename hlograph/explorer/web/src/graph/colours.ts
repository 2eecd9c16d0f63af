/** Colours of instructions: by the kind of their opcode, or by a number. */

import { amount, seconds } from "../parts/numbers";
import type { Id, ModuleGraph } from "./module";

export interface Colouring {
  readonly name: string;
  readonly title: string;
  readonly palette: readonly string[];
  /** Place of each instruction's colour in the palette. */
  readonly places: Uint8Array;
  /** Colours and what they mean. */
  readonly legend: readonly { colour: string; text: string }[];
  /** The number of an instruction, as text; empty without one. */
  valueOf(node: Id): string;
}

/** Kinds of opcodes; those that no kind names are elementwise. Both themes can show the colours. */
const KINDS: readonly { title: string; colour: string; opcodes: readonly string[] }[] = [
  { title: "elementwise", colour: "#4e8fd0", opcodes: [] },
  {
    title: "exp, tanh and the like",
    colour: "#8f6fd6",
    opcodes: "acos acosh asin asinh atan2 atanh cbrt cosine cosh erf exponential exponential-minus-one log log-plus-one logistic power rsqrt sine sinh sqrt tan tanh".split(" "),
  },
  { title: "dot, convolution", colour: "#d9534a", opcodes: ["dot", "convolution", "ragged-dot", "scaled-dot", "cholesky", "triangular-solve", "fft"] },
  { title: "reduce, sort", colour: "#d98a1f", opcodes: ["reduce", "reduce-window", "select-and-scatter", "sort", "topk", "map"] },
  {
    title: "moves data",
    colour: "#3f9d6b",
    opcodes: "bitcast bitcast-convert broadcast concatenate copy copy-done copy-start dynamic-reshape dynamic-slice dynamic-update-slice gather iota pad reshape reverse scatter slice transpose".split(" "),
  },
  { title: "fusion, call, loop", colour: "#c45a9c", opcodes: ["fusion", "call", "while", "conditional", "custom-call", "async-start", "async-update", "async-done"] },
  {
    title: "between devices",
    colour: "#2b9aa8",
    opcodes: "all-gather all-gather-done all-gather-start all-reduce all-reduce-done all-reduce-start all-to-all collective-broadcast collective-permute collective-permute-done collective-permute-start infeed outfeed partition-id ragged-all-to-all recv recv-done reduce-scatter replica-id send send-done".split(" "),
  },
  { title: "parameter", colour: "#7c8794", opcodes: ["parameter"] },
  { title: "constant, tuple", colour: "#a8a294", opcodes: ["constant", "tuple", "get-tuple-element", "opt-barrier", "after-all", "add-dependency"] },
];

/** From little to much; readable without seeing red and green apart. */
const SCALE = ["#3b4a8f", "#2f6d9b", "#2b8f93", "#3fae78", "#84c454", "#d3cf3a", "#f2a52c", "#e8663c"];
const NONE = "#8a8f98";

/** Returns all ways to colour a module. */
export function colourings(module: ModuleGraph): Colouring[] {
  return [byOpcode(module), ...module.numbers.map((_, i) => byNumber(module, i))];
}

function byOpcode(module: ModuleGraph): Colouring {
  const kindOf = new Map<string, number>();
  KINDS.forEach((kind, i) => kind.opcodes.forEach((opcode) => kindOf.set(opcode, i)));
  const places = new Uint8Array(module.size);
  const used = new Set<number>();
  for (let node = 0; node < module.size; node++) {
    const kind = kindOf.get(module.opcode(node)) ?? 0;
    places[node] = kind;
    used.add(kind);
  }
  return {
    name: "opcode",
    title: "Opcode",
    palette: KINDS.map((kind) => kind.colour),
    places,
    legend: KINDS.filter((_, i) => used.has(i)).map(({ colour, title }) => ({ colour, text: title })),
    valueOf: () => "",
  };
}

function byNumber(module: ModuleGraph, at: number): Colouring {
  const { name, title, unit, values } = module.numbers[at]!;
  const show = (value: number) => (unit === "s" ? seconds(value) : amount(value, unit));
  let least = Infinity;
  let most = 0;
  for (const value of values) {
    if (value === null || value <= 0) continue;
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  const range = Math.log(most / least) || 1;
  const step = (value: number) => Math.min(SCALE.length - 1, Math.floor((Math.log(value / least) / range) * SCALE.length));
  const places = new Uint8Array(module.size);
  values.forEach((value, node) => {
    places[node] = value === null || value <= 0 ? 0 : 1 + step(value);
  });
  const from = (i: number) => show(least * Math.exp((range * i) / SCALE.length));
  const steps = most > 0 ? SCALE.map((colour, i) => ({ colour, text: `from ${from(i)}` })) : [];
  return {
    name,
    title,
    palette: [NONE, ...SCALE],
    places,
    legend: [{ colour: NONE, text: "none" }, ...steps],
    valueOf(node) {
      const value = values[node];
      return value === null || value === undefined ? "" : show(value);
    },
  };
}
