import type { JsonObject } from "../api/json.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { profileOf } from "../api/set-profile.js";
import { apiVersion, defaultRevisionHistoryLimit, type Kind } from "../api/schema.js";
import type { Condition } from "../api/status.js";
import {
  type CleanableSet,
  revisionAnnotation,
  revisionOf,
  setsToForget,
} from "../sets/revisions.js";
import {
  type ApiWrite,
  clusterFinalizer,
  machineFinalizer,
  type NewObject,
  patched,
  statusPatch,
  withFinalizer,
} from "./api-write.js";
import { derivedMachine, derivedSet, derivedSpec } from "./derived-objects.js";
import { boundToAnnotation, clusterUidAnnotation, releasedToUsers } from "./field-owners.js";
import {
  controllerOf,
  isDeleting,
  isForeign,
  type LiveCluster,
  type LiveObject,
  type OwnerReference,
} from "./live-object.js";
import { goingClassesText, releasedClasses } from "./machine-classes.js";
import { machineStatusOf } from "./machine-status.js";
import { followsTemplate, machinesOf, type MachineView } from "./machine-views.js";
import {
  isInGoal,
  leftMachine,
  machineStatusWrites,
  refusedMachines,
  versionsIn,
} from "./machine-writes.js";
import { type Redact, redactedCopy } from "./redaction.js";
import {
  clusterConditionsOf,
  clusterStatusOf,
  machineDeploymentStatusOf,
  machineHealthCheckStatusOf,
  machineSetStatusOf,
  rolloutSetOf,
  type StatusInput,
  wordsIn,
} from "./statuses.js";

/** What a projection is made from: the machines are in the view. */
interface ProjectionInput extends Omit<StatusInput, "machines" | "notice" | "machineObjectOf"> {
  /** Takes secrets out of every status before it is compared and written. */
  readonly redact: Redact;
}

/**
 * What has to be written so that an API server shows a cluster as it is: finalizers and owners, the
 * MachineSets and Machines that follow from users' objects, and statuses. Nothing for what is shown
 * already. Objects that others own are never touched. Some writes need what others make: who has created
 * something asks again. Pure.
 */
export function projectionOf(live: LiveCluster, input: ProjectionInput): ApiWrite[] {
  const { cluster } = live;
  if (cluster === undefined) return [];
  if (input.view.isBlind === true) {
    const unshown = live.members.filter(({ status }) => status === undefined);
    return [...wordsOf(cluster, input), ...refusedMachines(unshown, input)];
  }
  const notice = goingClassesText(live);
  const projection = new Projection(
    cluster,
    live,
    omitUndefined({
      ...input,
      machines: machinesOf(input.view),
      machineObjectOf: (name) =>
        live.members.find((one) => one.kind === "Machine" && one.metadata.name === name),
      notice,
    }),
  );
  return [...projection.writes(), ...releasedClasses(live)].filter((write) =>
    // What goes with its Cluster is not made again, and another controller's is left to it.
    write.kind === "create" ? !isDeleting(cluster) : !isForeign(write.on),
  );
}

/** What can be said of a cluster at which nobody has looked: everything else stays as it was shown. */
function wordsOf(on: LiveObject, input: ProjectionInput): ApiWrite[] {
  const { view, generationOf, redact } = input;
  const { message: _said, errorReason: _reason, errorMessage: _error, ...shown } = on.status ?? {};
  const observedGeneration = generationOf(on);
  const words = wordsIn(view);
  const seen = observedGeneration === undefined ? shown : { ...shown, observedGeneration };
  const told = (on.status?.["conditions"] ?? []) as readonly Condition[];
  const status = {
    ...seen,
    ...words,
    conditions: [
      ...clusterConditionsOf(on, input, false, words.message),
      ...told.filter(({ type }) => type.startsWith("Certificates")),
    ],
  };
  return statusPatch(on, redactedCopy(status, redact));
}

class Projection {
  private readonly byName: ReadonlyMap<string, LiveObject>;
  private readonly bySet: ReadonlyMap<string, readonly MachineView[]>;

