/** The part of a run that timelines show, which several of them share. */

export interface TimeWindow {
  /** Microseconds from the begin of a run. */
  readonly from: number;
  readonly to: number;
  /** Shows another part, within the whole. */
  set(from: number, to: number): void;
  /** Magnifies around a moment. */
  around(moment: number, factor: number): void;
  /** Shows everything. */
  reset(): void;
  onChange(changed: () => void): void;
}

/** Makes a window on runs, of which the longest takes so many microseconds. */
export function timeWindow(longest: number): TimeWindow {
  const end = longest * 1.01;
  const least = Math.min(end, 0.5);
  const listeners: (() => void)[] = [];
  let from = 0;
  let to = end;

  function set(wanted: number, until: number): void {
    const width = Math.max(least, Math.min(until - wanted, end));
    from = Math.max(0, Math.min(wanted, end - width));
    to = from + width;
    for (const changed of listeners) changed();
  }

  return {
    get from() {
      return from;
    },
    get to() {
      return to;
    },
    set,
    around(moment, factor) {
      set(moment - (moment - from) * factor, moment + (to - moment) * factor);
    },
    reset: () => set(0, end),
    onChange(changed) {
      listeners.push(changed);
    },
  };
}
