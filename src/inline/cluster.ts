import { randomUUID } from "node:crypto";
import { hostname, userInfo } from "node:os";
import { resolve } from "node:path";
import { Config, getProject, getStack, log, RunError, runtime } from "@pulumi/pulumi";
import { makeProviders } from "../../providers/index.js";
import { visible } from "../api/visible.js";
import { CapstanError, isCapstanError } from "../api/error.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { providerOf } from "../api/served-versions.js";
import { type ClusterObject, objectsOf, providerValue } from "../api/types.js";
import { keysAt } from "../bootstrap/certificates/key-ring.js";
import { holdOf, refuseHeld } from "../drift/hold.js";
import { findFacts } from "../engine/operations/found-facts.js";
import { withPreflight } from "../engine/operations/preflight.js";
import { foreseenFailure } from "../plan/foreseen.js";
import { planWithDrift, rulesOfRequest } from "../drift/plan-with-drift.js";
import { keySource } from "../engine/operations/key-source.js";
import { ringOf } from "../engine/run/run-keys.js";
import { withPlaces } from "../engine/operations/placed-refusal.js";
import { encodePayload } from "../engine/backend/record-payload.js";
import { observe } from "../engine/run/observe.js";
import { noteRunning } from "../engine/locks/engine-roster.js";
import { ambientStateDir, projectRoot } from "../engine/backend/project.js";
import { keptAlive } from "../engine/run/kept-alive.js";
import { callContext } from "../engine/run/handler-session.js";
import { parseExport, type StackState } from "../engine/backend/state.js";
import { adoptedUid, refuseImmutable } from "../engine/operations/survey.js";
import { lockNameIn } from "../engine/backend/workspace.js";
import type { SourceText } from "../manifest/parse.js";
import { defaultDeadlineMs } from "../plan/deadline.js";
import { fileOwner } from "../records/hand-over.js";
import type { Plan } from "../plan/plan.js";
import type { ObservedResource, ObservedResources } from "../plan/observation.js";
import { recordedSpec } from "../records/prior-state.js";
import { stageOf } from "../records/recorded-keys.js";
import { inStorageVersions } from "../records/storage-versions.js";
import { systemClock } from "../provider/clock.js";
import type { InfrastructureProvider, InventoryScope } from "../provider/port.js";
import { type AllowedChanges, programOf } from "../transaction/pass.js";
import { revisionPayload, transactionPayload } from "../transaction/payloads.js";
import { exportStack } from "./export.js";
import { type InlineChange, refuseInline, refuseWhileLocked } from "./refuse.js";
import { registerNodes } from "./register.js";
import { inlineNotes, unknownNotes } from "./inline-notes.js";
import { InlineBootstrap } from "./joining/inline-bootstrap.js";
import { inTurns } from "./joining/turns.js";
import { pulumiEngine } from "./joining/own-engine.js";
import { ClusterOutputs, kubeconfigsIn } from "./outputs.js";
import { checkTexts, namesUsed, type OneCluster, readOne, textsOf } from "./read-manifests.js";
import { withRecordedValues, withUnknownFields } from "./unknown-parts.js";
import {
  type ManifestValues,
  type SettledValues,
  settledValues,
  unsettledValues,
} from "./values.js";

export interface ClusterOptions {
  /**
   * Files and folders with one Cluster and what belongs to it, relative to the project's folder.
   * Left out: the configuration value capstan:manifests, comma-separated.
   */
  readonly manifests?: string | readonly string[];
  /**
   * What `${NAME}` stands for in the manifests: Outputs of other resources, or plain values. The cluster is made after
   * these resources, and goes before them. Left out: `${NAME}` is a text like any other.
   */
  readonly values?: ManifestValues;
}

/**
 * Registers one cluster in the running Pulumi program: the same plan and the same resources as
 * `capstan up`, in one pass in dependency order. Registers nothing when the manifests are wrong,
 * when a value is missing, when the stack's state cannot be read, or when only `capstan up` may change the stack.
 */
export async function cluster(options: ClusterOptions = {}): Promise<ClusterOutputs> {
  try {
    return await keptAlive(() => registerCluster(options));
  } catch (error) {
    throw asPulumiPrints(error);
  }
}

