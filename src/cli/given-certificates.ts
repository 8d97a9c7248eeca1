import { recordedKeys } from "../records/recorded-keys.js";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { CapstanError, messageOf } from "../api/error.js";
import { asJson, sameJson } from "../api/json.js";
import type { ClusterKeys } from "../bootstrap/certificates/cluster-keys.js";
import { givenKeys, keyFilePlaces } from "../bootstrap/certificates/given-keys.js";
import type { InfrastructureProvider } from "../provider/port.js";
import type { Plan } from "../plan/plan.js";
import type { PriorState } from "../records/prior-state.js";

/** Somebody's own keys, and where they lie. */
export interface GivenCertificates {
  readonly folder: string;
  readonly keys: Partial<ClusterKeys>;
}

const names = Object.values(keyFilePlaces).flat();

/** The folder of --certificates. Throws INVALID_INPUT with all that is wrong, without any content of the files. */
export function readCertificates(
  folder: string | undefined,
  nowMs: number,
): GivenCertificates | undefined {
  if (folder === undefined) return undefined;
  const given = givenKeys(filesIn(folder), keyFilePlaces, nowMs);
  if (given.kind === "keys") return { folder, keys: given.keys };
  throw cannotUse(folder, given.problems.join("; "));
}

function filesIn(folder: string): Map<string, string> {
  try {
    if (!statSync(folder).isDirectory()) throw new Error("it is no folder");
    const there = names.filter((name) => existsSync(join(folder, name)));
    return new Map(there.map((name) => [name, readFileSync(join(folder, name), "utf8")]));
  } catch (error) {
    throw cannotUse(folder, messageOf(error), error);
  }
}

function cannotUse(folder: string, reason: string, cause?: unknown): CapstanError {
  return new CapstanError({
    code: "INVALID_INPUT",
    source: "user",
    subject: folder,
    message: `cannot use the certificates in ${folder}: ${reason}`,
    hint: "a folder as kubeadm lays it out: ca.crt, ca.key, etcd/ca.crt and so on; nothing was touched",
    cause,
  });
}

/** Throws INVALID_INPUT where hosts take no user data. */
export function refuseIdleCertificates({ name, userData }: InfrastructureProvider): void {
  if (userData !== undefined) return;
  throw new CapstanError({
    code: "INVALID_INPUT",
    source: "user",
    message: `--certificates has no effect: hosts of provider ${name} take no user data`,
    hint: "leave it out; its provider makes nodes of them in its own way",
  });
}

const keyNames = Object.keys(keyFilePlaces) as (keyof ClusterKeys)[];

/**
 * Law 15: nobody makes up what the hosts of a cluster already trust. Throws INVALID_INPUT for less than all keys of a
 * cluster that runs, and has none recorded.
 */
export function refusePartOfKeys(
  { cluster, transaction: { goal } }: Plan,
  { transaction }: PriorState,
  given: GivenCertificates,
): void {
  const runs = goal.kind === "adopt" || transaction !== undefined;
  if (!runs || transaction?.keys !== undefined) return;
  const missing = keyNames.filter((name) => given.keys[name] === undefined);
  if (missing.length === 0) return;
  throw new CapstanError({
    code: "INVALID_INPUT",
    source: "user",
    subject: cluster,
    message: `cannot give ${cluster} the certificates in ${given.folder}: its hosts were made with keys that are not among them (${missing.join(", ")})`,
    hint: "give a whole backup, as capstan certificates export writes it; nothing was touched",
  });
}

/** Throws INVALID_INPUT for other keys than a cluster has: its hosts trust those that they were made with. */
export function refuseOtherKeys(state: PriorState, given: GivenCertificates): void {
  const recorded = recordedKeys(state);
  if (recorded === undefined) return;
  const others = keyNames.filter((name) => {
    const one = given.keys[name];
    return one !== undefined && !sameJson(asJson(one), asJson(recorded[name]));
  });
  if (others.length === 0) return;
  const cluster = state.transaction?.target.cluster ?? "";
  throw new CapstanError({
    code: "INVALID_INPUT",
    source: "user",
    subject: cluster,
    message: `cannot give ${cluster} the certificates in ${given.folder}: it was made with others (${others.join(", ")})`,
    hint: "leave --certificates out; capstan certificates show tells what it has",
  });
}
