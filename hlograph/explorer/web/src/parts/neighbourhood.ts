/** A small graph as a picture: laid out by dagre, drawn as SVG, with marks on nodes and edges. */

import { el, fill, svg } from "./dom";
import { type LayoutAnswer, layOut } from "./layout";
import { hideTooltip, showTooltip } from "./tooltip";
import { type Box, zoomable } from "./zoom";

/** Largest number of nodes in a picture. */
export const MOST_NODES = 200;

export type Mark = "added" | "removed" | "changed" | "struck" | "focus" | "faint";

export interface DrawnNode {
  readonly id: string;
  readonly title: string;
  readonly subtitle: string;
  /** Colour of its stripe. */
  readonly colour?: string | undefined;
  readonly marks?: readonly Mark[] | undefined;
  /** Box that it is in. */
  readonly box?: string | undefined;
  /** Number of neighbours that the picture does not show. */
  readonly hidden?: number | undefined;
  /** What screen readers say of it; by default title and subtitle. */
  readonly label?: string | undefined;
  /** Content of its tooltip. */
  readonly hint?: (() => Node) | undefined;
}

export interface DrawnEdge {
  readonly from: string;
  readonly to: string;
  readonly kind?: "data" | "control" | "call" | undefined;
  readonly label?: string | undefined;
  readonly marks?: readonly Mark[] | undefined;
}

export interface DrawnBox {
  readonly id: string;
  readonly title: string;
}

export interface Drawing {
  readonly nodes: readonly DrawnNode[];
  readonly edges: readonly DrawnEdge[];
  readonly boxes?: readonly DrawnBox[];
}

export interface NeighbourhoodOptions {
  /** What the picture is called. */
  readonly label: string;
  /** Called with a node that was clicked, or Enter was pressed on. */
  chosen?(id: string): void;
  /** Called with a node whose hidden neighbours are asked for. */
  expand?(id: string): void;
}

export interface Neighbourhood {
  readonly element: HTMLElement;
  /** Draws a graph; resolves when it is there. Only the last of several calls is drawn. */
  show(drawing: Drawing): Promise<void>;
  /** Moves the focus of the keyboard into the picture. */
  focus(): void;
}

const LETTER = 6.7;
const HEIGHT = 36;

let pictures = 0;

