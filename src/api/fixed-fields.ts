import type { CelRule } from "./cel.js";
import type { MemberPath } from "./diagnostic-codes.js";
import { type JsonSchema, jsonSchemaOf } from "./json-schema.js";
import { type Kind, schemas } from "./schema.js";

/** A field that cannot change while its object lives, and what to do instead. */
interface FixedField {
  readonly path: readonly string[];
  /** What of it is fixed: of an apiVersion its group, since versions of one API change. All of it without. */
  readonly part?: "apiGroup";
  readonly hint: string;
}

export const fixedFields: Readonly<Record<Kind, readonly FixedField[]>> = {
  Cluster: [
    { path: ["spec", "clusterNetwork"], hint: "make a new Cluster with the other networks" },
    {
      path: ["spec", "providerSpec", "value", "apiVersion"],
      part: "apiGroup",
      hint: "make a new Cluster on the other provider",
    },
  ],
  Machine: [],
  MachineSet: [{ path: ["spec", "selector"], hint: "make a new MachineSet" }],
  MachineDeployment: [{ path: ["spec", "selector"], hint: "make a new MachineDeployment" }],
  MachineClass: [],
  MachineDrainRule: [],
  MachineHealthCheck: [
    {
      path: ["spec", "clusterName"],
      hint: "make a new MachineHealthCheck for the other Cluster",
    },
  ],
};

/** The same for an API server, as rules at the root of the kind's schema. Pure. */
export function fixedFieldRules(kind: Kind): CelRule[] {
  return fixedFields[kind].map(({ path, part, hint }) => {
    const field = path.join(".");
    const fixed = part === undefined ? field : `${field}.split("/")[0]`;
    const unset = optionalPrefixes(jsonSchemaOf(schemas[kind]), path).flatMap((prefix) =>
      ["self", "oldSelf"].map((object) => `!has(${object}.${prefix})`),
    );
    return {
      rule: [...unset, `self.${fixed} == oldSelf.${fixed}`].join(" || "),
      message: `cannot change while the ${kind} lives; ${hint}`,
      fieldPath: `.${field}`,
    };
  });
}

/** Every part of the path that an object may leave out, from the root: "spec.providerSpec.value". */
function optionalPrefixes(root: JsonSchema, path: MemberPath): string[] {
  let schema: JsonSchema | undefined = root;
  return path.flatMap((part, depth) => {
    const isOptional = schema?.required?.includes(String(part)) !== true;
    schema = schema?.properties?.[part];
    return isOptional ? [path.slice(0, depth + 1).join(".")] : [];
  });
}
