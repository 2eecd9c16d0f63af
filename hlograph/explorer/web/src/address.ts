/** The part of the address after #, which names a page and what is selected in it. */

export interface Address {
  readonly page: string;
  readonly selection: string;
}

export function readAddress(hash: string): Address {
  const [page = "", ...rest] = hash.replace(/^#/, "").split("/");
  return { page: decoded(page), selection: rest.map(decoded).join("/") };
}

export function writeAddress(page: string, selection = ""): string {
  const parts = selection ? [page, ...selection.split("/")] : [page];
  return `#${parts.map(encodeURIComponent).join("/")}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a % that somebody typed
  }
}
