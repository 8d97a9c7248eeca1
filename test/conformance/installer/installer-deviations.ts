import type { Deviation } from "../deviations.js";
import {
  counterpartsOf,
  createCounterparts,
  deleteCounterparts,
  type GivenFaults,
} from "./counterparts.js";
import { type GivenMember, isMember } from "./given-objects.js";

interface InstallerGiven extends GivenFaults {
  readonly cleanupBootstrapCluster?: boolean;
  readonly providerComponents?: string;
  readonly operation?: string;
  readonly bootstrapContextNamespace?: string;
  readonly clusters?: readonly {
    readonly namespace: string;
    readonly name: string;
    readonly machines: readonly { readonly name: string }[];
  }[];
}

/** "DeleteMachineClasses" is about MachineClass. */
function deletedKindsIn({ faults = [] }: GivenFaults): string[] {
  const calls = faults.map(({ call }) => /^Delete(.+?)(e?)s$/.exec(call));
  return calls.flatMap((match) => {
    if (match === null) return [];
    const [, name = "", ending = ""] = match;
    return [name === "MachineClass" ? name : `${name}${ending}`];
  });
}

/** What becomes of cases of `create` and `delete` by what the product does otherwise. docs/conformance.md lists the same. */
export const installerDeviations: readonly Deviation[] = [
  {
    reason: "no bootstrap cluster is made: a stack's records stand for it",
    of: ({ faults = [] }: InstallerGiven) => {
      const isMade = !faults.some(({ on }) => on === "provisioner");
      const at = ["bootstrapCluster", "everCreated"];
      return isMade ? [{ at, theirs: true, ours: false }] : [];
    },
  },
  {
    reason: "no bootstrap cluster is left, as there never is one",
    of: ({ cleanupBootstrapCluster }: InstallerGiven) => {
      const at = ["bootstrapCluster", "existsAfterwards"];
      return cleanupBootstrapCluster === false ? [{ at, theirs: true, ours: false }] : [];
    },
  },
  {
    reason: "objects without a namespace are in default, whatever a kubeconfig says",
    of: ({ clusters = [], bootstrapContextNamespace = "" }: InstallerGiven) => {
      const [cluster] = clusters;
      if (cluster?.namespace !== "") return [];
      const machines = cluster.machines.map(({ name }) => name);
      const inContext = <T>(value: T) => ({ [bootstrapContextNamespace]: value });
      return [
        {
          at: ["target", "clusters"],
          theirs: inContext([cluster.name]),
          ours: { default: [cluster.name] },
        },
        { at: ["target", "machines"], theirs: inContext(machines), ours: { default: machines } },
        {
          at: ["bootstrap", "namespacesEnsured"],
          theirs: [bootstrapContextNamespace],
          ours: ["default"],
        },
      ];
    },
  },
  {
    reason: "move makes no namespace: where there is none it says so, and nothing has moved",
    of: ({ clusters = [], bootstrapContextNamespace = "" }: InstallerGiven) => {
      const namespaces = clusters.map(({ namespace }) => namespace || bootstrapContextNamespace);
      const theirs = [...new Set(namespaces)];
      return [{ at: ["target", "namespacesEnsured"], theirs, ours: [] }];
    },
  },
  {
    reason:
      "no provider components are saved: the program is all there is, and install prints its objects again",
    of: ({ providerComponents }: InstallerGiven) =>
      providerComponents === undefined
        ? []
        : [{ at: ["saveCalledWith"], theirs: providerComponents, ours: null }],
  },
  {
    reason:
      "what is never done cannot fail: a controller writes the endpoint, add-ons are their users' to apply, nothing is saved, and a MachineClass is no cluster's to delete",
    of: ({ operation, ...given }: InstallerGiven) => {
      const all = operation === "create" ? createCounterparts : deleteCounterparts;
      const counterparts = counterpartsOf(given, all);
      const [never] = counterparts.filter(({ kind, phase }) => kind === "none" && phase !== null);
      if (never === undefined) return [];
      const kinds = deletedKindsIn(given);
      const deletions = {
        at: ["failedDeletions"],
        theirs: kinds,
        ours: kinds.filter((kind) => kind !== "MachineClass"),
      };
      // What fails beside it ends the command all the same.
      if (counterparts.some(({ kind }) => kind === "step")) return [deletions];
      return [
        { at: ["error"], theirs: true, ours: false },
        { at: ["failsInPhase"], theirs: never.phase, ours: null },
        deletions,
      ];
    },
  },
];

/** Of `splitControlPlane`. */
export const splitDeviations: readonly Deviation[] = [
  {
    reason:
      "workers alone are no mistake: manifests say what there is to be, and perhaps not all of it yet",
    of: ({ machines = [] }: { readonly machines?: readonly GivenMember[] }) =>
      machines.some(isMember) ? [] : [{ at: ["error"], theirs: true, ours: false }],
  },
];
