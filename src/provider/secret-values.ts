import { isJsonObject, type Json } from "../api/json.js";
import type { Scrubbed } from "../api/leaving-text.js";
import { scrubber } from "../api/scrubber.js";
import { secretText } from "../api/secret-fields.js";
import { unknownValue } from "../api/unknown.js";

/** Shorter values would blot out ordinary words. */
const shortest = 6;

/**
 * What this process knows to be secret: the values of secret variables of its environment, and of secret fields as they pass by.
 * Every exit asks it, so that no text leaves with one of them, whoever has put it there.
 */
export class SecretValues {
  private readonly values = new Set<string>();
  private readonly scrubShapes: (text: string) => string;

  constructor(env: Readonly<Record<string, string | undefined>>) {
    this.scrubShapes = scrubber(env);
  }

  /** Takes every text in it for a secret. */
  learn(value: Json | undefined): void {
    for (const text of textsIn(value)) this.values.add(text);
  }

  /** The text without any of them, without `more`, and without what looks like a secret. */
  readonly scrub = (text: string, more: Iterable<string> = []): Scrubbed => {
    const found = [...this.values, ...more].filter((value) => text.includes(value));
    // The longest first: one secret may be a part of another.
    found.sort((left, right) => right.length - left.length);
    const rest = found.reduce((told, value) => told.replaceAll(value, secretText), text);
    return this.scrubShapes(rest) as Scrubbed;
  };

  /** A value as JSON text, every text in it scrubbed: the same JSON otherwise. */
  json(value: unknown, indent?: number): Scrubbed {
    const scrubbed = (_name: string, member: unknown): unknown =>
      typeof member === "string" ? this.scrub(member) : member;
    return JSON.stringify(value, scrubbed, indent) as Scrubbed;
  }
}

/** Every text inside a value that is long enough to be a secret, as it is and as JSON writes it. Pure. */
export function textsIn(value: Json | undefined): string[] {
  if (typeof value === "string") {
    if (value.length < shortest || value === unknownValue) return [];
    return [...new Set([value, JSON.stringify(value).slice(1, -1)])];
  }
  if (Array.isArray(value)) return value.flatMap((item: Json) => textsIn(item));
  return isJsonObject(value) ? Object.values(value).flatMap(textsIn) : [];
}

/** The same, and each line of them by itself: who prints a file prints lines, with ends and beginnings of its own. Pure. */
export function linesIn(value: Json | undefined): string[] {
  const texts = textsIn(value);
  const lines = texts.flatMap((text) => text.split(/\r\n|\r|\n/).map((line) => line.trim()));
  return [...new Set([...texts, ...lines.filter((line) => line.length >= shortest)])];
}
