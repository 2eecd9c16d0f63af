/** Lays out small graphs, in a worker, so that the page stays usable meanwhile. */

// A worker made from a Blob: files opened from disk may not start one from a file.
import source from "../../build/layout_worker.txt";

export interface LayoutRequest {
  readonly nodes: readonly { id: string; width: number; height: number; parent?: string }[];
  readonly edges: readonly { from: string; to: string }[];
  /** Nodes that only hold others. */
  readonly boxes: readonly { id: string }[];
}

export interface LayoutAnswer {
  readonly nodes: Readonly<Record<string, { x: number; y: number; width: number; height: number }>>;
  /** Points of each edge, in the order of the request. */
  readonly edges: readonly (readonly { x: number; y: number }[])[];
  readonly width: number;
  readonly height: number;
}

let worker: Worker | null = null;
let asked = 0;
const answers = new Map<number, { resolve(answer: LayoutAnswer): void; reject(error: Error): void }>();

/** Returns the places of nodes (their centres) and edges. */
export function layOut(request: LayoutRequest): Promise<LayoutAnswer> {
  worker ??= started();
  const number = ++asked;
  const answer = new Promise<LayoutAnswer>((resolve, reject) => {
    answers.set(number, { resolve, reject });
  });
  worker.postMessage({ number, request });
  return answer;
}

function started(): Worker {
  const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const made = new Worker(address);
  made.addEventListener("message", (event: MessageEvent) => {
    const { number, answer, error } = event.data as {
      number: number;
      answer?: LayoutAnswer;
      error?: string;
    };
    const waiting = answers.get(number);
    answers.delete(number);
    if (answer) waiting?.resolve(answer);
    else waiting?.reject(new Error(error ?? "the layout failed"));
  });
  made.addEventListener("error", (event) => {
    for (const waiting of answers.values()) waiting.reject(new Error(event.message));
    answers.clear();
  });
  return made;
}
