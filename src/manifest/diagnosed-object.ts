import { isKind, type Kind } from "../api/schema.js";
import type { Diagnostic } from "./diagnostic.js";

/** The object that a diagnostic is about, from its subject; undefined for none. Pure. */
export function objectOf({ subject = "" }: Diagnostic): { kind: Kind; name: string } | undefined {
  const [kind = "", path = ""] = subject.split(" ");
  const [, name] = path.split("/");
  return name === undefined || !isKind(kind) ? undefined : { kind, name };
}