  constructor(
    private readonly cluster: LiveObject,
    { members }: LiveCluster,
    private readonly input: StatusInput & ProjectionInput,
  ) {
    this.byName = new Map(
      members.map((member) => [`${member.kind}/${member.metadata.name}`, member] as const),
    );
    const bySet = new Map<string, MachineView[]>();
    for (const view of input.machines) {
      const set = view.machine.owner?.machineSet;
      if (set !== undefined) bySet.set(set, [...(bySet.get(set) ?? []), view]);
    }
    this.bySet = bySet;
  }

  writes(): ApiWrite[] {
    return [
      ...this.clusterWrites(),
      ...this.ofKind("MachineDeployment").flatMap((one) => this.deploymentWrites(one)),
      ...this.setNames().flatMap((name) => this.setWrites(name)),
      ...(this.input.view.isSettled ? this.forgottenSets() : []),
      ...this.input.machines.flatMap((view) => this.machineWrites(view)),
      ...refusedMachines(
        this.ofKind("Machine").filter(({ metadata }) => !this.isKnown(metadata.name)),
        this.input,
      ),
      ...this.leftMachines(),
      ...this.ofKind("MachineHealthCheck").flatMap((one) => this.healthCheckWrites(one)),
    ];
  }

  private clusterWrites(): ApiWrite[] {
    const { cluster } = this;
    const { metadata } = cluster;
    const { clusterUid } = this.input.view;
    const mark =
      clusterUid === undefined
        ? {}
        : { [clusterUidAnnotation]: clusterUid, [boundToAnnotation]: metadata.uid };
    const wanted = omitUndefined({
      ...metadata,
      finalizers: withFinalizer(cluster, clusterFinalizer),
      annotations: { ...metadata.annotations, ...mark },
      managedFields: releasedToUsers(metadata.managedFields),
    });
    return [
      ...patched(cluster, { metadata: wanted }),
      ...this.shown(cluster, clusterStatusOf(cluster, this.input)),
    ];
  }

  private deploymentWrites(deployment: LiveObject): ApiWrite[] {
    const { view } = this.input;
    const { name } = deployment.metadata;
    const minReadySeconds = Number(deployment.spec?.["minReadySeconds"] ?? 0);
    const current = this.currentSet(name);
    const names = this.setNames().filter((set) => this.deploymentOf(set) === name);
    const sets = names.map((set) =>
      rolloutSetOf(set, this.bySet.get(set) ?? [], {
        isNew: set === current,
        minReadySeconds,
        nowMs: view.nowMs,
      }),
    );
    const inCurrent = current === undefined ? [] : (this.bySet.get(current) ?? []);
    const shown = {
      sets,
      members: names.flatMap((set) => this.bySet.get(set) ?? []),
      updated: followsTemplate(view, name)
        ? inCurrent.filter((one) => one.isWanted && one.isUpdated).length
        : 0,
    };
    const revision = current === undefined ? undefined : this.revisionIn(current);
    const { annotations } = deployment.metadata;
    const metadata = omitUndefined({
      ...this.usersMetadata(deployment),
      annotations:
        revision === undefined ? annotations : { ...annotations, [revisionAnnotation]: revision },
    });
    return [
      ...patched(deployment, { metadata }),
      ...this.shown(deployment, machineDeploymentStatusOf(deployment, shown, this.input)),
    ];
  }

  /** The set that a deployment's machines are made in: the last that its target names. */
  private currentSet(deployment: string): string | undefined {
    const unmade = new Set(this.input.view.unmet?.machines.map(({ name }) => name));
    const wanted = this.input.machines.filter(
      ({ isWanted, machine }) =>
        isWanted && !unmade.has(machine.name) && machine.owner?.machineDeployment === deployment,
    );
    return wanted.at(-1)?.machine.owner?.machineSet;
  }

  private revisionIn(set: string): string | undefined {
    return this.byName.get(`MachineSet/${set}`)?.metadata.annotations?.[revisionAnnotation];
  }