export function neighbourhood(options: NeighbourhoodOptions): Neighbourhood {
  const arrow = `arrow-${++pictures}`;
  const layer = svg("g");
  const picture = svg(
    "svg",
    { class: "neighbourhood-picture", role: "group", "aria-label": options.label },
    svg(
      "defs",
      {},
      svg(
        "marker",
        { id: arrow, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 6, markerHeight: 6, orient: "auto" },
        svg("path", { d: "M0 0L8 4L0 8z", class: "arrow" }),
      ),
    ),
    layer,
  );
  let whole: Box = { x: 0, y: 0, width: 100, height: 100 };
  const zoom = zoomable(picture, () => whole, (box) => {
    picture.setAttribute("viewBox", `${box.x} ${box.y} ${box.width} ${box.height}`);
  });
  const fit = () => zoom.set(whole);
  const element = el(
    "div",
    { class: "neighbourhood" },
    picture,
    el(
      "div",
      { class: "zoom-buttons" },
      el("button", { type: "button", text: "+", "aria-label": "Magnify", onclick: () => zoom.by(1 / 1.3) }),
      el("button", { type: "button", text: "−", "aria-label": "Reduce", onclick: () => zoom.by(1.3) }),
      el("button", { type: "button", text: "Fit", onclick: fit }),
    ),
  );
  let turn = 0;
  let places: LayoutAnswer | null = null;
  let order: DrawnNode[] = [];
  const elements = new Map<string, SVGGElement>();
  picture.addEventListener("keydown", keyOnNode);
  new ResizeObserver(() => zoom.set(zoom.box)).observe(picture);

  async function show(drawing: Drawing): Promise<void> {
    const mine = ++turn;
    element.setAttribute("aria-busy", "true");
    const answer = await layOut({
      nodes: drawing.nodes.map((node) => ({
        id: node.id,
        width: widthOf(node),
        height: HEIGHT,
        ...(node.box === undefined ? {} : { parent: node.box }),
      })),
      edges: drawing.edges,
      boxes: drawing.boxes ?? [],
    });
    if (mine !== turn) return;
    hideTooltip();
    draw(drawing, answer);
    element.removeAttribute("aria-busy");
  }

  function draw(drawing: Drawing, answer: LayoutAnswer): void {
    const focused = document.activeElement?.getAttribute("data-node");
    places = answer;
    order = [...drawing.nodes].sort((a, b) => place(a).y - place(b).y || place(a).x - place(b).x);
    elements.clear();
    for (const node of order) elements.set(node.id, drawnNode(node));
    fill(
      layer,
      ...(drawing.boxes ?? []).map(drawnBox),
      ...drawing.edges.map((edge, i) => drawnEdge(edge, answer.edges[i] ?? [])),
      ...elements.values(),
    );
    const focus = drawing.nodes.find((node) => node.marks?.includes("focus")) ?? order[0];
    if (focus) elements.get(focus.id)?.setAttribute("tabindex", "0");
    whole = { x: 0, y: 0, width: answer.width, height: answer.height };
    zoom.set(firstView(whole, focus ? place(focus) : { x: 0, y: 0 }));
    if (focused) elements.get(focused)?.focus();
  }

  /** A large picture begins around the node in focus, at a size at which its text is read. */
  function firstView(all: Box, at: { x: number; y: number }): Box {
    const area = picture.getBoundingClientRect();
    const scale = 1.5;
    if (all.width <= area.width * scale && all.height <= area.height * scale) {
      const width = Math.max(all.width, area.width);
      const height = Math.max(all.height, area.height);
      return { x: (all.width - width) / 2, y: (all.height - height) / 2, width, height };
    }
    const width = Math.max(area.width, 1);
    const height = Math.max(area.height, 1);
    return {
      x: all.width <= width ? (all.width - width) / 2 : clamp(at.x - width / 2, 0, all.width - width),
      y: all.height <= height ? (all.height - height) / 2 : clamp(at.y - height / 2, 0, all.height - height),
      width,
      height,
    };
  }

  function place(node: DrawnNode): { x: number; y: number; width: number; height: number } {
    return places?.nodes[node.id] ?? { x: 0, y: 0, width: 0, height: 0 };
  }

  function drawnNode(node: DrawnNode): SVGGElement {
    const { x, y, width, height } = place(node);
    const hidden = node.hidden ?? 0;
    const group = svg(
      "g",
      {
        class: ["node", ...(node.marks ?? [])].join(" "),
        transform: `translate(${x - width / 2} ${y - height / 2})`,
        tabindex: "-1",
        role: "button",
        "data-node": node.id,
        "aria-label": (node.label ?? `${node.title} ${node.subtitle}`) + marksText(node.marks),
        onclick: () => options.chosen?.(node.id),
        onpointerenter: (event: PointerEvent) => hint(node, { x: event.clientX, y: event.clientY }),
        onpointerleave: hideTooltip,
        onblur: hideTooltip,
      },
      svg("rect", { class: "node-box", width, height, rx: 3 }),
      svg("rect", { class: "node-colour", width: 5, height, rx: 2, style: { fill: node.colour ?? "none" } }),
      svg("text", { class: "node-title", x: 11, y: 15, text: `${node.title} ` }),
      svg("text", { class: "node-subtitle", x: 11, y: 29, text: node.subtitle }),
    );
    if (hidden > 0 && options.expand) {
      group.append(
        svg(
          "g",
          {
            class: "node-more",
            "aria-hidden": "true",
            transform: `translate(${width - 8} ${height / 2})`,
            onclick: (event: Event) => {
              event.stopPropagation();
              options.expand?.(node.id);
            },
          },
          svg("title", { text: `Show ${hidden} more` }),
          svg("circle", { r: 9 }),
          svg("text", { y: 3.5, "text-anchor": "middle", "aria-hidden": "true", text: hidden > 99 ? "…" : `+${hidden}` }),
        ),
      );
    }
    return group;
  }

  function drawnEdge(edge: DrawnEdge, points: readonly { x: number; y: number }[]): SVGGElement {
    const middle = points[Math.floor(points.length / 2)];
    return svg(
      "g",
      { class: ["edge", edge.kind ?? "data", ...(edge.marks ?? [])].join(" ") },
      svg("path", { d: curve(points), "marker-end": `url(#${arrow})` }),
      edge.label && middle ? svg("text", { x: middle.x + 3, y: middle.y, text: edge.label }) : null,
    );
  }

  function drawnBox(box: DrawnBox): SVGGElement {
    const { x, y, width, height } = places?.nodes[box.id] ?? { x: 0, y: 0, width: 0, height: 0 };
    return svg(
      "g",
      { class: "group-box", transform: `translate(${x - width / 2} ${y - height / 2})` },
      svg("rect", { width, height, rx: 5 }),
      svg("text", { x: 4, y: -4, text: box.title }),
    );
  }

  function hint(node: DrawnNode, at: { x: number; y: number }): void {
    if (node.hint) showTooltip(at, node.hint());
  }

  function keyOnNode(event: KeyboardEvent): void {
    const id = (event.target as Element).closest("[data-node]")?.getAttribute("data-node");
    const node = order.find((each) => each.id === id);
    if (!node) return;
    const way = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[event.key];
    if (way) moveFocus(node, way[0]!, way[1]!);
    else if (event.key === "Enter" || event.key === " ") options.chosen?.(node.id);
    else if (event.key === "+" || event.key === "e") options.expand?.(node.id);
    else if (event.key === "Escape") hideTooltip();
    else return;
    event.preventDefault();
  }

  /** Moves the focus to the nearest node in a direction. */
  function moveFocus(from: DrawnNode, dx: number, dy: number): void {
    const here = place(from);
    let best: DrawnNode | null = null;
    let least = Infinity;
    for (const node of order) {
      const there = place(node);
      const ahead = (there.x - here.x) * dx + (there.y - here.y) * dy;
      const aside = Math.abs((there.x - here.x) * dy) + Math.abs((there.y - here.y) * dx);
      if (ahead <= 1 || ahead + 2 * aside >= least) continue;
      [best, least] = [node, ahead + 2 * aside];
    }
    const element = best && elements.get(best.id);
    if (!best || !element) return;
    elements.get(from.id)?.setAttribute("tabindex", "-1");
    element.setAttribute("tabindex", "0");
    element.focus();
    const seen = zoom.box;
    const there = place(best);
    if (there.x < seen.x || there.y < seen.y || there.x > seen.x + seen.width || there.y > seen.y + seen.height) {
      zoom.set({ ...seen, x: there.x - seen.width / 2, y: there.y - seen.height / 2 });
    }
    const area = element.getBoundingClientRect();
    hint(best, { x: area.right, y: area.bottom });
  }

  return {
    element,
    show,
    focus() {
      picture.querySelector<SVGGElement>("[tabindex='0']")?.focus();
    },
  };
}

function widthOf(node: DrawnNode): number {
  const letters = Math.max(node.title.length, node.subtitle.length);
  return Math.max(60, letters * LETTER + 20 + ((node.hidden ?? 0) > 0 ? 14 : 0));
}

function marksText(marks: readonly Mark[] | undefined): string {
  const said = (marks ?? []).filter((mark) => mark !== "focus" && mark !== "faint");
  return said.length > 0 ? `, ${said.join(", ")}` : "";
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high);
}

/** Returns a smooth path through the points of an edge. */
function curve(points: readonly { x: number; y: number }[]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  const last = rest.pop();
  let path = `M${first.x} ${first.y}`;
  rest.forEach((point, i) => {
    const next = rest[i + 1] ?? last ?? point;
    path += `Q${point.x} ${point.y} ${(point.x + next.x) / 2} ${(point.y + next.y) / 2}`;
  });
  return last ? `${path}L${last.x} ${last.y}` : path;
}
