import { fixedFieldRules } from "./fixed-fields.js";
import { jsonSchemaOf } from "./json-schema.js";
import { apiGroup, apiVersionName, kinds, namesOf } from "./kind-names.js";
import { kindStatus, type PrinterColumn } from "./kind-status.js";
import { omitUndefined } from "./omit-undefined.js";
import { type Kind, schemas } from "./schema.js";
import { ownAnnotationPrefix } from "./update-policy.js";
import { type StructuralSchema, structuralOf } from "./structural.js";

/** A CustomResourceDefinition of apiextensions.k8s.io/v1, as plain data. */
export interface CustomResourceDefinition {
  readonly apiVersion: "apiextensions.k8s.io/v1";
  readonly kind: "CustomResourceDefinition";
  readonly metadata: {
    readonly name: string;
    readonly annotations: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly group: string;
    readonly names: ReturnType<typeof namesOf>;
    readonly scope: "Namespaced" | "Cluster";
    readonly versions: readonly [CrdVersion];
  };
}

interface CrdVersion {
  readonly name: string;
  readonly served: true;
  readonly storage: true;
  readonly schema: { readonly openAPIV3Schema: StructuralSchema };
  readonly subresources?: {
    readonly status: Readonly<Record<string, never>>;
    readonly scale?: {
      readonly specReplicasPath: string;
      readonly statusReplicasPath: string;
      readonly labelSelectorPath: string;
    };
  };
  readonly additionalPrinterColumns: readonly PrinterColumn[];
}

/**
 * Groups under k8s.io are protected: an API server refuses their CRDs unless they say that they were
 * approved, or that they were not. Source: https://github.com/kubernetes/enhancements/pull/1111.
 */
const approval = {
  "api-approved.kubernetes.io": "unapproved, Capstan serves an early API of Cluster API",
};

/**
 * Counts the shapes that these definitions have had; a test tells when it has to be raised. By it a
 * release sees that an API server holds the definitions of a newer one.
 */
export const definitionsVersion = 1;
export const definitionsVersionAnnotation = `${ownAnnotationPrefix}definitions-version`;

/** What every definition of ours carries. */
export const definitionAnnotations = {
  ...approval,
  [definitionsVersionAnnotation]: String(definitionsVersion),
};

const scalePaths = {
  specReplicasPath: ".spec.replicas",
  statusReplicasPath: ".status.replicas",
  labelSelectorPath: ".status.labelSelector",
};

/** A CustomResourceDefinition for every kind, generated from the one source of schemas. Pure. */
export function customResourceDefinitions(): CustomResourceDefinition[] {
  return kinds.map(crdOf);
}

function crdOf(kind: Kind): CustomResourceDefinition {
  const names = namesOf(kind);
  const { status, columns, scalable } = kindStatus[kind];
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${names.plural}.${apiGroup}`, annotations: definitionAnnotations },
    spec: {
      group: apiGroup,
      names,
      scope: "Namespaced",
      versions: [
        omitUndefined({
          name: apiVersionName,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: rootSchema(kind) },
          subresources:
            status && omitUndefined({ status: {}, scale: scalable ? scalePaths : undefined }),
          additionalPrinterColumns: columns,
        }),
      ],
    },
  };
}

/** The object as users write it, but metadata belongs to the API server and status to us. */
function rootSchema(kind: Kind): StructuralSchema {
  const root = structuralOf(jsonSchemaOf(schemas[kind]));
  const { apiVersion, kind: kindMember, metadata, status: _, ...body } = root.properties ?? {};
  const { status } = kindStatus[kind];
  const required = (root.required ?? []).filter((name) => name in body);
  const fixed = fixedFieldRules(kind);
  return omitUndefined({
    ...root,
    properties: omitUndefined({
      apiVersion: { type: "string", ...described(apiVersion) },
      kind: { type: "string", ...described(kindMember) },
      metadata: { type: "object", ...nameOf(metadata) },
      ...body,
      status: status && structuralOf(jsonSchemaOf(status)),
    }),
    required,
    "x-kubernetes-validations": fixed.length > 0 ? fixed : root["x-kubernetes-validations"],
  });
}

/** Of its own metadata a definition may judge the name alone. */
function nameOf(metadata: StructuralSchema | undefined): StructuralSchema {
  const name = metadata?.properties?.["name"];
  return name === undefined ? {} : { properties: { name } };
}

function described(schema: StructuralSchema | undefined) {
  return schema?.description === undefined ? {} : { description: schema.description };
}
