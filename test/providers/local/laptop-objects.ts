import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { repository } from "../../scenario/sandbox.js";
import { leaderElection } from "../../support/manifests.js";

/** The part of a Machine's spec that tests change. */
export interface LaptopMachine {
  versions?: { kubelet: string; controlPlane?: string };
  deletion?: object;
  providerSpec: { value: { faults?: object[]; size?: string; tags?: object; kubeadm?: object } };
  template?: { spec: LaptopMachine };
  strategy?: object;
}

/** What a test says of the workers, over the example. */
export interface LaptopWorkers {
  readonly value?: LaptopMachine["providerSpec"]["value"];
  readonly kubelet?: string;
  readonly deletion?: object;
  /** They are changed one after the other, with no host more. */
  readonly inPlace?: boolean;
}

/** A kubelet reports every 10 s; the control plane waits 50 s by default before it misses one. */
const clusterConfiguration = {
  controllerManager: { extraArgs: { ...leaderElection, "node-monitor-grace-period": "25s" } },
  scheduler: { extraArgs: leaderElection },
};

/** The objects of examples/laptop, of a version. */
export function laptop(version: string, workers: LaptopWorkers = {}): object[] {
  const folder = join(repository, "examples", "laptop");
  const objects = readdirSync(folder).flatMap((name) =>
    parseAllDocuments(readFileSync(join(folder, name), "utf8")).map(
      (document) => document.toJS() as { kind: string; spec: LaptopMachine },
    ),
  );
  for (const { kind, spec } of objects) {
    if (kind === "Machine") setMember(spec, version);
    if (kind === "MachineDeployment") setWorkers(spec, version, workers);
  }
  return objects;
}

function setMember(spec: LaptopMachine, version: string): void {
  spec.versions = { kubelet: version, controlPlane: version };
  spec.providerSpec.value.kubeadm = { clusterConfiguration };
}

function setWorkers(
  spec: LaptopMachine,
  version: string,
  { value, kubelet = version, deletion, inPlace = false }: LaptopWorkers,
): void {
  const machine = spec.template!.spec;
  machine.versions = { kubelet };
  Object.assign(machine.providerSpec.value, value);
  if (deletion !== undefined) machine.deletion = deletion;
  const rollingUpdate = { maxSurge: 0, maxUnavailable: 1 };
  if (inPlace) spec.strategy = { type: "RollingUpdate", rollingUpdate };
}
