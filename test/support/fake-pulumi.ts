import { isDeepStrictEqual } from "node:util";
import { omitUndefined } from "../../src/api/omit-undefined.js";
import { CapstanError, isCapstanError, messageOf } from "../../src/api/error.js";
import { sameJson, type Json, type JsonObject } from "../../src/api/json.js";
import {
  type DynamicResource,
  type Properties,
  UnfinishedResource,
} from "../../src/dynamic/protocol.js";
import { decodeRecord } from "../../src/engine/backend/record-payload.js";
import type { StackEngine } from "../../src/engine/pulumi/engine.js";
import type {
  ClusterLife,
  HandlerSession,
  PassOptions,
} from "../../src/engine/pulumi/engine-options.js";
import type { PulumiResult } from "../../src/engine/pulumi/pulumi.js";
import type { StackState } from "../../src/engine/backend/state.js";
import { type NodeKey, resolveRefs } from "../../src/graph/graph.js";
import {
  isRecordKind,
  type PendingOperation,
  type PriorState,
  type RecordedResource,
} from "../../src/records/prior-state.js";
import type { InfrastructureProvider } from "../../src/provider/port.js";
import type { NotedCluster } from "../../src/sweep/clusters.js";
import { inStorageVersions } from "../../src/records/storage-versions.js";
import {
  lostRevision,
  type RevisionPayload,
  transactionIn,
  type TransactionPayload,
} from "../../src/records/transaction.js";
import { revisionKey, transactionKey } from "../../src/transaction/pass.js";
import type { PassProgram, Registration } from "../../src/transaction/registration.js";
import type { Activity } from "./law-watch.js";
import type { CommandProcess } from "./faults.js";
import { activityOf, holdAgainstLaws } from "./pass-laws.js";
import type { FakeCloud } from "./fake-cloud.js";
import { plainly, recordOf, sameOrder, urnOf, withoutProvider } from "./fake-records.js";

/** What survives every command: the checkpoint of one stack, and the notes on the clusters that it has held. */
export interface FakeCheckpoint {
  resources: readonly RecordedResource[];
  pending: readonly PendingOperation[];
  /** By cluster UID. */
  readonly lives: Map<string, NotedCluster>;
  /** When records were last changed, by URN, milliseconds since the epoch. */
  modifiedMs: ReadonlyMap<string, number>;
}

class StepFailed extends Error {}

/**
 * Pulumi's engine for one command, as far as it matters: registrations in order, two state writes
 * around each operation, deletions last and never after a failure, pending operations as it keeps
 * them. Source: architecture section 9.
 */
export class FakePulumi implements StackEngine {
  private isRunning = false;
  /** What the present pass has done: a checkpoint holds it first, and then the rest as it was. */
  private registered: NodeKey[] = [];
  /** Creations that an earlier engine left pending. */
  private inherited: readonly PendingOperation[] = [];

  constructor(
    private readonly checkpoint: FakeCheckpoint,
    private readonly cloud: FakeCloud,
    private readonly process: CommandProcess,
    public unsettled: boolean,
  ) {}

  beginWork(): Promise<void> {
    return Promise.resolve();
  }

  noteLife(life: ClusterLife): void {
    this.checkpoint.lives.set(life.clusterUid, { ...life, backend: "own", notedAtMs: 0 });
  }

  noteEnd(clusterUid: string): void {
    const life = this.checkpoint.lives.get(clusterUid);
    if (life === undefined) throw new Error(`${clusterUid} was never noted`);
    this.checkpoint.lives.set(clusterUid, { ...life, endedAtMs: this.cloud.nowMs });
  }

  removeEmptyStack(): Promise<void> {
    if (this.checkpoint.resources.length > 0) throw new Error("a stack with records is not empty");
    return this.process.gate();
  }

  /** No other command takes the place of one that lives. */
  assertHeld(): Promise<void> {
    return Promise.resolve();
  }

  async assertAlive(): Promise<void> {
    if (this.isRunning) return;
    const message = "the engine that asked for this change has ended";
    throw new CapstanError({ code: "ENGINE_DEAD", source: "engine", message });
  }

  async readState(): Promise<StackState> {
    await this.process.gate();
    const times = [...this.checkpoint.modifiedMs].map(
      ([urn, modifiedMs]) => [urn, { createdMs: 0, modifiedMs }] as const,
    );
    const state = stateOf(this.checkpoint, this.cloud.parts);
    return { ...state, foreign: [], times: new Map(times) };
  }