/** Pulumi prints a RunError without a stack trace: it is the user's to read. */
function asPulumiPrints(error: unknown): unknown {
  if (!isCapstanError(error)) return error;
  const { message, hint } = error;
  return new RunError(`${message}${hint === undefined ? "" : `\nhint: ${hint}`}`);
}

async function registerCluster(options: ClusterOptions): Promise<ClusterOutputs> {
  const root = projectRoot(process.cwd()) ?? process.cwd();
  const stateDir = ambientStateDir(process.env, process.cwd());
  refuseWhileLocked(stateDir, lockNameIn(getProject(), getStack()));
  const engine = runtime.isDryRun() ? undefined : pulumiEngine();
  // An engine that is killed leaves its lock: whoever finds that has to know whose it was.
  if (engine !== undefined) noteRunning(stateDir, engine.pid);
  const providers = makeProviders(stateDir, systemClock, { folder: root, env: process.env });
  // The providers are still asked while hosts join.
  let isDone = true;
  try {
    const files = manifestPaths(options, root);
    const given = await readGiven(options, textsOf(files, root), providers.all);
    const provider = providerOf(given.desired.cluster, providers.all);
    refuseOwnCredentials(given.desired.cluster, provider);
    const exported = await exportStack(getStack(), root);
    const state = inStorageVersions(parseExport(exported, getStack()), providers);
    const place = { root, stack: getStack(), files };
    const plan = await planInline(given, { provider, state, place });
    const notes = [...inlineNotes(plan), ...unknownNotes(given.unknown)];
    for (const note of notes) await log.info(visible(providers.secrets.scrub(note)));
    const keys = await ringOf(plan, state, keySource(provider, plan.target, systemClock));
    const program = programOf(plan, state, wholeOf(plan), {
      transaction: encodePayload(transactionPayload(plan, keys)),
      revision: encodePayload(revisionPayload(plan, state, systemClock.now())),
    });
    const shown =
      given.unknown.length === 0
        ? program
        : withUnknownFields(program, plan, given.desired, provider);
    const bootstrap = runtime.isDryRun()
      ? undefined
      : await InlineBootstrap.open({ plan, keys, state, provider }, { stateDir, engine });
    isDone = bootstrap === undefined;
    const settled = bootstrap && (() => joined(bootstrap).finally(() => providers.close()));
    return new ClusterOutputs({
      plan,
      provider,
      keys: keysAt(keys, stageOf(plan.target)),
      resources: registerNodes(
        inTurns(shown, plan, state.revision?.target),
        omitUndefined({ after: given.resources, settled }),
      ),
      kubeconfigs: kubeconfigsIn(exported),
      begins: settled !== undefined && plan.fromRevision === 0,
    });
  } finally {
    if (isDone) providers.close();
  }
}

/** Whoever waits for the revision is told of what holds it up as of any other error of ours. */
function joined(bootstrap: InlineBootstrap): Promise<void> {
  return keptAlive(() => bootstrap.joined()).catch((error: unknown) => {
    throw asPulumiPrints(error);
  });
}

/** Pulumi's own host serves resources by their kind: it cannot know which Cluster they belong to before it is asked. */
function refuseOwnCredentials(
  { metadata, spec }: ClusterObject,
  provider: InfrastructureProvider,
): void {
  if (provider.forCluster?.(providerValue(spec)) === undefined) return;
  throw new CapstanError({
    code: "INVALID_INPUT",
    source: "user",
    subject: metadata.name,
    message: `cannot use the credentials that Cluster ${metadata.namespace}/${metadata.name} names: under a plain pulumi all resources have those of the process`,
    hint: "give these to pulumi itself, e.g. by AWS_PROFILE, and take them out of the Cluster; or use capstan up",
  });
}

/** One pass does all of a plan. */
function wholeOf({ steps }: Plan): AllowedChanges {
  return {
    kind: "commit",
    allowed: new Set(steps.map(({ key }) => key)),
    deletions: new Set(steps.filter(({ kind }) => kind === "delete").map(({ key }) => key)),
  };
}

/** A cluster with the program's values in it. */
interface GivenCluster extends OneCluster, Pick<SettledValues, "unknown" | "resources"> {
  /** Which of the program's values its manifests take. */
  readonly names: readonly string[];
}

