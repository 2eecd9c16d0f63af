/** A module as trees: by computation, by place in the source, by opcode. */

import { count } from "../parts/numbers";
import type { TreeItem } from "../parts/tree";
import type { Id, ModuleGraph } from "./module";

export interface Trees {
  computations(): TreeItem[];
  scopes(): TreeItem[];
  opcodes(): TreeItem[];
  /** Rows of some instructions, such as those that a search found. */
  list(nodes: readonly Id[]): TreeItem[];
}

/** Returns the instruction that a row stands for; null if it stands for several. */
export function instructionOf(item: TreeItem): Id | null {
  const number = /(?:^|:)i(\d+)$/.exec(item.id);
  return number ? Number(number[1]) : null;
}

/** Returns the computation that a row stands for. */
export function computationOf(item: TreeItem): Id | null {
  const number = /(?:^|:)c(\d+)$/.exec(item.id);
  return number ? Number(number[1]) : null;
}

export function trees(module: ModuleGraph, colour: (node: Id) => string): Trees {
  /** A row of an instruction; ids say the way to it, as calls lead to a computation several times. */
  function instruction(node: Id, way: string): TreeItem {
    const id = `${way}:i${node}`;
    const calls = module.calls(node);
    return {
      id,
      label: module.names[node]!,
      note: `${module.opcode(node)} ${module.shape(node)}`,
      colour: () => colour(node),
      children: calls.length > 0 ? () => calls.map((called) => computation(called, id)) : undefined,
    };
  }

  function computation(number: Id, way: string): TreeItem {
    const id = `${way}:c${number}`;
    const [first, end] = module.span(number);
    return {
      id,
      label: module.computationNames[number]!,
      note: `${number === module.entry ? "entry, " : ""}${count(end - first)}`,
      children: () => range(first, end).map((node) => instruction(node, id)),
    };
  }

  return {
    computations() {
      const roots = module.computationNames.map((_, i) => i).filter((i) => module.callers(i).length === 0);
      roots.sort((a, b) => Number(b === module.entry) - Number(a === module.entry) || a - b);
      return roots.map((number) => computation(number, ""));
    },
    scopes: () => scopeItems(module, instruction),
    opcodes() {
      const groups = grouped(range(0, module.size), (node) => module.opcode(node));
      const sorted = [...groups].sort(([a, x], [b, y]) => y.length - x.length || a.localeCompare(b));
      return sorted.map(([opcode, nodes]) => ({
        id: `o${opcode}`,
        label: opcode,
        note: count(nodes.length),
        colour: () => colour(nodes[0]!),
        children: () => nodes.map((node) => instruction(node, `o${opcode}`)),
      }));
    },
    list: (nodes) => nodes.map((node) => instruction(node, "found")),
  };
}

/** Names in the source, as folders: jit(f) / layer / dot_general. */
function scopeItems(module: ModuleGraph, row: (node: Id, way: string) => TreeItem): TreeItem[] {
  function inside(nodes: readonly Id[], way: string): TreeItem[] {
    const depth = way.length;
    const here: Id[] = [];
    const deeper: Id[] = [];
    for (const node of nodes) (module.scope(node).length > depth ? deeper : here).push(node);
    const groups = grouped(deeper, (node) => nextPart(module.scope(node), depth));
    const folders = [...groups].map(([part, members]) => ({
      id: `s${way}${part}`,
      label: part.replace(/\/$/, ""),
      note: count(members.length),
      children: () => inside(members, way + part),
    }));
    return [...folders, ...here.map((node) => row(node, `s${way}`))];
  }
  const named: Id[] = [];
  const nameless: Id[] = [];
  for (let node = 0; node < module.size; node++) (module.scope(node) ? named : nameless).push(node);
  const items = inside(named, "");
  if (nameless.length === 0) return items;
  const rest = () => nameless.map((node) => row(node, "nameless"));
  return [...items, { id: "nameless", label: "(no op_name)", note: count(nameless.length), children: rest }];
}

/** Returns the part of a name from a place up to and with the next slash outside of brackets. */
function nextPart(scope: string, from: number): string {
  let depth = 0;
  for (let i = from; i < scope.length; i++) {
    const letter = scope[i];
    if (letter === "(" || letter === "[") depth++;
    else if (letter === ")" || letter === "]") depth--;
    else if (letter === "/" && depth <= 0) return scope.slice(from, i + 1);
  }
  return scope.slice(from);
}

function grouped(nodes: readonly Id[], key: (node: Id) => string): Map<string, Id[]> {
  const groups = new Map<string, Id[]>();
  for (const node of nodes) {
    const group = groups.get(key(node));
    if (group) group.push(node);
    else groups.set(key(node), [node]);
  }
  return groups;
}

function range(first: number, end: number): number[] {
  return Array.from({ length: end - first }, (_, i) => first + i);
}