  async pass(
    _stack: string,
    program: PassProgram,
    session: HandlerSession,
    { continues = false }: Partial<PassOptions> = {},
  ): Promise<PulumiResult> {
    this.cloud.passes += 1;
    return this.running(activityOf(program), session, async () => {
      holdAgainstLaws(program, this.checkpoint.resources, { watch: this.cloud.watch, continues });
      const done = await this.registerAll(program.registrations, session);
      const doomed = this.checkpoint.resources.filter(({ key }) => !done.has(key));
      await this.deleteAll(doomed, session, continues);
    });
  }

  async refresh(
    _stack: string,
    urns: readonly string[],
    session: HandlerSession,
    forget: "keepPending" | "clearPendingCreates" = "keepPending",
  ): Promise<PulumiResult> {
    return this.running("refresh", session, async () => {
      const read: RecordedResource[] = [];
      for (const resource of this.checkpoint.resources) {
        const isMeant = urns.length === 0 || urns.includes(resource.urn);
        const again = isMeant ? await this.readAgain(resource, session) : resource;
        if (again !== undefined) read.push(again);
      }
      const known = new Set(read.map(({ key }) => key));
      const linked = read.map((one) => ({
        ...one,
        dependsOn: one.dependsOn.filter((key) => known.has(key)),
      }));
      await this.write(linked, forget === "keepPending" ? this.inherited : []);
    });
  }

  async destroy(_stack: string, session: HandlerSession): Promise<PulumiResult> {
    return this.running("clear", session, () => this.deleteAll(this.checkpoint.resources, session));
  }

