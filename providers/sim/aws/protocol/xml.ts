/** What an answer holds, under the names of the wire. Members that are undefined are left out. */
export type Wire = string | number | boolean | undefined | readonly Wire[] | WireObject;

export interface WireObject {
  readonly [name: string]: Wire;
}

/** The elements of an object, in the order of its members; lists hold elements called `item`. Pure. */
export function xmlOf(members: WireObject, item: string): string {
  return Object.entries(members)
    .map(([name, value]) => element(name, value, item))
    .join("");
}

function element(name: string, value: Wire, item: string): string {
  if (value === undefined) return "";
  if (isList(value)) {
    if (value.length === 0) return `<${name}/>`;
    return `<${name}>${value.map((one) => element(item, one, item)).join("")}</${name}>`;
  }
  const inner = typeof value === "object" ? xmlOf(value, item) : escaped(String(value));
  return inner === "" ? `<${name}/>` : `<${name}>${inner}</${name}>`;
}

function isList(value: Wire): value is readonly Wire[] {
  return Array.isArray(value);
}

/** Characters that XML 1.0 does not have are left out. */
function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("\r", "&#13;")
    .replace(forbidden, "");
}

// eslint-disable-next-line no-control-regex -- these are the characters that are meant
const forbidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

/** A time as the services of AWS write it. Pure. */
export function wireTime(ms: number): string {
  return new Date(ms).toISOString();
}