  /** Sets with machines, and those that users wrote, however few they have. */
  private setNames(): string[] {
    const written = this.ofKind("MachineSet").filter((set) => controllerOf(set) === undefined);
    return [...new Set([...this.bySet.keys(), ...written.map(({ metadata }) => metadata.name)])];
  }

  private deploymentOf(set: string): string | undefined {
    const [first] = this.bySet.get(set) ?? [];
    if (first !== undefined) return first.machine.owner?.machineDeployment;
    const live = this.byName.get(`MachineSet/${set}`);
    const controller = live === undefined ? undefined : controllerOf(live);
    return controller?.kind === "MachineDeployment" ? controller.name : undefined;
  }

  private setWrites(name: string): ApiWrite[] {
    const live = this.byName.get(`MachineSet/${name}`);
    const deployment = this.deploymentOf(name);
    if (deployment === undefined) return live === undefined ? [] : this.writtenSet(live);
    const above = this.byName.get(`MachineDeployment/${deployment}`);
    if (above === undefined || isDeleting(above))
      return live === undefined ? [] : this.shownSet(live);
    const derived = this.derivedSet(name, above, live);
    if (live === undefined) return [{ kind: "create", object: derived }];
    if (isDeleting(live) || controllerOf(live)?.uid !== above.metadata.uid) return [];
    const { metadata, spec } = derived;
    const labels = { ...live.metadata.labels, ...(metadata["labels"] as JsonObject) };
    const annotations = {
      ...live.metadata.annotations,
      ...(metadata["annotations"] as JsonObject),
    };
    return [
      ...patched(live, {
        metadata: { ...live.metadata, labels, annotations },
        spec: { ...live.spec, replicas: spec["replicas"] ?? 0 },
      }),
      ...this.shownSet(live),
    ];
  }

  private writtenSet(set: LiveObject): ApiWrite[] {
    return [...patched(set, { metadata: this.usersMetadata(set) }), ...this.shownSet(set)];
  }

  private shownSet(set: LiveObject): ApiWrite[] {
    const members = this.bySet.get(set.metadata.name) ?? [];
    return this.shown(set, machineSetStatusOf(set, members, this.input));
  }

  private derivedSet(
    name: string,
    deployment: LiveObject,
    live: LiveObject | undefined,
  ): NewObject {
    const { metadata } = deployment;
    const old = this.ofKind("MachineSet").filter(
      (set) => controllerOf(set)?.uid === metadata.uid && set.metadata.name !== name,
    );
    const isCurrent = name === this.currentSet(metadata.name);
    const kept = old.map((set) => set.metadata);
    return derivedSet(deployment, {
      name,
      cluster: this.cluster.metadata.name,
      members: this.bySet.get(name) ?? [],
      revision: isCurrent ? revisionOf(live?.metadata ?? {}, kept).revision : undefined,
    });
  }

  /** Empty sets of deployments, as many as history does not keep. */
  private forgottenSets(): ApiWrite[] {
    return this.ofKind("MachineDeployment").flatMap((deployment) => {
      const { uid, name } = deployment.metadata;
      const current = this.currentSet(name);
      const old = this.ofKind("MachineSet").filter(
        (set) => controllerOf(set)?.uid === uid && set.metadata.name !== current,
      );
      const limit = Number(
        deployment.spec?.["revisionHistoryLimit"] ?? defaultRevisionHistoryLimit,
      );
      const cleanable = old.map((set): CleanableSet => {
        const members = this.bySet.get(set.metadata.name) ?? [];
        const createdAtMs = Date.parse(set.metadata.creationTimestamp ?? "");
        return omitUndefined({
          name: set.metadata.name,
          createdAtMs: Number.isNaN(createdAtMs) ? undefined : createdAtMs,
          replicas: members.length,
          existing: members.length,
          deleting: isDeleting(set),
          observed: true,
        });
      });
      const going = new Set(setsToForget(cleanable, limit, profileOf(deployment)));
      return old.flatMap((on): ApiWrite[] => {
        if (going.has(on.metadata.name)) return [{ kind: "delete", on }];
        return this.bySet.has(on.metadata.name) || isDeleting(on) ? [] : this.emptiedSet(on);
      });
    });
  }

