/** Elements of HTML and SVG, built by functions. */

export type Child = Node | string | number | null | undefined | false;

type Value = string | number | boolean | null | undefined | ((event: never) => void);

/**
 * Properties of an element: `class`, `text`, `on...` (listeners), `style` (an object), and
 * attributes. False, null and undefined leave an attribute out; true is an empty one.
 */
export interface Properties {
  style?: Record<string, string>;
  [name: string]: Value | Record<string, string>;
}

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return build(document.createElement(tag), properties, children);
}

const SVG = "http://www.w3.org/2000/svg";

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  properties: Properties = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return build(document.createElementNS(SVG, tag), properties, children);
}

/** Replaces what is in an element. */
export function fill(parent: Element, ...children: Child[]): void {
  parent.replaceChildren(...nodes(children));
}

function build<E extends HTMLElement | SVGElement>(
  element: E,
  properties: Properties,
  children: readonly Child[],
): E {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") element.textContent = String(value);
    else if (typeof value === "function") {
      element.addEventListener(name.slice(2), value as EventListener);
    } else if (typeof value === "object") {
      // Inline styles by their properties: the page's policy refuses the attribute.
      for (const [key, text] of Object.entries(value)) element.style.setProperty(key, text);
    } else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...nodes(children));
  return element;
}

function nodes(children: readonly Child[]): (Node | string)[] {
  const kept: (Node | string)[] = [];
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    kept.push(typeof child === "number" ? String(child) : child);
  }
  return kept;
}

/** Returns a function that paints in the next frame, once however often it is called until then. */
export function onceAFrame(paint: () => void): () => void {
  let pending = 0;
  return () => {
    pending ||= requestAnimationFrame(() => {
      pending = 0;
      paint();
    });
  };
}
