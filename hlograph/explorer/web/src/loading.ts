/** Loads data files, by script tags: a page opened from disk may not fetch. */

import type { Live } from "./site";

interface Waiting {
  promise: Promise<unknown>;
  resolve(content: unknown): void;
}

const files = new Map<string, Waiting>();

function waiting(): Waiting {
  let resolve: (content: unknown) => void = () => undefined;
  const promise = new Promise<unknown>((kept) => {
    resolve = kept;
  });
  return { promise, resolve };
}

/** Receives the content of a data file, which calls `hlograph.data(name, json)`. */
function receive(name: string, json: string): void {
  files.get(name)?.resolve(JSON.parse(json));
}

/** Loads a data file, once. */
export function load(name: string): Promise<unknown> {
  const known = files.get(name);
  if (known) return known.promise;
  const file = waiting();
  files.set(name, file);
  const script = document.createElement("script");
  script.src = `data/${name}.js${location.search}`;
  const failed = new Promise<never>((_, reject) => {
    script.addEventListener("error", () => {
      files.delete(name);
      reject(new Error(`cannot load data/${name}.js: is it beside index.html, and the server up?`));
    });
  });
  script.addEventListener("load", () => script.remove());
  document.head.append(script);
  file.promise = Promise.race([file.promise, failed]);
  return file.promise;
}

/** Makes `hlograph.data` known to the data files. */
export function receiveFiles(): void {
  Object.defineProperty(window, "hlograph", { value: Object.freeze({ data: receive }) });
}

/** Returns the queries to the server, or null where no server answers any. */
export function liveQueries(queries: readonly string[]): Live | null {
  if (queries.length === 0 || !location.protocol.startsWith("http")) return null;
  return {
    queries,
    async ask(query, question) {
      const answer = await fetch(`live/${query}${location.search}`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(question),
      });
      const content = (await answer.json()) as { error?: string };
      if (!answer.ok) throw new Error(content.error ?? `the server answers ${answer.status}`);
      return content;
    },
  };
}
