import type { JsonObject } from "../../src/api/json.js";
import type { Kind } from "../../src/api/schema.js";
import type { BootFault } from "../support/faults.js";

type NodeAilment = { readonly type: string; readonly status: "False" | "Unknown" } | "noNode";

/** What happens to both clusters of a trial, one after the other. */
export type TrialStep =
  /** Their users change the object; these members are laid over it. */
  | { readonly kind: "change"; readonly fields: JsonObject }
  /** New hosts fare so from then on, and their users change the object. */
  | { readonly kind: "changeBadly"; readonly fields: JsonObject; readonly boot: BootFault }
  /** Their users take the object away. */
  | { readonly kind: "remove" }
  /** The cloud loses hosts: the last ones of the object, of a Cluster the last of all. */
  | { readonly kind: "lose"; readonly hosts: number }
  /** The Nodes of the last hosts say this of a condition from then on, or are not there any more. */
  | { readonly kind: "ail"; readonly hosts: number; readonly says: NodeAilment }
  | { readonly kind: "wait"; readonly ms: number }
  /** Their users take every other worker away, or all there are. */
  | { readonly kind: "removeOthers" }
  /** One of the other workers is not wanted any more. */
  | { readonly kind: "fewerOthers" }
  /** Only of the other: somebody believes what the cloud shows. */
  | { readonly kind: "thaw" };

/** Two objects that differ in one field, and what is to show that it has an effect. */
export interface FieldTrial {
  readonly kind: Kind;
  /** "spec.versions.kubelet"; an annotation is "metadata.annotations[capstan.dev/protect]". */
  readonly field: string;
  /** Laid over both. */
  readonly both?: JsonObject;
  /** Laid over one of them. */
  readonly one: JsonObject;
  /** Laid over the other. */
  readonly other: JsonObject;
  readonly steps?: readonly TrialStep[];
  /** Its hosts are nodes, of which this does not go when they are deleted. */
  readonly keeps?: "pods" | "volumes" | "Nodes" | "pods that go" | "nothing";
  /** What it decides, where no input of a provider shows it: "which Machines go first". */
  readonly decides?: string;
  /** An API server shows its effect, and nothing else does. */
  readonly isShown?: true;
  /** Why it has no effect in files, or on an API server; absent: it has one in both. */
  readonly withoutEffect?: { readonly in: "files" | "server" | "both"; readonly because: string };
}
