import { CapstanError, type ErrorCode, expectDefined } from "../../api/error.js";
import {
  asksForControlPlane,
  type Desired,
  type MachineObject,
  stackNameOf,
} from "../../api/types.js";
import { nearest } from "../../api/validate.js";
import type { Manifests } from "../../manifest/desired.js";
import { targetWithImported } from "../../plan/planner/imported-target.js";
import type { ChangedField } from "../../plan/step.js";
import { isLost, lossText } from "../../provider/failure.js";
import type { CallContext, Found, InfrastructureProvider } from "../../provider/port.js";
import { openImport } from "../../records/imports.js";
import { cloudResources, knownMachines, type PriorState } from "../../records/prior-state.js";
import { machineKey } from "../../records/target.js";
import type { TransactionGoal } from "../../records/transaction.js";
import { ownerText } from "../../sets/owning-objects.js";
import type { StackState } from "../backend/state.js";
import { callContext } from "../run/handler-session.js";
import { reading } from "../run/observe.js";
import { observeToward, type PlanningOptions, type RecordedPlan } from "./apply.js";
import { lookedUp } from "./lookups.js";
import { withPlaces } from "./placed-refusal.js";
import { planOpenRequest, planRecordsOnly } from "./records-only.js";
import { refuseUnderWay } from "./under-way.js";

/** Which host is to serve which Machine. */
interface ImportRequest {
  readonly machine: string;
  /** The cloud's. */
  readonly id: string;
  /** The cluster as its manifests have it. */
  readonly desired: Desired;
  /** Where members of the objects were written. */
  readonly positionOf: Manifests["positionOf"];
}

export interface ImportPlan extends RecordedPlan {
  /** What the manifests want otherwise, and the next `up` changes in place. */
  readonly later: readonly ChangedField[];
}

type ImportGoal = Extract<TransactionGoal, { kind: "import" }>;

/**
 * The plan that makes a host of the cloud ours, as it is: it gets our marks and a record and serves the Machine from
 * then on; everything else is as it is recorded, whatever it looks like now. One that was begun is gone on with.
 * Throws NOT_FOUND, TRANSACTION_OPEN, UNSUPPORTED_CHANGE, RESOURCE_GONE, NOT_OURS and INVALID_INPUT, naming what
 * is in the way.
 */
export async function planImport(
  request: ImportRequest,
  state: StackState,
  options: PlanningOptions,
): Promise<ImportPlan> {
  const { machine, id, desired } = request;
  const { transaction, revision } = state;
  const stack = stackNameOf(desired.cluster);
  if (transaction === undefined || revision === undefined) throw noRevision(request, stack);
  const about = { ...request, stack };
  const { provider, clock } = options;
  const begun = openImport(state);
  if (begun?.machine === machine && begun.id === id) {
    const observation = await observeToward(transaction.target, state, options);
    return { ...planOpenRequest(state, observation, options), later: [] };
  }
  refuseUnderWay(`import ${id} as Machine ${machine}`, stack, state);
  if (isImported(request, state)) return planAgain(request, state, options);
  const object = importable(about, state);
  refuseLimited(about, provider);
  const { target } = revision;
  const observation = await observeToward(target, state, options);
  const found = await foundHost(about, provider, callContext(clock, options.stop));
  const { observedResources } = observation;
  const context = callContext(clock, options.stop);
  const asks = { ...desired, machines: [object], machineSets: [], machineDeployments: [] };
  const lookups = await lookedUp({
    provider,
    desired: asks,
    prior: state,
    context,
    refresh: false,
  });
  const imported = withPlaces(desired, request.positionOf, () =>
    targetWithImported({
      object,
      found,
      target,
      prior: state,
      observedResources,
      provider,
      nowMs: clock.now(),
      lookups,
    }),
  );
  const goal: ImportGoal = { kind: "import", machine, id };
  return {
    ...planRecordsOnly({ target: imported.target, goal, observation }, state, options),
    later: imported.later,
  };
}

function isImported({ machine, id }: ImportRequest, state: PriorState): boolean {
  return cloudResources(state).some((one) => one.id === id && one.parent === machineKey(machine));
}

/** The same words a second time change nothing. */
async function planAgain(
  { machine, id }: ImportRequest,
  state: StackState,
  options: PlanningOptions,
): Promise<ImportPlan> {
  const { target } = expectDefined(state.revision, "import into a revision");
  const observation = await observeToward(target, state, options);
  const goal: ImportGoal = { kind: "import", machine, id };
  return { ...planRecordsOnly({ target, goal, observation }, state, options), later: [] };
}

