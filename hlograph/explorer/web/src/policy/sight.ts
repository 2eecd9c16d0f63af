/** What a policy saw: the nodes that it attends to, or those that an action touches. */

import { el } from "../parts/dom";
import { type DrawnEdge, type Mark, MOST_NODES, neighbourhood } from "../parts/neighbourhood";
import { drawnNode, edgesAmong } from "../steps/picture";
import type { Seen } from "./data";

/** Marks of the roles of a node in an action. */
const MARKS: Readonly<Record<string, Mark>> = {
  instruction: "changed",
  other: "changed",
  touched: "changed",
  gone: "removed",
};

/** The most attended nodes that are drawn, each with what is around it. */
const MOST_ATTENDED = 8;
/** Edges with less weight are drawn faintly. */
const FAINT = 0.2;

/** From little to much attention. */
const SCALE = ["#3b4a8f", "#2f6d9b", "#2b8f93", "#3fae78", "#84c454", "#d3cf3a", "#f2a52c", "#e8663c"];

export interface Sight {
  readonly element: HTMLElement;
  /** Shows the nodes that an action touches, or else what the policy attends to. */
  show(seen: Seen, action: number, about: string): Promise<void>;
}

export function sight(): Sight {
  const picture = neighbourhood({ label: "Instructions that the policy saw" });
  const caption = el("p", { class: "note sight-caption" });
  const element = el("div", { class: "sight" }, caption, picture.element);

  return {
    element,
    async show(seen, action, about) {
      const roles = seen.touched[String(action)];
      const chosen = roles ? Object.values(roles).flat() : seen.attended.slice(0, MOST_ATTENDED);
      caption.textContent = `${about} ${captionOf(seen, roles !== undefined)}`;
      const shown = withNeighbours(seen, chosen);
      const marks = roles ? marksOf(roles) : new Map(chosen.map((node) => [node, ["focus"] as Mark[]]));
      const weights = new Map(seen.edges.map(([from, to, forward, backward]) => [`${from} ${to}`, [forward, backward] as const]));
      const most = Math.max(...seen.nodes.map((node) => node.attention ?? 0), 1e-9);
      const look = (from: number, to: number): Partial<DrawnEdge> => {
        const found = weights.get(`${from} ${to}`);
        if (!found) return {};
        const weight = Math.max(...found);
        return { label: weight.toFixed(2), marks: weight < FAINT ? ["faint"] : [] };
      };
      await picture.show({
        nodes: shown.map((id) => {
          const node = seen.nodes[id]!;
          const attention = node.attention;
          const facts = attention === undefined ? [] : [["Attention", `${(100 * attention).toPrecision(3)} % of the graph's`] as const];
          const colour = attention === undefined ? undefined : SCALE[Math.min(SCALE.length - 1, Math.floor((SCALE.length * attention) / most))];
          return drawnNode(node, id, { marks: marks.get(id) ?? [], facts, colour });
        }),
        edges: edgesAmong(seen.nodes, shown, look),
      });
    },
  };
}

function captionOf(seen: Seen, touches: boolean): string {
  if (touches) return "What it touches, and what is around it; dashed is what it removes.";
  if (seen.attended.length === 0) return "This policy sees op counts alone, and no graph.";
  return "The instructions with the most attention in the policy's graph network, and those around them. Numbers are weights of edges in its last layer, the larger one of both directions.";
}

function marksOf(roles: Readonly<Record<string, readonly number[]>>): Map<number, Mark[]> {
  const marks = new Map<number, Mark[]>();
  for (const [role, nodes] of Object.entries(roles)) {
    const mark = MARKS[role];
    // What a rewrite replaces is one of those that are gone: that says more.
    for (const node of nodes) if (mark && !marks.get(node)?.includes("removed")) marks.set(node, [mark]);
  }
  return marks;
}

function withNeighbours(seen: Seen, chosen: readonly number[]): number[] {
  const shown = new Set(chosen);
  const add = (node: number) => shown.size < MOST_NODES && shown.add(node);
  for (const node of chosen) seen.nodes[node]!.operands.forEach(add);
  const core = new Set(chosen);
  seen.nodes.forEach((node, id) => {
    if (node.operands.some((operand) => core.has(operand))) add(id);
  });
  return [...shown];
}
