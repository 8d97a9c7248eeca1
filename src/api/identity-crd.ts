import { identityDescription } from "./cluster-identities.js";
import {
  type CustomResourceDefinition,
  customResourceDefinitions,
  definitionAnnotations,
} from "./crd.js";
import { jsonSchemaOf } from "./json-schema.js";
import { namesOf } from "./kind-names.js";
import type { ProviderSpecs } from "./provider-specs.js";
import { apiGroupOf, versionOf } from "./served-versions.js";
import { structuralOf } from "./structural.js";

/** A kind of objects by which Clusters name credentials, as an API server serves it. */
export interface IdentityKind {
  readonly kind: string;
  readonly apiVersion: string;
  readonly plural: string;
}

/** The kinds of all providers. Pure. */
export function identityKinds(providers: readonly ProviderSpecs[]): IdentityKind[] {
  return providers.flatMap(({ apiVersion, identities }) =>
    Object.keys(identities?.kinds ?? {}).map((kind) => ({
      kind,
      apiVersion,
      plural: pluralOf(kind),
    })),
  );
}

/** A CustomResourceDefinition for each of them: their objects belong to no namespace. Pure. */
export function identityDefinitions(
  providers: readonly ProviderSpecs[],
): CustomResourceDefinition[] {
  return providers.flatMap(({ apiVersion, identities }) =>
    Object.entries(identities?.kinds ?? {}).map(([kind, schema]) => {
      const group = apiGroupOf(apiVersion);
      const plural = pluralOf(kind);
      const names = {
        ...namesOf(kind),
        plural,
        shortNames: [],
        categories: ["capstan", "cluster-api"],
      };
      return {
        apiVersion: "apiextensions.k8s.io/v1",
        kind: "CustomResourceDefinition",
        metadata: { name: `${plural}.${group}`, annotations: definitionAnnotations },
        spec: {
          group,
          names,
          scope: "Cluster",
          versions: [
            {
              name: versionOf(apiVersion),
              served: true,
              storage: true,
              schema: {
                openAPIV3Schema: {
                  type: "object",
                  description: identityDescription,
                  properties: {
                    apiVersion: { type: "string" },
                    kind: { type: "string" },
                    metadata: { type: "object" },
                    spec: structuralOf(jsonSchemaOf(schema)),
                  },
                  required: ["spec"],
                },
              },
              additionalPrinterColumns: [],
            },
          ],
        },
      } satisfies CustomResourceDefinition;
    }),
  );
}

/** Everything that `capstan install` installs: our own kinds, and those of the providers. Pure. */
export function allDefinitions(providers: readonly ProviderSpecs[]): CustomResourceDefinition[] {
  return [...customResourceDefinitions(), ...identityDefinitions(providers)];
}

/** As cluster-api-provider-aws calls them: awsclusterroleidentities. */
function pluralOf(kind: string): string {
  const { singular, plural } = namesOf(kind);
  return singular.endsWith("y") ? `${singular.slice(0, -1)}ies` : plural;
}
