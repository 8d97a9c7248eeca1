import type { DiagnosticCode, Violation } from "../api/diagnostic-codes.js";
import { apiVersion, isKind, schemas } from "../api/schema.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { nearest } from "../api/validate.js";

const generationHint = `Capstan reads the first generation, ${apiVersion}; docs/cluster-api.md tells how they differ`;

/** Whether an object is one of today's Cluster API. Pure. */
export function isOfOtherGeneration({ apiVersion: version }: Record<string, unknown>): boolean {
  return typeof version === "string" && /^([\w-]+\.)*cluster\.x-k8s\.io\//.test(version);
}

/** Told at the first of such objects, for all of them: a manifest that holds one holds many. Pure. */
export function otherGeneration(others: readonly string[]): Violation {
  return omitUndefined({
    code: "UNKNOWN_OBJECT" as const,
    path: ["apiVersion"],
    summary: "an object of today's Cluster API, which this release does not read",
    detail: others.length === 0 ? undefined : `${others.length} more: ${others.join(", ")}.`,
    hint: generationHint,
  });
}

/** Why an object is none that this release reads, and what was perhaps meant. Pure. */
export function unknownObject(value: Record<string, unknown>): Violation {
  const { kind } = value;
  const kinds = Object.keys(schemas);
  const near = typeof kind === "string" ? nearest(kind, kinds) : undefined;
  const code: DiagnosticCode = "UNKNOWN_OBJECT";
  if (String(value["apiVersion"]).startsWith("kustomize.config.k8s.io/")) {
    const hint = "build it: kubectl kustomize FOLDER | capstan plan -f -";
    return { code, path: ["kind"], summary: "not an object, but how to make some", hint };
  }
  const hint =
    near === undefined || isKind(kind)
      ? `this release reads ${kinds.join(", ")} of ${apiVersion}`
      : `did you mean ${near}?`;
  return { code, path: [isKind(kind) ? "apiVersion" : "kind"], summary: "unknown object", hint };
}
