import type { MemberPath, Violation } from "../../api/diagnostic-codes.js";
import { fixedFields } from "../../api/fixed-fields.js";
import { isJsonObject, sameJson } from "../../api/json.js";
import { ruleWords } from "../../api/rules.js";
import { apiGroupOf } from "../../api/served-versions.js";
import {
  type AnyObject,
  asksForControlPlane,
  type ClusterMember,
  type Desired,
  type WrittenMachineSpec,
} from "../../api/types.js";
import type { Target } from "../../records/target.js";

/** A rule that an object violates by its difference to what is recorded. */
interface ObjectViolation {
  readonly object: ClusterMember;
  readonly violation: Violation;
}

/** What differs from the recorded objects although it cannot. Every one at once. Pure. */
export function checkImmutable(desired: Desired, recorded: Target | undefined): ObjectViolation[] {
  const objects: ClusterMember[] = [
    desired.cluster,
    ...desired.machines,
    ...desired.machineSets,
    ...desired.machineDeployments,
  ];
  return objects.flatMap((object) => {
    const before = recorded?.objects.find((one) => isSame(one, object));
    if (before === undefined) return [];
    return [
      ...fixedChanges(object, before),
      ...unreadVersion(object, before),
      ...roleChange(object, before),
    ].map((violation) => ({ object, violation }));
  });
}

function fixedChanges(object: ClusterMember, before: AnyObject): Violation[] {
  return fixedFields[object.kind].flatMap(({ path, part, hint }): Violation[] => {
    const [from, to] = [at(before, path), at(object, path)];
    if (part === "apiGroup" && apiGroupOf(String(from)) === apiGroupOf(String(to))) return [];
    const changes = changedMembers(from, to, path);
    return changes.map(({ path: changed, from, to }) => ({
      code: "IMMUTABLE",
      path: changed,
      summary: `cannot change from ${shown(from)} to ${shown(to)} while the ${object.kind} lives`,
      hint,
    }));
  });
}

const providerVersion = ["spec", "providerSpec", "value", "apiVersion"];

/**
 * Manifests and records are read into the storage version of their provider. What is recorded in another one was
 * written by a release that this one does not know, and what it says cannot be told.
 */
function unreadVersion(object: ClusterMember, before: AnyObject): Violation[] {
  if (object.kind !== "Cluster") return [];
  const [from, to] = [String(at(before, providerVersion)), String(at(object, providerVersion))];
  if (from === to || apiGroupOf(from) !== apiGroupOf(to)) return [];
  return [
    {
      code: "IMMUTABLE",
      path: providerVersion,
      summary: `is recorded in ${from}, which this release of its provider cannot read`,
      hint: `use a release of the provider that serves ${from}`,
    },
  ];
}

interface ChangedMember {
  readonly path: MemberPath;
  readonly from: unknown;
  readonly to: unknown;
}

/** What differs, as deep as both sides have it; lists are compared as a whole. */
function changedMembers(from: unknown, to: unknown, path: MemberPath): ChangedMember[] {
  if (sameJson(from, to)) return [];
  if (!isJsonObject(from) || !isJsonObject(to)) return [{ path, from, to }];
  const names = Object.keys({ ...from, ...to });
  const isShared = names.every((name) => name in from && name in to);
  if (!isShared) return [{ path, from, to }];
  return names.flatMap((name) => changedMembers(from[name], to[name], [...path, name]));
}

function shown(value: unknown): string {
  return value === undefined ? "none" : JSON.stringify(value);
}

/** A host is built for its role: a worker does not become a control-plane member, nor the reverse. */
function roleChange(object: ClusterMember, before: AnyObject): Violation[] {
  const spec = machineSpecOf(object);
  const earlier = machineSpecOf(before);
  if (spec === undefined || earlier === undefined) return [];
  const role = writtenRole(spec.spec);
  if (role === undefined || role === (writtenRole(earlier.spec) ?? "worker")) return [];
  return [
    {
      code: "IMMUTABLE",
      path: [...spec.path, spec.spec.versions === undefined ? "roles" : "versions"],
      summary: `cannot become a ${role} while the ${object.kind} lives`,
      hint: ruleWords.newRole.hint,
    },
  ];
}

/** Undefined where the manifest leaves the role to what is recorded. */
function writtenRole(spec: WrittenMachineSpec): string | undefined {
  if (asksForControlPlane(spec)) return "control-plane member";
  const { roles, versions } = spec;
  return roles === undefined && versions === undefined ? undefined : "worker";
}

function machineSpecOf(
  object: AnyObject,
): { spec: WrittenMachineSpec; path: MemberPath } | undefined {
  if (object.kind === "Machine") return { spec: object.spec, path: ["spec"] };
  if (object.kind === "MachineSet" || object.kind === "MachineDeployment") {
    return { spec: object.spec.template.spec, path: ["spec", "template", "spec"] };
  }
  return undefined;
}

function isSame(left: AnyObject, right: AnyObject): boolean {
  return (
    left.kind === right.kind &&
    left.metadata.name === right.metadata.name &&
    left.metadata.namespace === right.metadata.namespace
  );
}

function at(value: unknown, path: MemberPath): unknown {
  return path.reduce<unknown>(
    (current, part) => (isJsonObject(current) ? current[part] : undefined),
    value,
  );
}