  /** Every resource in turn; after a failure, what is under way elsewhere may still be done. */
  private async registerAll(
    registrations: readonly Registration[],
    session: HandlerSession,
  ): Promise<ReadonlySet<NodeKey>> {
    const done = new Set<NodeKey>();
    const failures: unknown[] = [];
    const isSlow = this.slowOnes(registrations);
    for (const registration of registrations) {
      const { key, dependsOn, parent } = registration;
      const needed = [...dependsOn, ...(parent === undefined ? [] : [parent])];
      const isCutOff = !this.cloud.traits.parallel || !needed.every((one) => done.has(one));
      if (failures.length > 0 && isCutOff) continue;
      if (this.process.stop.signal.aborted) throw new StepFailed("interrupted");
      try {
        await this.register(registration, session);
        done.add(key);
        if (!isSlow(key)) this.registered.push(key);
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
    this.registered.push(...registrations.map(({ key }) => key).filter(isSlow));
    const { resources } = this.checkpoint;
    if (!sameOrder(this.inOrder(resources), resources)) await this.write(resources);
    return done;
  }

  /** New ones that nothing waits for are done after everything else, when all goes on at once. */
  private slowOnes(registrations: readonly Registration[]): (key: NodeKey) => boolean {
    const known = new Set(this.checkpoint.resources.map(({ key }) => key));
    const needed = new Set(
      registrations
        .filter(({ key }) => key !== revisionKey)
        .flatMap(({ dependsOn, parent }) => [...dependsOn, ...(parent ? [parent] : [])]),
    );
    const { parallel } = this.cloud.traits;
    return (key) => parallel && (key === revisionKey || !(known.has(key) || needed.has(key)));
  }

  private async register(registration: Registration, session: HandlerSession): Promise<void> {
    const { kind, key, type } = registration;
    const inputs = resolveRefs(registration.inputs, ({ $ref, output }) =>
      this.output($ref, output),
    );
    const before = this.checkpoint.resources.find((one) => one.key === key);
    if (type === "component") {
      if (before !== undefined) return;
      await this.begin("creating", registration, inputs);
      return this.record(recordOf(registration, { inputs, outputs: {} }));
    }
    const resource = session.lookup(kind);
    if (before === undefined) return this.create(registration, inputs, resource);
    const { changes } = await resource.diff(before.id ?? "", before.outputs, inputs);
    // Pulumi updates what is unfinished whether or not its inputs differ.
    if (changes || before.unfinished) return this.update(registration, inputs, resource);
    const { id = "", outputs } = before;
    const same = recordOf(registration, { id, inputs, outputs });
    if (!sameJson(plainly(same), plainly(before))) await this.record(same);
  }

  private async create(
    registration: Registration,
    inputs: JsonObject,
    resource: DynamicResource,
  ): Promise<void> {
    await this.begin("creating", registration, inputs);
    const [made, failure] = await answerOf(async () => {
      const { id, outs } = await resource.create(inputs);
      return { id, outs };
    });
    if (made === undefined) await this.write(this.checkpoint.resources);
    else await this.record(recordOf(registration, { ...made, inputs, outputs: made.outs }));
    this.mustHaveWorked(failure);
  }

  private async update(
    registration: Registration,
    inputs: JsonObject,
    resource: DynamicResource,
  ): Promise<void> {
    const before = this.checkpoint.resources.find(({ key }) => key === registration.key);
    const { id = "", outputs = {} } = before ?? {};
    await this.begin("updating", registration, inputs);
    const [made, failure] = await answerOf(async () => {
      const { outs } = await resource.update(id, outputs, inputs);
      return { id, outs };
    });
    if (made === undefined) await this.write(this.checkpoint.resources);
    else await this.record(recordOf(registration, { ...made, inputs, outputs: made.outs }));
    this.mustHaveWorked(failure);
  }

  /** Dependents first. What a failure leaves is not deleted either, nor what it depends on. */
  private async deleteAll(
    doomed: readonly RecordedResource[],
    session: HandlerSession,
    continues = false,
  ): Promise<void> {
    const goesOn = continues || this.cloud.traits.parallel;
    const failures: unknown[] = [];
    const kept = new Set<NodeKey>();
    for (const resource of doomed.toReversed()) {
      const { key, kind, type, id = "", outputs } = resource;
      if (this.process.stop.signal.aborted) throw new StepFailed("interrupted");
      if (kept.has(key) || (failures.length > 0 && !goesOn)) continue;
      await this.begin("deleting", resource);
      const [, failure] = await answerOf(async () => {
        if (type === "resource") await session.lookup(kind).delete(id, outputs);
        return { id, outs: {} };
      });
      if (failure === undefined) {
        await this.write(this.checkpoint.resources.filter((one) => one !== resource));
        continue;
      }
      failures.push(failure);
      await this.write(this.checkpoint.resources);
      this.keepWithDependencies(resource, kept);
    }
    this.mustHaveWorked(failures[0]);
  }

  private keepWithDependencies({ dependsOn, parent }: RecordedResource, kept: Set<NodeKey>): void {
    const needed = [...dependsOn, ...(parent === undefined ? [] : [parent])];
    for (const key of needed.filter((one) => !kept.has(one))) {
      kept.add(key);
      const resource = this.checkpoint.resources.find((one) => one.key === key);
      if (resource !== undefined) this.keepWithDependencies(resource, kept);
    }
  }

  private async readAgain(
    resource: RecordedResource,
    session: HandlerSession,
  ): Promise<RecordedResource | undefined> {
    if (resource.type === "component" || isRecordKind(resource.kind)) return resource;
    const { id = "", inputs, outputs } = resource;
    const read = await session.lookup(resource.kind).read(id, outputs);
    if (read.id === undefined) return undefined;
    return {
      ...resource,
      id: read.id,
      inputs: read.inputs ?? inputs,
      outputs: withoutProvider(read.props ?? outputs),
      unfinished: false,
    };
  }

  /** The state write before an operation: the entry stays when nobody lives to take it away. */
  private async begin(
    type: string,
    { key, kind, ...rest }: Registration | RecordedResource,
    inputs: JsonObject = rest.inputs,
  ): Promise<void> {
    const operation = { type, urn: urnOf(key), key, kind, inputs };
    await this.write(this.checkpoint.resources, [...this.inherited, operation]);
  }

  private async record(record: RecordedResource): Promise<void> {
    const { resources } = this.checkpoint;
    const known = resources.some(({ key }) => key === record.key);
    await this.write(
      known
        ? resources.map((one) => (one.key === record.key ? record : one))
        : [...resources, record],
    );
  }

  /** Creations that an earlier engine left pending are carried on from write to write, nothing else. */
  private async write(
    resources: readonly RecordedResource[],
    pending: readonly PendingOperation[] = this.inherited,
  ): Promise<void> {
    const inOrder = this.inOrder(resources);
    await this.process.write(() => {
      this.checkpoint.modifiedMs = this.timesOf(inOrder);
      this.checkpoint.resources = inOrder;
      this.checkpoint.pending = pending;
    });
  }

  private timesOf(resources: readonly RecordedResource[]): ReadonlyMap<string, number> {
    const { resources: before, modifiedMs } = this.checkpoint;
    const known = new Map(before.map((one) => [one.urn, one]));
    return new Map(
      resources.map((one) => {
        const other = known.get(one.urn);
        const isSame = other === one || (other !== undefined && isDeepStrictEqual(other, one));
        return [one.urn, (isSame ? modifiedMs.get(one.urn) : undefined) ?? this.cloud.nowMs];
      }),
    );
  }

  private inOrder(resources: readonly RecordedResource[]): readonly RecordedResource[] {
    const place = ({ key }: RecordedResource) => {
      const index = this.registered.indexOf(key);
      return index === -1 ? this.registered.length : index;
    };
    return resources.toSorted((left, right) => place(left) - place(right));
  }

  private output(key: NodeKey, output: string): Json {
    const resource = this.checkpoint.resources.find((one) => one.key === key);
    if (resource?.id === undefined) throw new StepFailed(`${key} is used before it exists`);
    return output === "id"
      ? resource.id
      : ((resource.outputs["status"] as JsonObject)[output] ?? null);
  }

  private mustHaveWorked(failure: unknown): void {
    if (failure === undefined) return;
    const reason = failure instanceof UnfinishedResource ? failure.reason : failure;
    const isExpected = isCapstanError(reason) || reason instanceof StepFailed;
    if (!isExpected) this.cloud.watch.blame("fake", messageOf(reason));
    throw new StepFailed(messageOf(failure));
  }

  private async running(
    activity: Activity,
    session: HandlerSession,
    work: () => Promise<void>,
  ): Promise<PulumiResult> {
    await this.process.gate();
    this.isRunning = true;
    this.registered = [];
    this.cloud.activity = activity;
    this.process.onInterrupt = () => session.cancelled();
    this.inherited = this.checkpoint.pending.filter(({ type }) => type === "creating");
    try {
      await work();
      return { code: 0, stdout: "", stderr: "" };
    } catch (error) {
      if (!(error instanceof StepFailed) && !isCapstanError(error)) throw error;
      return { code: 1, stdout: "", stderr: `error: ${messageOf(error)}` };
    } finally {
      this.isRunning = false;
      this.cloud.activity = "recovery";
    }
  }
}

/** A checkpoint in our terms, as an export would give it to a release of the provider. */
export function stateOf(checkpoint: FakeCheckpoint, provider: InfrastructureProvider): PriorState {
  return inStorageVersions(recordedIn(checkpoint), { all: [provider] });
}

function recordedIn({ resources, pending }: FakeCheckpoint): PriorState {
  const inputsOf = (key: NodeKey) => resources.find((one) => one.key === key)?.inputs;
  const [ofTransaction, ofRevision] = [inputsOf(transactionKey), inputsOf(revisionKey)];
  const transaction =
    ofTransaction && transactionIn(ofTransaction, decoded(ofTransaction) as TransactionPayload);
  const revision = ofRevision && {
    number: Number(ofRevision["number"]),
    ...(decoded(ofRevision) as RevisionPayload),
  };
  return omitUndefined<PriorState>({
    resources,
    pending,
    transaction,
    revision: revision ?? lostRevision(transaction),
  });
}

const decodedPayloads = new Map<string, unknown>();

/** The state is read far more often than it changes. */
function decoded(inputs: JsonObject): unknown {
  const text = String(inputs["payload"]);
  const known = decodedPayloads.get(text) ?? decodeRecord(inputs, "the fake state");
  if (decodedPayloads.size > 1_000) decodedPayloads.clear();
  decodedPayloads.set(text, known);
  return known;
}

/** What an operation left in the cloud, and what it failed with. */
async function answerOf(
  call: () => Promise<{ readonly id: string; readonly outs: Properties }>,
): Promise<[made: Made | undefined, failure: unknown]> {
  try {
    const { id, outs } = await call();
    return [{ id, outs, unfinished: false }, undefined];
  } catch (error) {
    if (!(error instanceof UnfinishedResource)) return [undefined, error];
    return [{ id: error.id, outs: error.properties, unfinished: true }, error];
  }
}

interface Made {
  readonly id: string;
  readonly outs: Properties;
  readonly unfinished: boolean;
}
