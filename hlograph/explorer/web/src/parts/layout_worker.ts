/** The worker that lays out graphs, by dagre. */

import { Graph, layout } from "@dagrejs/dagre";
import type { LayoutAnswer, LayoutRequest } from "./layout";

const here = self as unknown as {
  addEventListener(type: "message", listener: (event: MessageEvent) => void): void;
  postMessage(message: unknown): void;
};

here.addEventListener("message", (event) => {
  const { number, request } = event.data as { number: number; request: LayoutRequest };
  try {
    here.postMessage({ number, answer: laidOut(request) });
  } catch (error) {
    here.postMessage({ number, error: error instanceof Error ? error.message : String(error) });
  }
});

function laidOut(request: LayoutRequest): LayoutAnswer {
  const graph = new Graph({ compound: request.boxes.length > 0, multigraph: true });
  graph.setGraph({ rankdir: "TB", nodesep: 14, ranksep: 26, edgesep: 8, marginx: 12, marginy: 12 });
  for (const box of request.boxes) graph.setNode(box.id, {});
  for (const node of request.nodes) {
    graph.setNode(node.id, { width: node.width, height: node.height });
    if (node.parent !== undefined) graph.setParent(node.id, node.parent);
  }
  request.edges.forEach((edge, i) => graph.setEdge(edge.from, edge.to, {}, String(i)));
  layout(graph);
  const nodes: Record<string, { x: number; y: number; width: number; height: number }> = {};
  for (const id of graph.nodes()) {
    const { x, y, width, height } = graph.node(id) as { x: number; y: number; width: number; height: number };
    nodes[id] = { x, y, width, height };
  }
  const edges = request.edges.map((edge, i) => {
    const { points } = graph.edge(edge.from, edge.to, String(i)) as { points: { x: number; y: number }[] };
    return points;
  });
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  return { nodes, edges, width, height };
}
