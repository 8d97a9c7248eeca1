// How security groups are found and made.

import { ApiError } from "../protocol/api-error.js";
import { newId, type Scope } from "../model/scope.js";
import type { GroupRow, RuleRow } from "../model/tables.js";
import { mustGet } from "./kinds.js";

/** Makes a group that lets everything out, as new ones do. */
export function addGroup(scope: Scope, group: Omit<GroupRow, "id">): GroupRow {
  const row: GroupRow = { id: newId(scope, "sg"), ...group };
  scope.db.put("groups", row);
  const everything = { protocol: "-1", fromPort: -1, toPort: -1, tags: {} };
  const peers = [{ kind: "cidr", value: "0.0.0.0/0" } as const];
  // The default group lets its members in.
  if (row.name === "default") {
    const peer = { kind: "group", value: row.id } as const;
    scope.db.put("rules", {
      id: newId(scope, "sgr"),
      groupId: row.id,
      isEgress: false,
      peer,
      ...everything,
    });
  }
  for (const peer of peers) {
    scope.db.put("rules", {
      id: newId(scope, "sgr"),
      groupId: row.id,
      isEgress: true,
      peer,
      ...everything,
    });
  }
  return row;
}

/** The named VPC, or the default one. Throws where there is none. */
export function vpcOf(scope: Scope, named: string | undefined): string {
  if (named !== undefined) return mustGet(scope, "vpcs", named).id;
  const standard = scope.db.all("vpcs").find(({ isDefault }) => isDefault);
  if (standard !== undefined) return standard.id;
  throw new ApiError("VPCIdNotSpecified", "No default VPC for this user");
}

/** By id, or by name in the default VPC. */
export function groupNamed(
  scope: Scope,
  id: string | undefined,
  name: string | undefined,
): GroupRow {
  if (id !== undefined) return mustGet(scope, "groups", id);
  if (name === undefined) {
    throw new ApiError(
      "MissingParameter",
      "The request must contain the parameter groupName or groupId",
    );
  }
  const vpcId = vpcOf(scope, undefined);
  const group = scope.db.all("groups").find((one) => one.vpcId === vpcId && one.name === name);
  if (group !== undefined) return group;
  throw new ApiError(
    "InvalidGroup.NotFound",
    `The security group '${name}' does not exist in default VPC '${vpcId}'`,
  );
}

/** The rules of a group, oldest first. */
export function rulesOf({ db }: Scope, id: string): readonly RuleRow[] {
  return db.all("rules").filter(({ groupId }) => groupId === id);
}
