import type { MemberPath, Violation } from "../api/diagnostic-codes.js";
import { fixedFields } from "../api/fixed-fields.js";
import { isJsonObject, sameJson } from "../api/json.js";
import { ruleWords } from "../api/rules.js";
import type { AnyObject, ClusterMember, Desired, WrittenMachineSpec } from "../api/types.js";
import type { Target } from "./target.js";

/** A rule that an object violates by its difference to what is recorded. */
export interface ObjectViolation {
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
    return [...fixedChanges(object, before), ...roleChange(object, before)].map((violation) => ({
      object,
      violation,
    }));
  });
}

function fixedChanges(object: ClusterMember, before: AnyObject): Violation[] {
  return fixedFields[object.kind].flatMap(({ path, hint }): Violation[] => {
    const [from, to] = [at(before, path), at(object, path)];
    if (sameJson(from, to)) return [];
    const summary = `cannot change from ${JSON.stringify(from)} while the ${object.kind} lives`;
    return [{ code: "IMMUTABLE", path, summary, hint }];
  });
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
function writtenRole({ roles, versions }: WrittenMachineSpec): string | undefined {
  if (roles?.includes("Master") === true || versions?.controlPlane !== undefined) {
    return "control-plane member";
  }
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
