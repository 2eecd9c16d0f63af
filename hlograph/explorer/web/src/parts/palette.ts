/** Colours of lines that are told apart; both themes can show them, also without red and green. */

const COLOURS = ["#3b82d6", "#e08a1e", "#2f9e78", "#c2549d", "#8a6fd8", "#b8a21f", "#d0544a", "#4aa8c0", "#7c8794"];
const DASHES = ["", "6 3", "2 3", "8 3 2 3"];

export interface Stroke {
  readonly colour: string;
  readonly dash: string;
}

/** Returns the stroke of a line by its number. */
export function strokeOf(number: number): Stroke {
  return {
    colour: COLOURS[number % COLOURS.length]!,
    dash: DASHES[Math.floor(number / COLOURS.length) % DASHES.length]!,
  };
}
