import { isDeepStrictEqual } from "node:util";
import type { CloudRow } from "./ledger-judge.js";
import { machineOf } from "./ledger-judge.js";

/** What one machine, or each machine of a set, is wanted to be, read from the manifests. */
export interface WantedMachines {
  /** The Machine's name, or the set's that its machines' names begin with. */
  readonly name: string;
  /** undefined for a Machine. */
  readonly replicas: number | undefined;
  /** The fields of a host that the manifests say. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/**
 * What is wrong between the hosts of a cloud and the manifests: each line names one machine that is
 * missing, too many, not running, or has another field than is wanted.
 */
export function judgeWanted(
  rows: readonly CloudRow[],
  wanted: readonly WantedMachines[],
): readonly string[] {
  const hosts = rows.filter(({ kind, state }) => kind === "LocalHost" && state !== "terminated");
  const singles = new Set(wanted.filter(({ replicas }) => replicas === undefined).map(nameOf));
  const owner = (host: CloudRow): WantedMachines | undefined => {
    const machine = machineOf(host.name);
    if (singles.has(machine)) return wanted.find(({ name }) => name === machine);
    const sets = wanted.filter(
      ({ name, replicas }) => replicas !== undefined && machine.startsWith(`${name}-`),
    );
    return sets.sort((left, right) => right.name.length - left.name.length)[0];
  };
  const owned = hosts.map((host) => ({ host, shape: owner(host) }));
  return [
    ...owned.flatMap(({ host, shape }) =>
      shape === undefined ? [`${host.name}: no manifest wants it`] : wrongFields(host, shape),
    ),
    ...wanted.flatMap((shape) => {
      const count = owned.filter((one) => one.shape === shape).length;
      const { name, replicas = 1 } = shape;
      return count === replicas ? [] : [`${name}: ${count} hosts, wanted ${replicas}`];
    }),
  ];
}

function nameOf({ name }: WantedMachines): string {
  return name;
}

function wrongFields(host: CloudRow, { fields }: WantedMachines): string[] {
  const differing = Object.entries(fields)
    .filter(([field, value]) => !isDeepStrictEqual(host.spec[field], value))
    .map(
      ([field, value]) =>
        `${host.name}: ${field} is ${JSON.stringify(host.spec[field])}, wanted ${JSON.stringify(value)}`,
    );
  // A tag that nobody wants any more is left over from what was taken back.
  const tagged = "tags" in host.spec && !("tags" in fields) && !isEmpty(host.spec["tags"]);
  return [
    ...differing,
    ...(tagged ? [`${host.name}: it has tags, wanted none`] : []),
    ...(host.state === "running" ? [] : [`${host.name}: it is ${host.state}`]),
  ];
}

function isEmpty(value: unknown): boolean {
  return isDeepStrictEqual(value, {});
}
