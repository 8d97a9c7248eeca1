// Accounts and ledgers made by hand, as the simulator would tell of them.

import type { AccountCall, AccountRow } from "./account.js";

interface Marks {
  readonly cluster: string;
  readonly name: string;
  /** One of its own unless given. */
  readonly token?: string;
}

function tagsOf({ cluster, name, token = `token of ${name}` }: Marks, kind: string) {
  return {
    "capstan:cluster": cluster,
    "capstan:clusterUid": `uid of ${cluster}`,
    "capstan:kind": kind,
    "capstan:name": name,
    "capstan:token": token,
  };
}

export function vpc(id: string, marks: Marks): AccountRow {
  return { id, tags: tagsOf(marks, "AwsVpc"), cidr: "10.0.0.0/16" };
}

export function instance(id: string, marks: Marks): AccountRow {
  return { id, tags: tagsOf(marks, "AwsInstance"), state: "running", metadata: {} };
}

export function volume(id: string, marks: Marks, instanceId: string): AccountRow {
  const attachment = { instanceId, deleteOnTermination: false };
  return { id, tags: tagsOf(marks, "AwsVolume"), attachment };
}

export function targetGroup(id: string, marks: Marks): AccountRow {
  return { id, tags: tagsOf(marks, "AwsTargetGroup"), attributes: {} };
}

export interface MadeCall {
  readonly action: string;
  readonly changes?: readonly string[];
  /** Of what it makes. */
  readonly marks?: Marks;
  readonly isMutating?: boolean;
  readonly status?: number;
}

/** A ledger of these calls, in their order. */
export function callsOf(...calls: readonly MadeCall[]): AccountCall[] {
  return calls.map(({ action, changes = [], marks, isMutating = true, status = 200 }, index) => {
    const tags = Object.entries(marks === undefined ? {} : tagsOf(marks, ""));
    const parameters = tags.flatMap(([key, value], number) => [
      [`TagSpecification.1.Tag.${number + 1}.Key`, key],
      [`TagSpecification.1.Tag.${number + 1}.Value`, value],
    ]);
    return {
      seq: index + 1,
      action,
      parameters: Object.fromEntries(parameters) as Record<string, string>,
      isMutating,
      faults: [],
      outcome: { status, changes },
    };
  });
}
