import type { DiagnosticCode, Violation } from "../api/diagnostic-codes.js";
import { apiVersion, isKind, schemas } from "../api/schema.js";
import { nearest } from "../api/validate.js";

const otherGeneration = "an object of today's Cluster API, which this release does not read";
const generationHint = `Capstan reads the first generation, ${apiVersion}; docs/cluster-api.md tells how they differ`;

/** Why an object is none that this release reads, and what was perhaps meant. Pure. */
export function unknownObject(value: Record<string, unknown>): Violation {
  const { kind } = value;
  const kinds = Object.keys(schemas);
  const near = typeof kind === "string" ? nearest(kind, kinds) : undefined;
  const code: DiagnosticCode = "UNKNOWN_OBJECT";
  if (/^([\w-]+\.)*cluster\.x-k8s\.io\//.test(String(value["apiVersion"]))) {
    return { code, path: ["apiVersion"], summary: otherGeneration, hint: generationHint };
  }
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