interface Import extends ImportRequest {
  readonly stack: string;
}

function refused(
  { machine, id }: Pick<Import, "machine" | "id">,
  code: ErrorCode,
  cause: string,
  hint: string,
): CapstanError {
  return new CapstanError({
    code,
    source: "user",
    subject: machine,
    message: `cannot import ${id} as Machine ${machine}: ${cause}`,
    hint: `${hint}; nothing was changed`,
  });
}

function noRevision(about: Pick<Import, "machine" | "id">, stack: string): CapstanError {
  return refused(
    about,
    "NOT_FOUND",
    `${stack} has no revision yet, and a host joins a cluster that there is`,
    "bring the cluster about first, without this Machine in its manifests: capstan up",
  );
}

/** The Machine of the manifests that has no host yet. Throws NOT_FOUND and INVALID_INPUT. */
function importable(about: Import, state: PriorState): MachineObject {
  const { machine, id, desired, stack } = about;
  const recorded = cloudResources(state).find((one) => one.id === id);
  if (recorded !== undefined) {
    const hint = `capstan state show ${stack} ${recorded.key} tells of it`;
    throw refused(about, "INVALID_INPUT", `it is recorded already, as ${recorded.key}`, hint);
  }
  const known = (state.revision?.target.machines ?? []).find(({ name }) => name === machine);
  const owner = known?.owner ?? knownMachines(state).get(machine)?.owner;
  if (owner !== undefined) {
    const cause = `it is a machine of ${ownerText(owner)}, which makes its hosts itself`;
    throw refused(about, "INVALID_INPUT", cause, "import it as a Machine of its own");
  }
  if (known !== undefined) {
    const hint = `capstan state forget ${stack} Machine/${machine} lets that one go`;
    throw refused(about, "INVALID_INPUT", `it has a host already, ${known.host}`, hint);
  }
  const names = desired.machines.map(({ metadata }) => metadata.name);
  const object = desired.machines.find(({ metadata }) => metadata.name === machine);
  if (object === undefined) {
    const near = nearest(machine, names);
    const hint =
      near === undefined ? "write what the host is as a Machine" : `did you mean Machine/${near}?`;
    throw refused(about, "NOT_FOUND", `the manifests hold no Machine ${machine}`, hint);
  }
  if (asksForControlPlane(object.spec)) {
    const cause = "it is a control-plane member, and what etcd stores on a host nobody can tell";
    throw refused(about, "INVALID_INPUT", cause, "only workers can be imported");
  }
  return object;
}

/** Throws UNSUPPORTED_CHANGE for a provider that cannot do all that an import and its way back take. */
function refuseLimited(about: Import, { name, handlers, hostKind }: InfrastructureProvider): void {
  const handler = handlers.get(hostKind);
  const missing = [
    handler?.find === undefined ? "read a host that bears no marks of ours" : undefined,
    handler?.mark === undefined ? "put our marks on a host that is there" : undefined,
    handler?.disown === undefined ? "take our marks off again" : undefined,
  ].filter((one) => one !== undefined);
  if (missing.length === 0) return;
  const cause = `provider ${name} cannot ${missing.join(", and cannot ")}`;
  throw refused(about, "UNSUPPORTED_CHANGE", cause, "give the Machine a new host with capstan up");
}

/** Alive and nobody's. Throws NOT_FOUND, RESOURCE_GONE and NOT_OURS. */
async function foundHost(
  about: Import,
  { handlers, hostKind }: InfrastructureProvider,
  context: CallContext,
): Promise<Found> {
  const found = await reading(context, async () =>
    handlers.get(hostKind)?.find?.(context, about.id),
  );
  if (found === undefined) {
    const cause = `the cloud has no ${hostKind} of that id`;
    throw refused(about, "NOT_FOUND", cause, "look at the id, and at the credentials in use");
  }
  if (found.phase === "gone" || isLost(found)) {
    const cause = found.phase === "gone" ? "it is terminated" : lossText("it", found);
    throw refused(about, "RESOURCE_GONE", cause, "give the Machine a new host with capstan up");
  }
  const { who } = found;
  if (who === undefined) return found;
  const whose = `it is marked as ${who.cluster} ${who.name} (cluster UID ${who.clusterUid})`;
  const hint = `capstan state forget lets a recorded host go, and only what is nobody's can be imported`;
  throw refused(about, "NOT_OURS", whose, hint);
}
