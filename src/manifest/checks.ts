import ipaddr from "ipaddr.js";
import {
  driftAnnotations,
  driftPolicies,
  fingerprintDigits,
  isFingerprint,
  parseBound,
  parseFreezeTime,
} from "../api/drift-policy.js";
import type { MemberPath, Violation } from "../api/diagnostic-codes.js";
import { requirementHolds } from "../api/label-selector.js";
import { ruleWords } from "../api/rules.js";
import type { LabelSelector } from "../api/schema.js";
import type { AnyObject, ClusterObject, Desired, WrittenMachineSpec } from "../api/types.js";
import {
  ownAnnotationPrefix,
  updatePolicies,
  updatePolicyAnnotation,
} from "../api/update-policy.js";
import {
  allowRemovalAnnotation,
  parseRemovals,
  protectAnnotation,
  protectValues,
  removals,
} from "../api/protection.js";
import { profileAnnotation, profiles } from "../api/set-profile.js";
import { nearest } from "../api/validate.js";
import { oldestVersion, skewOf } from "../api/versions.js";
import type { PlacedSpec } from "./object-parts.js";

/** An address range of a Cluster. */
interface PlacedRange {
  readonly text: string;
  readonly path: MemberPath;
  /** Who has these addresses: "services". */
  readonly use: string;
  /** Undefined for a text that is none. */
  readonly range: Range | undefined;
}

/** What is wrong with a Cluster beyond its schema: address ranges. Pure. */
export function checkCluster(cluster: ClusterObject): Violation[] {
  const ranges = rangesOf(cluster);
  return ranges.flatMap(({ text, path, range }, index): Violation[] => {
    if (range === undefined) return [badRange(text, path)];
    const earlier = ranges.slice(0, index).find((one) => overlap(one.range, range));
    if (earlier === undefined) return [];
    const summary = `${text} overlaps ${earlier.text} (${earlier.use})`;
    return [{ code: "CIDR_OVERLAP", path, summary, hint: ruleWords.overlap.hint }];
  });
}

/**
 * What is wrong with the networks of a Cluster's hosts: `fields` of its provider's object hold a range
 * each. A node that has a Pod's address cannot be reached. Pure.
 */
export function checkHostNetworks(cluster: ClusterObject, fields: readonly string[]): Violation[] {
  const others = rangesOf(cluster);
  const value = cluster.spec.providerSpec.value as Record<string, unknown> | undefined;
  return fields.flatMap((field): Violation[] => {
    const text = value?.[field];
    if (typeof text !== "string") return [];
    const path = ["spec", "providerSpec", "value", field];
    const range = rangeOf(text);
    if (range === undefined) return [badRange(text, path)];
    const other = others.find((one) => overlap(one.range, range));
    if (other === undefined) return [];
    const summary = `${text} overlaps ${other.text} (${other.use})`;
    const hint = "hosts, Services and Pods need ranges of their own";
    return [{ code: "HOST_NETWORK", path, summary, hint }];
  });
}

function rangesOf({ spec }: ClusterObject): PlacedRange[] {
  return (["services", "pods"] as const).flatMap((use) =>
    spec.clusterNetwork[use].cidrBlocks.map((text, index): PlacedRange => {
      const path = ["spec", "clusterNetwork", use, "cidrBlocks", index];
      return { text, path, use, range: rangeOf(text) };
    }),
  );
}

function badRange(text: string, path: MemberPath): Violation {
  const { summary, hint } = ruleWords.badRange;
  return { code: "BAD_FORMAT", path, summary: `"${text}" ${summary}`, hint };
}

/** What is wrong with one Machine's spec beyond its schema. Pure. */
export function checkMachineSpec({ spec, path }: PlacedSpec): Violation[] {
  const { roles = [], versions } = spec;
  const isOfNode = roles.length > 0 && !roles.includes("Master");
  const double = roles.findIndex((role, index) => roles.indexOf(role) < index);
  return [
    ...(isOfNode && versions?.controlPlane !== undefined
      ? [{ code: "ROLE_MISMATCH" as const, path: [...path, "roles"], ...ruleWords.noMaster }]
      : []),
    ...(double < 0
      ? []
      : [
          {
            code: "ROLE_MISMATCH" as const,
            path: [...path, "roles", double],
            ...ruleWords.doubleRole,
          },
        ]),
  ];
}

