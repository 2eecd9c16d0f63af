/** All instructions of a module on one canvas; a click finds the nearest. */

import { el, onceAFrame } from "./dom";
import { hideTooltip, showTooltip } from "./tooltip";
import { type Box, zoomable } from "./zoom";

export interface OverviewPlaces {
  /** Places of the instructions, in parts of a row. */
  readonly x: readonly number[];
  readonly y: readonly number[];
  /** Left, top, width and height of each computation's box. */
  readonly boxes: readonly (readonly [number, number, number, number])[];
  readonly size: readonly [number, number];
  readonly parts: number;
  /** Names of the boxes, which large boxes show. */
  readonly titles?: readonly string[];
}

export interface OverviewOptions {
  readonly label: string;
  /** Called with an instruction that was clicked. */
  chosen(node: number): void;
  /** Content of the tooltip of an instruction. */
  hint(node: number): Node;
}

export interface Overview {
  readonly element: HTMLElement;
  /** Colours the instructions: a palette, and the place of each in it. */
  colour(palette: readonly string[], of: ArrayLike<number>): void;
  /** Shows instructions as selected, the first of them as the one in focus. */
  select(nodes: readonly number[]): void;
}

export function overview(places: OverviewPlaces, options: OverviewOptions): Overview {
  const canvas = el("canvas", { class: "overview-canvas", role: "img", "aria-label": options.label });
  const element = el("div", { class: "overview" }, canvas);
  const [width, height] = places.size;
  const margin = 2 * places.parts;
  const whole: Box = { x: -margin, y: -margin, width: width + 2 * margin, height: height + 2 * margin };
  let palette: readonly string[] = ["#888"];
  let groups: number[][] = [places.x.map((_, node) => node)];
  let selected: readonly number[] = [];
  const draw = onceAFrame(paint);
  const zoom = zoomable(canvas, () => whole, draw);
  const cells = grid(places);
  let pressed = { x: 0, y: 0 };

  new ResizeObserver(() => zoom.set(zoom.box)).observe(canvas);
  canvas.addEventListener("dblclick", () => zoom.set(whole));
  canvas.addEventListener("pointerdown", (event) => {
    pressed = { x: event.clientX, y: event.clientY };
  });
  canvas.addEventListener("click", (event) => {
    const moved = Math.abs(event.clientX - pressed.x) + Math.abs(event.clientY - pressed.y);
    const node = moved < 4 ? nearest(event) : null;
    if (node !== null) options.chosen(node);
  });
  canvas.addEventListener("pointermove", (event) => {
    const node = event.buttons ? null : nearest(event);
    if (node === null) hideTooltip();
    else showTooltip({ x: event.clientX, y: event.clientY }, options.hint(node));
  });
  canvas.addEventListener("pointerleave", hideTooltip);

  function nearest(event: MouseEvent): number | null {
    const area = canvas.getBoundingClientRect();
    const scale = zoom.box.width / Math.max(1, area.width);
    const x = zoom.box.x + (event.clientX - area.left) * scale;
    const y = zoom.box.y + (event.clientY - area.top) * scale;
    return cells.nearest(x, y, Math.max(8 * scale, places.parts * 0.7));
  }

  function paint(): void {
    const area = canvas.getBoundingClientRect();
    const context = canvas.getContext("2d");
    if (!context || area.width === 0) return;
    const ratio = devicePixelRatio;
    canvas.width = Math.round(area.width * ratio);
    canvas.height = Math.round(area.height * ratio);
    const scale = canvas.width / zoom.box.width;
    const { x: left, y: top } = zoom.box;
    const style = getComputedStyle(element);
    context.strokeStyle = style.getPropertyValue("--line");
    context.lineWidth = ratio;
    for (const [x, y, boxWidth, boxHeight] of places.boxes) {
      if (boxWidth * scale < 6 * ratio) continue;
      context.strokeRect((x - left) * scale, (y - top) * scale, boxWidth * scale, boxHeight * scale);
    }
    const side = Math.max(1.2 * ratio, places.parts * scale * 0.7);
    groups.forEach((nodes, i) => {
      context.fillStyle = palette[i] ?? "#888";
      for (const node of nodes) square(context, node, side, scale);
    });
    paintTitles(context, style, scale, ratio);
    paintSelection(context, style, side, scale, ratio);
  }

  /** Writes the names of boxes that have room for them. */
  function paintTitles(context: CanvasRenderingContext2D, style: CSSStyleDeclaration, scale: number, ratio: number): void {
    context.font = `${10 * ratio}px ${style.getPropertyValue("--mono")}`;
    places.boxes.forEach(([x, y, width, height], i) => {
      const title = places.titles?.[i] ?? "";
      const across = context.measureText(title).width;
      if (across + 6 * ratio > width * scale || 24 * ratio > height * scale) return;
      const [left, top] = [(x - zoom.box.x) * scale + ratio, (y - zoom.box.y) * scale + ratio];
      context.fillStyle = style.getPropertyValue("--back");
      context.globalAlpha = 0.75; // instructions are seen through it
      context.fillRect(left, top, across + 5 * ratio, 12 * ratio);
      context.globalAlpha = 1;
      context.fillStyle = style.getPropertyValue("--soft");
      context.fillText(title, left + 2 * ratio, top + 9 * ratio);
    });
  }

  function square(context: CanvasRenderingContext2D, node: number, side: number, scale: number): void {
    const x = (places.x[node]! - zoom.box.x) * scale - side / 2;
    const y = (places.y[node]! - zoom.box.y) * scale - side / 2;
    if (x > -side && y > -side && x < canvas.width && y < canvas.height) context.fillRect(x, y, side, side);
  }

  function paintSelection(
    context: CanvasRenderingContext2D,
    style: CSSStyleDeclaration,
    side: number,
    scale: number,
    ratio: number,
  ): void {
    context.strokeStyle = context.fillStyle = style.getPropertyValue("--accent");
    context.lineWidth = 1.5 * ratio;
    const large = Math.max(side + 2 * ratio, 4 * ratio);
    for (const node of selected) {
      const x = (places.x[node]! - zoom.box.x) * scale;
      const y = (places.y[node]! - zoom.box.y) * scale;
      context.strokeRect(x - large / 2, y - large / 2, large, large);
    }
    const [focus] = selected;
    if (focus === undefined) return;
    context.beginPath();
    const x = (places.x[focus]! - zoom.box.x) * scale;
    const y = (places.y[focus]! - zoom.box.y) * scale;
    context.arc(x, y, large / 2 + 7 * ratio, 0, 2 * Math.PI);
    context.lineWidth = 2.5 * ratio;
    context.stroke();
  }

  return {
    element,
    colour(colours, of) {
      palette = colours;
      groups = colours.map(() => []);
      for (let node = 0; node < places.x.length; node++) groups[of[node]!]?.push(node);
      draw();
    },
    select(nodes) {
      selected = nodes;
      draw();
    },
  };
}

/** Returns a grid of the places, which finds the nearest one without looking at all. */
function grid(places: OverviewPlaces): { nearest(x: number, y: number, within: number): number | null } {
  const side = 8 * places.parts;
  const columns = Math.ceil(places.size[0] / side) + 1;
  const cells = new Map<number, number[]>();
  const cellOf = (x: number, y: number) => Math.floor(y / side) * columns + Math.floor(x / side);
  places.x.forEach((x, node) => {
    const cell = cellOf(x, places.y[node]!);
    const known = cells.get(cell);
    if (known) known.push(node);
    else cells.set(cell, [node]);
  });
  return {
    nearest(x, y, within) {
      let best: number | null = null;
      let least = within * within;
      for (let cy = y - within; cy <= y + within + side; cy += side) {
        for (let cx = x - within; cx <= x + within + side; cx += side) {
          for (const node of cells.get(cellOf(cx, cy)) ?? []) {
            const distance = (places.x[node]! - x) ** 2 + (places.y[node]! - y) ** 2;
            if (distance < least) [best, least] = [node, distance];
          }
        }
      }
      return best;
    },
  };
}
