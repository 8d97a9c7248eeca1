import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseAllDocuments } from "yaml";

export const root = join(fileURLToPath(import.meta.url), "..", "..", "..", "..");
export const manifestFolder = join(root, "deploy", "kubernetes");

export interface DeployedManifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec?: unknown;
  readonly rules?: readonly Rule[];
}

export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** The manifests of one file, or of every file of a folder. */
export function manifestsIn(...path: string[]): DeployedManifest[] {
  const place = join(manifestFolder, ...path);
  const files = place.endsWith(".yaml")
    ? [place]
    : readdirSync(place)
        .filter((name) => name.endsWith(".yaml") && name !== "kustomization.yaml")
        .sort()
        .map((name) => join(place, name));
  return files.flatMap((file) =>
    parseAllDocuments(readFileSync(file, "utf8")).map(
      (document) => document.toJS() as DeployedManifest,
    ),
  );
}

interface Container {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}

/** As much of the Deployment as tests look at. */
export interface DeploymentSpec {
  readonly replicas: number;
  readonly template: {
    readonly metadata: { readonly labels: Readonly<Record<string, string>> };
    readonly spec: {
      readonly serviceAccountName: string;
      readonly terminationGracePeriodSeconds: number;
      readonly initContainers: readonly Container[];
      readonly containers: readonly Container[];
      readonly volumes: readonly { readonly name: string }[];
    };
  };
}

export function deploymentSpec(): DeploymentSpec {
  return manifestsIn("deployment.yaml")[0]?.spec as DeploymentSpec;
}