/** Whether a providerSpec has exactly one of value and valueFrom. Pure. */
export function checkProviderSpec(
  spec: WrittenMachineSpec["providerSpec"],
  path: MemberPath,
): Violation[] {
  const both = spec.value !== undefined && spec.valueFrom !== undefined;
  const neither = spec.value === undefined && spec.valueFrom === undefined;
  if (!both && !neither) return [];
  return [
    {
      code: "PROVIDER_SPEC",
      path: both ? [...path, "valueFrom"] : path,
      ...(both ? ruleWords.bothProviderSpecs : ruleWords.noProviderSpec),
    },
  ];
}

/** A deployment whose machines could never count as progress in time. Pure. */
export function checkProgressDeadline({
  minReadySeconds,
  progressDeadlineSeconds,
}: {
  readonly minReadySeconds: number;
  readonly progressDeadlineSeconds: number;
}): Violation[] {
  if (progressDeadlineSeconds === 0 || progressDeadlineSeconds > minReadySeconds) return [];
  return [
    {
      code: "NOT_ALLOWED",
      path: ["spec", "progressDeadlineSeconds"],
      summary: `${progressDeadlineSeconds} ${ruleWords.deadline.summary} (${minReadySeconds})`,
      hint: `more than ${minReadySeconds}, or 0 for no limit`,
    },
  ];
}

/** Whether a set's selector says anything and matches the labels of its own template. Pure. */
export function checkSelector(
  selector: LabelSelector,
  labels: Readonly<Record<string, string>>,
): Violation[] {
  const { matchLabels = {}, matchExpressions = [] } = selector;
  const path = ["spec", "selector"];
  if (Object.keys(matchLabels).length === 0 && matchExpressions.length === 0) {
    return [{ code: "SELECTOR", path, ...ruleWords.emptySelector }];
  }
  const byLabel = Object.entries(matchLabels)
    .filter(([label, wanted]) => labels[label] !== wanted)
    .map(([label, wanted]): Violation => ({
      code: "SELECTOR",
      path: [...path, "matchLabels", label],
      summary: ruleWords.mismatch.summary,
      hint: `add ${label}: ${wanted} to spec.template.metadata.labels`,
    }));
  const byExpression = matchExpressions.flatMap((requirement, index): Violation[] => {
    if (requirementHolds(requirement, labels)) return [];
    return [
      {
        code: "SELECTOR",
        path: [...path, "matchExpressions", index],
        summary: ruleWords.mismatch.summary,
        hint: `spec.template.metadata.labels must satisfy ${requirement.key} ${requirement.operator} ${(requirement.values ?? []).join(", ")}`.trim(),
      },
    ];
  });
  return [...byLabel, ...byExpression];
}

/** The annotations of an object that this project reads: known ones with values that they can have. Pure. */
export function checkAnnotations(object: AnyObject): Violation[] {
  const { kind } = object;
  const own = ownAnnotations(kind, object.metadata.annotations, ["metadata", "annotations"]);
  switch (kind) {
    case "MachineSet":
    case "MachineDeployment": {
      const path = ["spec", "template", "metadata", "annotations"];
      return [...own, ...ownAnnotations(kind, object.spec.template.metadata?.annotations, path)];
    }
    case "Cluster":
    case "Machine":
    case "MachineClass":
      return own;
  }
}

/** What an annotation of this project may say. */
interface AnnotationRule {
  readonly what: string;
  /** The allowed values; of others the form is told. */
  readonly values?: readonly string[];
  fits(value: string): boolean;
  readonly form: string;
  /** The only kind that it is read on; absent: every kind. */
  readonly only?: AnyObject["kind"];
  /** Read of objects that live themselves: on no class and in no template. */
  readonly isOfObjects?: boolean;
}

function oneOf(what: string, values: readonly string[]): AnnotationRule {
  const fits = (value: string) => values.includes(value);
  return { what, values, fits, form: `one of ${values.join(", ")}` };
}

function onCluster(what: string, form: string, fits: AnnotationRule["fits"]): AnnotationRule {
  return { what, form, fits, only: "Cluster" };
}

const isBound = (value: string) => parseBound(value) !== undefined;
const boundForm = 'a number of machines, or a share of them such as "40%"';

const protection = oneOf("protection", protectValues);

