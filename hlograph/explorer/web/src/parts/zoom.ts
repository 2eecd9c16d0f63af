/** Moving and magnifying a picture: by wheel, drag and keys. */

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Zoom {
  /** The part of the picture that is seen. */
  readonly box: Box;
  /** Shows a part of the picture, in the proportions of the element. */
  set(box: Box): void;
  /** Magnifies around the middle. */
  by(factor: number): void;
}

const LARGEST = 12;

/**
 * Lets an element be zoomed and moved.
 *
 * @param element what takes the wheel and the drags
 * @param whole returns the whole picture
 * @param changed called with each new part
 */
export function zoomable(element: Element, whole: () => Box, changed: (box: Box) => void): Zoom {
  let box = whole();
  let from: { x: number; y: number; box: Box } | null = null;

  function set(wanted: Box): void {
    const { width, height } = element.getBoundingClientRect();
    const aspect = width > 0 && height > 0 ? width / height : 1;
    const wide = Math.max(wanted.width, wanted.height * aspect);
    const all = whole();
    const limit = Math.max(all.width, all.height * aspect) * 1.5;
    const seen = Math.min(Math.max(wide, limit / 1.5 / 400, 1), Math.max(limit, wide / LARGEST));
    box = {
      x: wanted.x + (wanted.width - seen) / 2,
      y: wanted.y + (wanted.height - seen / aspect) / 2,
      width: seen,
      height: seen / aspect,
    };
    changed(box);
  }

  function around(factor: number, x: number, y: number): void {
    set({
      x: x - (x - box.x) * factor,
      y: y - (y - box.y) * factor,
      width: box.width * factor,
      height: box.height * factor,
    });
  }

  function scale(): number {
    return box.width / Math.max(1, element.getBoundingClientRect().width);
  }

  element.addEventListener(
    "wheel",
    (event) => {
      const { deltaY, clientX, clientY } = event as WheelEvent;
      const area = element.getBoundingClientRect();
      const x = box.x + (clientX - area.left) * scale();
      const y = box.y + (clientY - area.top) * scale();
      around(deltaY > 0 ? 1.2 : 1 / 1.2, x, y);
      event.preventDefault();
    },
    { passive: false },
  );
  element.addEventListener("pointerdown", (event) => {
    const { clientX, clientY, button } = event as PointerEvent;
    if (button === 0) from = { x: clientX, y: clientY, box: { ...box } };
  });
  element.addEventListener("pointermove", (event) => {
    if (!from) return;
    const { clientX, clientY, pointerId } = event as PointerEvent;
    const [dx, dy] = [clientX - from.x, clientY - from.y];
    if (Math.abs(dx) + Math.abs(dy) < 4) return; // a click that trembles
    element.setPointerCapture(pointerId);
    set({ ...from.box, x: from.box.x - dx * scale(), y: from.box.y - dy * scale() });
  });
  for (const end of ["pointerup", "pointercancel"]) {
    element.addEventListener(end, () => {
      from = null;
    });
  }
  return {
    get box() {
      return box;
    },
    set,
    by(factor) {
      around(factor, box.x + box.width / 2, box.y + box.height / 2);
    },
  };
}
