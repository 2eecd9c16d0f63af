/** Colours of the kinds of kernels; hlograph/profiling/kernel_categories.py lists the kinds. */

const COLOURS: Readonly<Record<string, string>> = {
  convolution: "#e06c63",
  dot: "#e8905a",
  sort: "#d9b23c",
  "top-k": "#c9c355",
  fft: "#b5884e",
  "linear algebra": "#c77d7d",
  "random numbers": "#8fb1b5",
  "gather or scatter": "#5fb3a1",
  reduction: "#d5a253",
  elementwise: "#6fa8e0",
  "transpose or copy": "#79b87c",
  "data movement": "#9bbf7a",
  "loop overhead": "#c98fb8",
  other: "#a9b0b9",
  "outside kernels": "#c3c7cc",
};

export function colourOfKind(kind: string): string {
  return COLOURS[kind] ?? "#a9b0b9";
}
