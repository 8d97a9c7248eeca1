import type { LedgerRow } from "../../scenario/ledger-judge.js";
import {
  type AccountTables,
  type AccountCall,
  kindsOfTables,
  machineOf,
  marksOf,
} from "./account.js";

/** Who bears which marks: everything that was ever seen in an account, by id. */
export type MarkRoster = ReadonlyMap<string, { readonly cluster: string; readonly name: string }>;

/** The roster with what is there now, and what the calls have made since it was last looked. Pure. */
export function enrolled(
  roster: MarkRoster,
  account: AccountTables,
  calls: readonly AccountCall[],
): MarkRoster {
  const rows = Object.values(account)
    .flat()
    .map((row) => [row.id, marksOf(row)] as const);
  const made = calls.flatMap((call) => {
    const marks = marksOf({ tags: tagsIn(call.parameters) });
    return changesOf(call)
      .filter(({ sign, table }) => sign === "+" && makesMarked(call, table))
      .map(({ id }) => [id, marks] as const);
  });
  return new Map([...roster, ...made, ...rows.filter(([, { name }]) => name !== "")]);
}

/** A launch makes a volume and an interface as well, which bear no marks. */
function makesMarked({ action }: AccountCall, table: string): boolean {
  return action !== "ec2:RunInstances" || table === "instances";
}

/** The tags that a call gives to what it makes. */
export function tagsIn(parameters: AccountCall["parameters"]): Record<string, string> {
  const keys = Object.entries(parameters).filter(([name]) =>
    /^(TagSpecification\.1\.Tag|Tags\.member)\.\d+\.Key$/.test(name),
  );
  return Object.fromEntries(
    keys.map(([name, key]) => [key, parameters[name.replace(/Key$/, "Value")] ?? ""]),
  );
}

/** What a ledger says about resources with marks, in the words of the local cloud's ledger. Pure. */
export function ledgerRowsOf(calls: readonly AccountCall[], roster: MarkRoster): LedgerRow[] {
  return calls.flatMap((call) =>
    changesOf(call).flatMap(({ sign, table, id }): LedgerRow[] => {
      const kind = kindsOfTables[table];
      const marks = roster.get(id);
      if (kind === undefined || marks === undefined) return [];
      const effect = effectOf(call, sign);
      return [
        {
          seq: call.seq,
          pid: 0,
          call: effect === "created" ? "create" : effect === "updated" ? "update" : "terminate",
          effect,
          fault: call.faults[0] ?? null,
          kind,
          id,
          cluster: marks.cluster,
          name: marks.name,
        },
      ];
    }),
  );
}

const ending = /^ec2:(TerminateInstances|DeleteNatGateway)$/;

function effectOf({ action }: AccountCall, sign: string): "created" | "updated" | "terminated" {
  if (sign === "+") return "created";
  return sign === "-" || ending.test(action) ? "terminated" : "updated";
}

function changesOf({ outcome }: AccountCall) {
  return (outcome?.changes ?? []).flatMap((change) => {
    const [, sign = "", table = "", id = ""] = /^([+~-]) (\S+) (.+)$/.exec(change) ?? [];
    return sign === "" ? [] : [{ sign, table, id }];
  });
}

/** Machines for which more instances lived at a time than may: one, or two where hosts take the place of others. Pure. */
export function crowdedMachines(
  ledger: readonly LedgerRow[],
  cluster: string,
  most: number,
): string[] {
  const alive = new Map<string, string>();
  return ledger
    .filter((row) => row.kind === "AwsInstance" && row.cluster === cluster)
    .flatMap(({ effect, id, name }) => {
      const [instance, machine] = [id ?? "", machineOf(name ?? "")];
      if (effect === "terminated") alive.delete(instance);
      const others = [...alive].filter(([, other]) => other === machine);
      if (effect !== "created") return [];
      alive.set(instance, machine);
      if (others.length < most) return [];
      return others.map(([other]) => `${machine} has ${instance} and ${other} at one time`);
    });
}