const annotationRules: Readonly<Record<string, AnnotationRule>> = {
  [updatePolicyAnnotation]: oneOf("update policy", updatePolicies),
  [profileAnnotation]: oneOf("profile of set arithmetic", profiles),
  [protectAnnotation]: { ...protection, isOfObjects: true },
  [allowRemovalAnnotation]: onCluster(
    "list of what may be lost",
    `${removals.join(" or ")}, or both with a comma between`,
    (value) => parseRemovals(value) !== undefined,
  ),
  [driftAnnotations.policy]: oneOf("drift policy", driftPolicies),
  [driftAnnotations.maxUnhealthy]: onCluster("bound on unhealthy machines", boundForm, isBound),
  [driftAnnotations.maxInFlight]: onCluster("bound on corrections", boundForm, isBound),
  [driftAnnotations.freeze]: onCluster(
    "time to stay frozen",
    '"never", or a time such as "90s", "30m" or "2h"',
    (value) => parseFreezeTime(value) !== undefined,
  ),
  [driftAnnotations.thaw]: onCluster(
    "fingerprint of a drift report",
    `the ${fingerprintDigits} digits and letters that capstan drift shows`,
    isFingerprint,
  ),
};

function ownAnnotations(
  kind: AnyObject["kind"],
  annotations: Readonly<Record<string, string>> | undefined,
  path: MemberPath,
): Violation[] {
  return Object.entries(annotations ?? {}).flatMap(([name, value]): Violation[] => {
    if (!name.startsWith(ownAnnotationPrefix)) return [];
    const at = [...path, name];
    const rule = annotationRules[name];
    if (rule === undefined) {
      const hint = `known: ${Object.keys(annotationRules).join(", ")}`;
      return [{ code: "FIELD_UNKNOWN", path: at, summary: `unknown annotation "${name}"`, hint }];
    }
    const { what, values, form, only = kind } = rule;
    if (only !== kind) {
      const hint = `set it on the ${only}`;
      return [{ code: "NOT_ALLOWED", path: at, summary: `is not read on a ${kind}`, hint }];
    }
    if (rule.isOfObjects === true && (kind === "MachineClass" || path[0] !== "metadata")) {
      const summary = `is not read ${kind === "MachineClass" ? "on a MachineClass" : "in a template"}`;
      return [{ code: "NOT_ALLOWED", path: at, summary, hint: "set it on an object of a cluster" }];
    }
    if (rule.fits(value)) return [];
    const near = values && nearest(value, values);
    const hint = near === undefined ? form : `did you mean ${near}?`;
    return [{ code: "NOT_ALLOWED", path: at, summary: `"${value}" is no ${what}`, hint }];
  });
}

/**
 * A kubelet against the control plane on its own machine, or else the oldest of its cluster: never newer,
 * not too far behind. Pure.
 */
export function checkSkew({ spec, path }: PlacedSpec, oldest: string | undefined): Violation[] {
  const { kubelet, controlPlane = oldest } = spec.versions ?? {};
  if (kubelet === undefined || controlPlane === undefined) return [];
  const skew = skewOf(kubelet, controlPlane);
  if (skew === undefined) return [];
  return [
    {
      code: "VERSION_SKEW",
      path: [...path, "versions", "kubelet"],
      summary: skew.summary,
      detail: skew.rule,
      hint: (skew.kind === "newer" ? ruleWords.kubeletNewer : ruleWords.kubeletTooOld).hint,
    },
  ];
}

/** The oldest control-plane version that is written anywhere in a cluster. Pure. */
export function oldestControlPlane(desired: Desired): string | undefined {
  const versions = [
    ...desired.machines.map(({ spec }) => spec),
    ...desired.machineSets.map(({ spec }) => spec.template.spec),
    ...desired.machineDeployments.map(({ spec }) => spec.template.spec),
  ].flatMap(({ versions: one }) => one?.controlPlane ?? []);
  return oldestVersion(versions);
}

type Range = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** As an API server reads them: no octal numbers, and no IPv4 addresses in the clothes of IPv6. */
function rangeOf(text: string): Range | undefined {
  const octal = text.includes(":") ? /[./]0\d/ : /(^|[./])0\d/;
  if (octal.test(text) || !ipaddr.isValidCIDR(text)) return undefined;
  const [address, prefix] = ipaddr.parseCIDR(text);
  const isMapped = address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress();
  return isMapped ? undefined : [address, prefix];
}

/** Two ranges overlap when the wider one holds the other's first address. */
function overlap(left: Range | undefined, right: Range | undefined): boolean {
  if (left === undefined || right === undefined) return false;
  const [[first, firstBits], [second, secondBits]] = [left, right];
  return first.kind() === second.kind() && first.match(second, Math.min(firstBits, secondBits));
}
