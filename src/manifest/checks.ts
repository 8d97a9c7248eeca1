import ipaddr from "ipaddr.js";
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
import { profileAnnotation, profiles } from "../api/set-profile.js";
import { nearest } from "../api/validate.js";
import { oldestVersion, skewOf } from "../api/versions.js";

/** A Machine's spec wherever it stands: on a Machine or in a template. */
export interface PlacedSpec {
  readonly spec: WrittenMachineSpec;
  /** Where the spec stands in its object. */
  readonly path: MemberPath;
}

/** What is wrong with a Cluster beyond its schema: address ranges. Pure. */
export function checkCluster({ spec }: ClusterObject): Violation[] {
  const ranges = (["services", "pods"] as const).flatMap((network) =>
    spec.clusterNetwork[network].cidrBlocks.map((text, index) => ({
      text,
      path: ["spec", "clusterNetwork", network, "cidrBlocks", index] as MemberPath,
      range: rangeOf(text),
    })),
  );
  return ranges.flatMap(({ text, path, range }, index): Violation[] => {
    if (range === undefined) {
      const { summary, hint } = ruleWords.badRange;
      return [{ code: "BAD_FORMAT", path, summary: `"${text}" ${summary}`, hint }];
    }
    const earlier = ranges.slice(0, index).find((one) => overlap(one.range, range));
    if (earlier === undefined) return [];
    return [
      {
        code: "CIDR_OVERLAP",
        path,
        summary: `${text} overlaps ${earlier.text} (${earlier.path.slice(2, 3).join("")})`,
        hint: ruleWords.overlap.hint,
      },
    ];
  });
}

/** What is wrong with one Machine's spec beyond its schema. Pure. */
export function checkMachineSpec({ spec, path }: PlacedSpec): Violation[] {
  const master = spec.roles?.includes("Master");
  if (spec.roles !== undefined && spec.versions?.controlPlane !== undefined && master === false) {
    return [{ code: "ROLE_MISMATCH", path: [...path, "roles"], ...ruleWords.noMaster }];
  }
  return [];
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
  const own = ownAnnotations(object.metadata.annotations, ["metadata", "annotations"]);
  switch (object.kind) {
    case "MachineSet":
    case "MachineDeployment": {
      const path = ["spec", "template", "metadata", "annotations"];
      return [...own, ...ownAnnotations(object.spec.template.metadata?.annotations, path)];
    }
    case "Cluster":
    case "Machine":
    case "MachineClass":
      return own;
  }
}

/** What each annotation of this project may say. */
const annotationValues: Readonly<
  Record<string, { readonly values: readonly string[]; readonly what: string }>
> = {
  [updatePolicyAnnotation]: { values: updatePolicies, what: "update policy" },
  [profileAnnotation]: { values: profiles, what: "profile of set arithmetic" },
};

function ownAnnotations(
  annotations: Readonly<Record<string, string>> | undefined,
  path: MemberPath,
): Violation[] {
  return Object.entries(annotations ?? {}).flatMap(([name, value]): Violation[] => {
    if (!name.startsWith(ownAnnotationPrefix)) return [];
    const at = [...path, name];
    const known = annotationValues[name];
    if (known === undefined) {
      const hint = `known: ${Object.keys(annotationValues).join(", ")}`;
      return [{ code: "FIELD_UNKNOWN", path: at, summary: `unknown annotation "${name}"`, hint }];
    }
    const { values, what } = known;
    if (values.includes(value)) return [];
    const near = nearest(value, values);
    const hint = near === undefined ? `one of ${values.join(", ")}` : `did you mean ${near}?`;
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

function rangeOf(text: string): Range | undefined {
  return ipaddr.isValidCIDR(text) ? ipaddr.parseCIDR(text) : undefined;
}

/** Two ranges overlap when the wider one holds the other's first address. */
function overlap(left: Range | undefined, right: Range | undefined): boolean {
  if (left === undefined || right === undefined || left[0].kind() !== right[0].kind()) return false;
  const prefix = Math.min(left[1], right[1]);
  return left[0].match(right[0], prefix);
}