  private emptiedSet(set: LiveObject): ApiWrite[] {
    return [...patched(set, { spec: { ...set.spec, replicas: 0 } }), ...this.shownSet(set)];
  }

  private machineWrites(view: MachineView): ApiWrite[] {
    const { name, owner } = view.machine;
    const live = this.byName.get(`Machine/${name}`);
    if (live === undefined) {
      const above =
        owner === undefined ? undefined : this.byName.get(`MachineSet/${owner.machineSet}`);
      // Its set is made first; what a user wrote and took away is nobody's to make again.
      if (above === undefined || isDeleting(above) || !view.isWanted) return [];
      return [{ kind: "create", object: derivedMachine(view, above, this.cluster.metadata.name) }];
    }
    const { metadata, spec = {} } = live;
    const isDerived = controllerOf(live) !== undefined;
    const wantedSpec = isDerived
      ? derivedSpec(view)
      : { ...spec, versions: versionsIn(spec, view) };
    const providerID = view.seen?.status["providerId"] ?? spec["providerID"];
    return [
      ...patched(live, {
        metadata: omitUndefined({
          ...(isDerived ? metadata : this.usersMetadata(live)),
          finalizers: withFinalizer(live, machineFinalizer),
        }),
        spec: providerID === undefined ? wantedSpec : { ...wantedSpec, providerID },
      }),
      ...this.machineStatus(live, view),
    ];
  }

  private machineStatus(live: LiveObject, view: MachineView): ApiWrite[] {
    return machineStatusWrites(live, machineStatusOf(live, view, this.input), this.input);
  }

  private isKnown(name: string): boolean {
    return this.input.machines.some(({ machine }) => machine.name === name);
  }

  private shown(on: LiveObject, status: object): ApiWrite[] {
    return statusPatch(on, redactedCopy(status, this.input.redact));
  }

  /** What was told of it before stays where nobody has looked since. */
  private healthCheckWrites(check: LiveObject): ApiWrite[] {
    const { health, unmet } = this.input.view;
    const { name } = check.metadata;
    const found = health?.find((one) => one.check === name);
    const failure = unmet?.failures.find((one) => one.kind === check.kind && one.name === name);
    return [
      ...patched(check, { metadata: this.usersMetadata(check) }),
      ...(found === undefined && failure === undefined
        ? []
        : this.shown(check, machineHealthCheckStatusOf(check, { found, failure }, this.input))),
    ];
  }

  /** While a transaction is under way, those alone of which no goal speaks: letting go of others would change it. */
  private leftMachines(): ApiWrite[] {
    const { isSettled, progress } = this.input.view;
    const left = this.ofKind("Machine").filter(({ metadata }) => !this.isKnown(metadata.name));
    if (isSettled) return left.flatMap(leftMachine);
    return progress === undefined ? [] : left.filter((one) => !isInGoal(one)).flatMap(leftMachine);
  }

  /** What users write of their own objects stays theirs. */
  private usersMetadata(live: LiveObject): LiveObject["metadata"] {
    const { metadata } = live;
    return omitUndefined({
      ...metadata,
      ownerReferences: this.ownedByCluster(live),
      managedFields: releasedToUsers(metadata.managedFields),
    });
  }

  /** Deleting the Cluster takes its objects along; it controls none of them. */
  private ownedByCluster({ metadata }: LiveObject): readonly OwnerReference[] {
    const owners = metadata.ownerReferences ?? [];
    const { uid, name } = this.cluster.metadata;
    if (owners.some((owner) => owner.uid === uid)) return owners;
    const others = owners.filter(({ kind }) => kind !== "Cluster");
    return [...others, { apiVersion, kind: "Cluster", name, uid }];
  }

  private ofKind(kind: Kind): LiveObject[] {
    return [...this.byName.values()].filter((member) => member.kind === kind);
  }
}
