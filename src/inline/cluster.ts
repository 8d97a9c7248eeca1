import { randomUUID } from "node:crypto";
import { hostname, userInfo } from "node:os";
import { relative, resolve } from "node:path";
import { Config, getProject, getStack, log, RunError } from "@pulumi/pulumi";
import { makeProviders } from "../../providers/index.js";
import { CapstanError, isCapstanError } from "../api/error.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { providerOf } from "../api/served-versions.js";
import { type Desired, objectsOf, stackNameOf } from "../api/types.js";
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
import { ambientStateDir, projectRoot } from "../engine/backend/project.js";
import { callContext } from "../engine/run/handler-session.js";
import { parseExport, type StackState } from "../engine/backend/state.js";
import { adoptedUid, refuseImmutable } from "../engine/operations/survey.js";
import { lockNameIn } from "../engine/backend/workspace.js";
import { BadInput } from "../manifest/bad-input.js";
import { type Manifests, readDesired } from "../manifest/desired.js";
import { readSources } from "../manifest/files.js";
import { defaultDeadlineMs } from "../plan/deadline.js";
import { fileOwner } from "../records/hand-over.js";
import type { Plan } from "../plan/plan.js";
import type { ObservedResource, ObservedResources } from "../plan/observation.js";
import { recordedSpec } from "../records/prior-state.js";
import { inStorageVersions } from "../records/storage-versions.js";
import { systemClock } from "../provider/clock.js";
import type { InfrastructureProvider, InventoryScope } from "../provider/port.js";
import { programOf } from "../transaction/pass.js";
import { revisionPayload, transactionPayload } from "../transaction/payloads.js";
import { exportStack } from "./export.js";
import { type InlineChange, refuseInline, refuseWhileLocked } from "./refuse.js";
import { registerNodes } from "./register.js";
import { inlineNotes } from "./inline-notes.js";
import type { ClusterOutputs } from "./outputs.js";

export interface ClusterOptions {
  /**
   * Files and folders with one Cluster and what belongs to it, relative to the project's folder.
   * Left out: the configuration value capstan:manifests, comma-separated.
   */
  readonly manifests?: string | readonly string[];
}

/**
 * Registers one cluster in the running Pulumi program: the same plan and the same resources as
 * `capstan up`, in one pass in dependency order. Registers nothing when the manifests are wrong,
 * when the stack's state cannot be read, or when only `capstan up` may change the stack.
 */
export async function cluster(options: ClusterOptions = {}): Promise<ClusterOutputs> {
  try {
    return await registerCluster(options);
  } catch (error) {
    if (!isCapstanError(error)) throw error;
    // Pulumi prints a RunError without a stack trace: it is the user's to read.
    throw new RunError(
      `${error.message}${error.hint === undefined ? "" : `\nhint: ${error.hint}`}`,
    );
  }
}

async function registerCluster(options: ClusterOptions): Promise<ClusterOutputs> {
  const root = projectRoot(process.cwd()) ?? process.cwd();
  const stateDir = ambientStateDir(process.env, process.cwd());
  refuseWhileLocked(stateDir, lockNameIn(getProject(), getStack()));
  const providers = makeProviders(stateDir, systemClock, { folder: root, env: process.env });
  try {
    const files = manifestPaths(options, root);
    const { desired, positionOf } = readOne(files, root, providers.all);
    const provider = providerOf(desired.cluster, providers.all);
    const recorded = parseExport(await exportStack(getStack(), root), getStack());
    const state = inStorageVersions(recorded, providers);
    refuseImmutable(desired, state, positionOf);
    const place = { root, stack: getStack(), files };
    const plan = await planInline({ desired, positionOf }, { provider, state, place });
    for (const note of inlineNotes(plan)) await log.info(note);
    const keys = await ringOf(plan, state, keySource(provider, plan.target, systemClock));
    const program = programOf(
      plan,
      state,
      {
        kind: "commit",
        allowed: new Set(plan.steps.map(({ key }) => key)),
        deletions: new Set(
          plan.steps.filter(({ kind }) => kind === "delete").map(({ key }) => key),
        ),
      },
      {
        transaction: encodePayload(transactionPayload(plan, keys)),
        revision: encodePayload(revisionPayload(plan, state, systemClock.now())),
      },
    );
    return registerNodes(program);
  } finally {
    providers.close();
  }
}

/** What a plan is made in. */
interface Surroundings extends Pick<InlineChange, "state" | "place"> {
  readonly provider: InfrastructureProvider;
}

/** Plans from the records: what else the cloud shows is drift, for `pulumi refresh` to take in. */
async function planInline(
  { desired, positionOf }: ReturnType<typeof readOne>,
  { provider, state, place }: Surroundings,
): Promise<Plan> {
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
    { desired, adopt: false },
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
  return inOnePass(plan, state);
}

/** Marks what begins here, so that whoever goes on with it knows that one pass may. */
function inOnePass(plan: Plan, { transaction }: StackState): Plan {
  if (plan.transaction.number === transaction?.number) return plan;
  return { ...plan, transaction: { ...plan.transaction, inline: true } };
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

function readOne(
  paths: readonly string[],
  root: string,
  providers: readonly InfrastructureProvider[],
): { desired: Desired; positionOf: Manifests["positionOf"] } {
  const sources = readSources(paths).map(({ file, text }) => ({
    file: relative(root, file),
    text,
  }));
  const { clusters, diagnostics, positionOf } = readDesired(sources, providers);
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  if (errors.length > 0) throw new BadInput(errors);
  const [only, ...others] = clusters;
  if (only !== undefined && others.length === 0) return { desired: only, positionOf };
  throw new CapstanError({
    code: "INVALID_INPUT",
    source: "user",
    message: `a stack holds one cluster, and these manifests hold ${clusters.length}: ${clusters.map(({ cluster: one }) => stackNameOf(one)).join(", ")}`,
    hint: "give each Cluster a folder and a stack of its own",
  });
}
