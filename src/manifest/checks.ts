import ipaddr from "ipaddr.js";
import type { MemberPath, Violation } from "../api/diagnostic-codes.js";
import { isEmptySelector, requirementHolds } from "../api/label-selector.js";
import { ruleWords } from "../api/rules.js";
import type { LabelSelector } from "../api/schema.js";
import type { ClusterObject, WrittenMachineSpec } from "../api/types.js";
import { skewOf } from "../api/versions.js";
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
  if (isEmptySelector(selector)) {
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
