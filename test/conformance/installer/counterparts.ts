import type { StepFault } from "./installer-course.js";

/** A call of the old installer that a case lets fail. */
export interface GivenFault {
  readonly on: string;
  readonly call: string;
}

/** Where a call of the old installer stands in the product. docs/conformance.md tells why. */
export type Counterpart =
  | {
      readonly kind: "step";
      /** Of the old installer. */
      readonly phase: string;
      readonly fault: StepFault;
    }
  /** The product never does that, so that it cannot fail. In the old installer it failed in that phase, or is not to be noticed there either. */
  | { readonly kind: "none"; readonly phase: string | null };

const step = (phase: string, name: string, how: StepFault["how"] = "fails"): Counterpart => ({
  kind: "step",
  phase,
  fault: { step: name, how },
});

const none = (phase: string | null): Counterpart => ({ kind: "none", phase });

/** Of `create`: `capstan up`, then `capstan move --to kubernetes`. By "<party> <call>". */
export const createCounterparts: Readonly<Record<string, Counterpart>> = {
  "provisioner Create": step("create-bootstrap-cluster", "up: read records"),
  "clientFactory NewClientFromKubeconfig": step("create-bootstrap-cluster", "up: read records"),
  "bootstrap Apply": step("apply-bootstrap-only-components", "up: get ready"),
  "bootstrap WaitForClusterV1alpha1Ready": step("apply-cluster-api-components", "up: get ready"),
  "bootstrap EnsureNamespace": step("create-cluster-object", "up: begin"),
  "bootstrap CreateClusterObject": step("create-cluster-object", "up: begin"),
  "bootstrap CreateMachines": step("create-first-control-plane-machine", "up: create LocalHost"),
  "bootstrap GetMachines": endpoint(),
  "bootstrap GetCluster": endpoint(),
  "bootstrap UpdateClusterObjectEndpoint": endpoint(),
  "bootstrap GetClusters": step("pivot", "move to server: read records"),
  // Only a warning.
  "bootstrap Delete": none(null),
  "target Apply": step("pivot", "move to server: list Cluster"),
  "target Apply of addons": none("apply-addons"),
  "target Apply of bootstrap-only": none(null),
  "target WaitForClusterV1alpha1Ready": step("pivot", "move to server: list Cluster"),
  "target EnsureNamespace": arrival("Cluster", "hasNoNamespace"),
  "target CreateClusterObject": arrival("Cluster"),
  "target CreateMachines": arrival("Machine"),
  "componentsStore Save": none("save-provider-components"),
  "target UpdateClusterObjectEndpoint": none("update-target-endpoint"),
};

/** What does not arrive is given back to files. */
function arrival(kind: string, how: StepFault["how"] = "fails"): Counterpart {
  const fault = { step: `move to server: create ${kind}`, how, triesOn: true } as const;
  return { kind: "step", phase: "pivot", fault };
}

function endpoint(): Counterpart {
  return step("update-bootstrap-endpoint", "up: create LocalLoadBalancer", "isNotRecorded");
}

/** Of `delete`: `capstan move --to files`, then `capstan destroy`. */
export const deleteCounterparts: Readonly<Record<string, Counterpart>> = {
  "provisioner Create": step("create-bootstrap-cluster", "move to files: read records"),
  "clientFactory NewClientFromKubeconfig": step(
    "create-bootstrap-cluster",
    "move to files: read records",
  ),
  "bootstrap Apply": step("pivot", "move to files: lock"),
  "bootstrap WaitForClusterV1alpha1Ready": step("pivot", "move to files: lock"),
  "target WaitForClusterV1alpha1Ready": step("pivot", "move to files: list Cluster"),
  // Only a warning.
  "target Delete": none(null),
  "target GetClusters": step("pivot", "move to files: list Cluster"),
  "target GetMachineDeployments": step("pivot", "move to files: list MachineDeployment"),
  "target GetMachineSets": step("pivot", "move to files: list MachineSet"),
  "target GetMachines": step("pivot", "move to files: list Machine"),
  "target GetMachineClasses": step("pivot", "move to files: list MachineClass"),
  "bootstrap CreateMachineDeployments": step("pivot", "move to files: lock", "hasNoFolder"),
  "bootstrap CreateMachineSets": step("pivot", "move to files: lock", "hasNoFolder"),
  "bootstrap CreateMachines": step("pivot", "move to files: lock", "hasNoFolder"),
  "bootstrap CreateClusterObject": step("pivot", "move to files: begin"),
  "bootstrap DeleteMachineDeployments": deletion("MachineDeployment"),
  "bootstrap DeleteMachineSets": deletion("MachineSet"),
  "bootstrap DeleteMachines": deletion("Machine"),
  "bootstrap DeleteMachineClasses": none("delete-objects"),
  "bootstrap DeleteClusters": deletion("Cluster"),
};

function deletion(kind: string): Counterpart {
  const fault = { step: `destroy: delete of ${kind}`, how: "fails", triesOn: true } as const;
  return { kind: "step", phase: "delete-objects", fault };
}

/** What a case lets fail, and what decides which call that is. */
export interface GivenFaults {
  readonly faults?: readonly GivenFault[];
  /** Applied to the target before anything moves there; none where there is no text. */
  readonly addonComponents?: string;
}

/** Where the faults of a case strike, in its order. Throws an Error for what is not covered. */
export function counterpartsOf(
  { faults = [], addonComponents = "" }: GivenFaults,
  counterparts: Readonly<Record<string, Counterpart>>,
): Counterpart[] {
  return faults.map(({ on, call }) => {
    const asked = `${on} ${call}`;
    const isOfAddons = asked === "target Apply" && addonComponents !== "";
    const name = isOfAddons ? `${asked} of addons` : asked;
    const counterpart = Object.hasOwn(counterparts, name) ? counterparts[name] : undefined;
    if (counterpart === undefined) throw new Error(`a fault at ${name} is not covered yet`);
    return counterpart;
  });
}

/** What goes wrong in the product; nothing where there is nothing that could. */
export function faultsOf(counterparts: readonly Counterpart[]): StepFault[] {
  return counterparts.flatMap((one) => (one.kind === "step" ? [one.fault] : []));
}