/** What is wrong whatever the values are is told before they are waited for. */
async function readGiven(
  { values }: ClusterOptions,
  texts: readonly SourceText[],
  providers: readonly InfrastructureProvider[],
): Promise<GivenCluster> {
  if (values === undefined) {
    const one = readOne(texts, undefined, providers);
    return { ...one, unknown: [], resources: [], names: [] };
  }
  checkTexts(texts, unsettledValues(values), providers);
  const names = namesUsed(texts, Object.keys(values));
  for (const name of Object.keys(values).filter((one) => !names.includes(one))) {
    await log.warn(visible(`no manifest takes ${name} of the values of cluster()`));
  }
  const { variables, unknown, resources } = await settledValues(values);
  return { ...readOne(texts, variables, providers), unknown, resources, names };
}

/** What a plan is made in. */
interface Surroundings extends Pick<InlineChange, "state" | "place"> {
  readonly provider: InfrastructureProvider;
}

/** Plans from the records: what else the cloud shows is drift, for `pulumi refresh` to take in. */
async function planInline(
  given: GivenCluster,
  { provider, state, place }: Surroundings,
): Promise<Plan> {
  const { positionOf } = given;
  const recordedObjects = state.transaction?.target.objects ?? [];
  const desired = withRecordedValues(given.desired, recordedObjects);
  refuseImmutable(desired, state, positionOf);
  const context = callContext(systemClock, new AbortController().signal);
  const name = `${desired.cluster.metadata.namespace}/${desired.cluster.metadata.name}`;
  const clusterUid = state.transaction?.clusterUid;
  const scope: InventoryScope = omitUndefined({ cluster: name, clusterUid });
  const observation = await observe(provider, context, scope, state);
  const recorded = new Map(state.resources.map((resource) => [resource.key, resource]));
  const observedResources: ObservedResources = new Map(
    [...observation.observedResources].map(([key, observed]): [typeof key, ObservedResource] => {
      const resource = recorded.get(key);
      if (observed === "gone" || resource === undefined) return [key, observed];
      return [key, { ...observed, spec: recordedSpec(resource) }];
    }),
  );
  const adopted = adoptedUid(
    { desired, adopt: false, ownerMark: () => undefined },
    clusterUid === undefined ? observation.unrecorded : [],
  );
  const facts = await findFacts({ desired, positionOf, provider, prior: state, context });
  const objects = objectsOf(desired);
  const { plan } = withPlaces(desired, positionOf, () =>
    planWithDrift(
      {
        planGoal: { kind: "objects", desired },
        provider,
        prior: state,
        newClusterUid: clusterUid ?? adopted ?? randomUUID(),
        newDigestKey: randomUUID(),
        nowMs: systemClock.now(),
        owner: fileOwner,
        goal: { kind: "up" },
        by: `${userInfo().username}@${hostname()}`,
        deadlineMs: defaultDeadlineMs,
        ...facts,
      },
      { ...observation, observedResources },
      rulesOfRequest(objects),
    ),
  );
  if (!plan.empty) refuseHeld(plan.cluster, holdOf(state, observation, { provider, objects }));
  const foreseen = foreseenFailure(await withPreflight(plan, { provider, prior: state, context }));
  if (foreseen !== undefined) throw foreseen;
  refuseInline({ plan, state, observedResources, place });
  return inOnePass(plan, state, given.names);
}

/** Marks what begins here, so that whoever goes on with it knows that one pass may, and what it takes from its program. */
function inOnePass(plan: Plan, { transaction }: StackState, names: readonly string[]): Plan {
  if (plan.transaction.number === transaction?.number) return plan;
  const programValues = names.length === 0 ? undefined : names;
  const begun = { ...plan.transaction, inline: true as const, programValues };
  return { ...plan, transaction: omitUndefined(begun) };
}

function manifestPaths({ manifests }: ClusterOptions, root: string): string[] {
  const named = manifests ?? new Config("capstan").get("manifests")?.split(",");
  const paths = typeof named === "string" ? [named] : [...(named ?? [])];
  if (paths.length > 0) return paths.map((path) => resolve(root, path));
  throw new CapstanError({
    code: "INVALID_INPUT",
    source: "user",
    message: "which manifests? the configuration value capstan:manifests is not set",
    hint: "pulumi config set capstan:manifests examples/quickstart",
  });
}
