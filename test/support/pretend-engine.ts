import assert from "node:assert/strict";
import { canonicalJson, sameJson, type Json, type JsonObject } from "../../src/api/json.js";
import type { Desired } from "../../src/api/types.js";
import { type NodeKey, nodeKey, resolveRefs } from "../../src/graph/graph.js";
import { makePlan, type Plan } from "../../src/plan/plan.js";
import type { Sighting } from "../../src/plan/step.js";
import {
  cloudResources,
  type PendingOperation,
  type PriorState,
  type RecordedResource,
  recordedIdentity,
  type RevisionRecord,
  type Spent,
  type Target,
  type TransactionRecord,
} from "../../src/plan/target.js";
import type { Identity, InfrastructureProvider, Observed } from "../../src/provider/port.js";
import { nextAction } from "../../src/transaction/admit.js";
import {
  type Admission,
  type Payloads,
  programOf,
  revisionKey,
  transactionKey,
} from "../../src/transaction/pass.js";
import type { PassProgram, Registration } from "../../src/transaction/registration.js";
import { localProvider } from "./manifests.js";

/** Where an apply is cut off, as a killed engine would be: before or within its n-th cloud call. */
export interface Interruption {
  /** Cloud calls that are still carried out and recorded. */
  readonly afterCalls: number;
  /** `unrecorded`: one more creation reaches the cloud, but not the state. */
  readonly lastCall: "notMade" | "unrecorded";
}

/** One thing that was done to the cloud, in order. */
export interface Call {
  readonly call: "create" | "update" | "delete";
  readonly key: NodeKey;
  readonly id: string;
  /** Counts passes over the engine's life. */
  readonly pass: number;
  readonly inCommit: boolean;
}

interface Served {
  readonly id?: string;
  readonly outputs: JsonObject;
  readonly unfinished?: boolean;
}

class Interrupted extends Error {}

/**
 * The engine without Pulumi and without a cloud: it carries plans out by the same pure decisions
 * (`nextAction`, `programOf`) on a state and a cloud in memory, and holds each pass against the laws
 * that must hold whatever the plan was. Hosts run as soon as somebody waits for them.
 */
export class PretendEngine {
  readonly calls: Call[] = [];
  passes = 0;
  private readonly cloud = new Map<string, Observed>();
  private readonly tokens = new Map<string, string>();
  private recorded: RecordedResource[] = [];
  private pending: PendingOperation[] = [];
  private nextId = 1;
  private budget = Number.POSITIVE_INFINITY;
  private lastCall: Interruption["lastCall"] = "notMade";

  constructor(readonly provider: InfrastructureProvider = localProvider()) {}

  /** What a state export would give. */
  get prior(): PriorState {
    const transaction = this.decodeTransaction();
    const revision = this.decodeRevision();
    return {
      resources: this.recorded,
      pending: this.pending,
      ...(transaction !== undefined && { transaction }),
      ...(revision !== undefined && { revision }),
    };
  }

  plan(desired: Desired, nowMs = 1_000): Plan {
    const { prior } = this;
    const known = new Set(cloudResources(prior).map(({ id }) => id));
    return makePlan({
      desired,
      provider: this.provider,
      prior,
      sightings: new Map(
        cloudResources(prior).map(({ key, id }): [NodeKey, Sighting] => {
          const seen = this.cloud.get(id ?? "");
          return [key, seen === undefined || seen.phase === "gone" ? "gone" : seen];
        }),
      ),
      strangers: [...this.cloud.values()].filter(({ id }) => !known.has(id)),
      newClusterUid: "uid-1",
      nowMs,
      owner: "files",
    });
  }

  /** Carries a plan out to its end, or until it is interrupted. Returns whether it was committed. */
  apply(plan: Plan, interruption?: Interruption): boolean {
    this.budget = interruption?.afterCalls ?? Number.POSITIVE_INFINITY;
    this.lastCall = interruption?.lastCall ?? "notMade";
    try {
      this.carryOut(plan);
      return true;
    } catch (error) {
      if (error instanceof Interrupted) return false;
      throw error;
    }
  }

  /** Plans and applies until it is committed: what a user does who runs `up` again. */
  settle(desired: Desired, atMost = 1): Plan {
    const plan = this.plan(desired);
    if (this.apply(plan)) return plan;
    assert.ok(atMost > 1, "the plan did not get to its end");
    return this.settle(desired, atMost - 1);
  }

  /** Hosts that are alive, oldest first. */
  hosts(): Observed[] {
    return this.alive().filter(({ who }) => who.kind === this.provider.hostKind);
  }

  alive(): Observed[] {
    return [...this.cloud.values()].filter(({ phase }) => phase !== "gone");
  }

  /** Ends a resource behind the engine's back. */
  kill(id: string): void {
    this.change(id, { phase: "gone" });
  }

  /** Changes fields of a resource behind the engine's back. */
  drift(id: string, fields: JsonObject): void {
    const current = this.cloud.get(id);
    assert.ok(current !== undefined);
    this.change(id, { spec: { ...current.spec, ...fields } });
  }

  /** Replaces what is recorded: for states that no run of this engine leads to. */
  tamper(change: (resources: readonly RecordedResource[]) => RecordedResource[]): void {
    this.recorded = change(this.recorded);
  }

  private carryOut(plan: Plan): void {
    this.refresh(plan.stale);
    const applied = new Set<NodeKey>();
    for (;;) {
      const action = nextAction(plan, { applied, ready: this.readyKeys() });
      if (action.kind === "wait") {
        assert.ok(
          action.keys.every((key) => this.boot(key)),
          `${action.keys.join()} never run`,
        );
        continue;
      }
      if (action.kind === "commit") {
        this.resolvePendingCreates();
        this.pass(plan, { admitted: applied, deletions: new Set(action.deletions), commit: true });
        return;
      }
      const admitted = new Set([...applied, ...action.keys]);
      this.pass(plan, { admitted, deletions: new Set(), commit: false });
      for (const key of action.keys) applied.add(key);
    }
  }

  /** One Pulumi update: registrations in order, then everything that was not registered goes. */
  private pass(plan: Plan, admission: Admission): void {
    this.passes += 1;
    const program = programOf(plan, this.prior, admission, payloadsOf(plan));
    this.assertOrder(program);
    const inCommit = admission.commit;
    for (const registration of program.registrations) this.register(registration, inCommit);
    const registered = new Set(program.registrations.map(({ key }) => key));
    const doomed = this.recorded.filter(({ key, deleting }) => deleting || !registered.has(key));
    this.assertDeletable(plan, admission, doomed);
    for (const resource of doomed.reverse()) this.remove(resource, inCommit);
    const order = program.registrations.map(({ key }) => key);
    this.recorded.sort((left, right) => order.indexOf(left.key) - order.indexOf(right.key));
  }

  private register(registration: Registration, inCommit: boolean): void {
    const { key, type, kind, name, parent, secretInputs, dependsOn } = registration;
    const inputs = resolveRefs(registration.inputs, ({ $ref, output }) =>
      this.output($ref, output),
    );
    const before = this.recorded.find((one) => one.key === key);
    const real = type === "resource" && this.provider.handlers.has(kind);
    const done: Served = real
      ? this.serve(key, inputs, before, inCommit)
      : { outputs: {}, ...(type === "resource" && { id: name }) };
    const record: RecordedResource = {
      urn: `urn:pulumi:stack::capstan::${kind}::${name}`,
      ...{ key, kind, name, type, inputs, secretInputs, dependsOn },
      ...(parent !== undefined && { parent }),
      unfinished: false,
      deleting: false,
      ...done,
    };
    if (before === undefined) this.recorded = [...this.recorded, record];
    else this.recorded = this.recorded.map((one) => (one === before ? record : one));
    if (record.unfinished) throw new Interrupted();
  }

  /** What the bridge does for a registered resource: find or create, or update in place. */
  private serve(
    key: NodeKey,
    inputs: JsonObject,
    before: RecordedResource | undefined,
    inCommit: boolean,
  ): Served {
    const who = inputs["who"] as Identity;
    const spec = inputs["spec"] as JsonObject;
    if (before === undefined) return this.create(key, who, spec, inCommit);
    const id = before.id ?? "";
    assert.deepEqual(recordedIdentity(before), who, `${key} changes its identity`);
    // Pulumi updates what is unfinished whether or not its inputs differ.
    if (sameJson(before.outputs["spec"], spec) && !before.unfinished) {
      return { id, outputs: before.outputs };
    }
    const current = this.cloud.get(id);
    assert.ok(current !== undefined && current.phase !== "gone", `${key} is updated, but gone`);
    const verdict = this.provider.verdict(who.kind, current.spec, spec);
    if (verdict.kind === "same") return { id, outputs: outputsOf(current) };
    assert.equal(verdict.kind, "inPlace", `${key} is updated, but needs ${verdict.kind}`);
    this.spend();
    this.change(id, { spec });
    this.calls.push({ call: "update", key, id, pass: this.passes, inCommit });
    return { id, outputs: outputsOf(this.cloud.get(id)) };
  }

  private create(key: NodeKey, who: Identity, spec: JsonObject, inCommit: boolean): Served {
    assert.ok(!inCommit, `${key} is created in the commit pass`);
    const found = this.alive().find((one) => sameJson(one.who, who));
    if (found !== undefined) return this.adopt(key, found, spec);
    this.spendCreate(key, who, spec);
    const id = this.make(who, spec);
    this.calls.push({ call: "create", key, id, pass: this.passes, inCommit });
    return { id, outputs: outputsOf(this.cloud.get(id)) };
  }

  /** What an interrupted engine made. One that cannot serve is recorded, and the pass fails. */
  private adopt(key: NodeKey, found: Observed, spec: JsonObject): Served {
    this.pending = this.pending.filter((one) => one.key !== key);
    const verdict = this.provider.verdict(found.who.kind, found.spec, spec);
    if (verdict.kind === "replace") {
      return { id: found.id, outputs: outputsOf(found), unfinished: true };
    }
    this.change(found.id, { spec });
    return { id: found.id, outputs: outputsOf(this.cloud.get(found.id)) };
  }

  /** Law of incarnations: a host's token is used once, for one host. */
  private make(who: Identity, spec: JsonObject): string {
    const id = `${who.kind}-${this.nextId++}`;
    if (who.kind === this.provider.hostKind) {
      assert.equal(this.tokens.get(who.token), undefined, `token of ${who.name} is used twice`);
      this.tokens.set(who.token, id);
    }
    const phase = who.kind === this.provider.hostKind ? "pending" : "ready";
    this.cloud.set(id, { id, who, phase, spec, status: { address: `10.0.0.${this.nextId}` } });
    return id;
  }

  private remove(resource: RecordedResource, inCommit: boolean): void {
    const id = resource.id ?? "";
    if (this.provider.handlers.has(resource.kind) && this.cloud.get(id)?.phase !== "gone") {
      this.spend();
      const users = this.alive().filter(({ spec }) => spec["networkId"] === id);
      assert.deepEqual(
        users.map((user) => user.who.name),
        [],
        `${resource.key} is still in use`,
      );
      this.change(id, { phase: "gone" });
      const { key } = resource;
      this.calls.push({ call: "delete", key, id, pass: this.passes, inCommit });
    }
    this.recorded = this.recorded.filter((one) => one !== resource);
  }

  private spend(): void {
    if (this.budget <= 0) throw new Interrupted();
    this.budget -= 1;
  }

  private spendCreate(key: NodeKey, who: Identity, spec: JsonObject): void {
    if (this.budget <= 0) {
      const entry = { urn: "", key, kind: who.kind, inputs: { who, spec } };
      this.pending = [...this.pending, { type: "creating", ...entry }];
      if (this.lastCall === "unrecorded") this.make(who, spec);
    }
    this.spend();
  }

  private refresh(stale: readonly NodeKey[]): void {
    this.recorded = this.recorded.flatMap((resource) => {
      if (!stale.includes(resource.key)) return [resource];
      const seen = this.cloud.get(resource.id ?? "");
      if (seen === undefined || seen.phase === "gone") return [];
      const { who, spec } = seen;
      return [{ ...resource, inputs: { who, spec }, outputs: outputsOf(seen), unfinished: false }];
    });
  }

  /** As src/engine/recover does: what was made and not recorded by now is removed. */
  private resolvePendingCreates(): void {
    const recorded = new Set(this.recorded.map(({ key }) => key));
    for (const { key, inputs } of this.pending) {
      const orphan = this.alive().find(({ who }) => sameJson(who, inputs["who"]));
      if (orphan !== undefined && !recorded.has(key)) this.change(orphan.id, { phase: "gone" });
    }
    this.pending = [];
  }

  private boot(key: NodeKey): boolean {
    const host = this.alive().find(({ who }) => nodeKey(who.kind, who.name) === key);
    if (host !== undefined) this.change(host.id, { phase: "ready" });
    return host !== undefined;
  }

  private readyKeys(): Set<NodeKey> {
    const ready = this.alive().filter(({ phase }) => phase === "ready");
    return new Set(ready.map(({ who }) => nodeKey(who.kind, who.name)));
  }

  private output(key: NodeKey, output: string): Json {
    const resource = this.recorded.find((one) => one.key === key);
    assert.ok(resource?.id !== undefined, `${key} is used before it exists`);
    return output === "id"
      ? resource.id
      : ((resource.outputs["status"] as JsonObject)[output] ?? null);
  }

  private assertOrder({ registrations }: PassProgram): void {
    const keys = registrations.map(({ key }) => key);
    assert.equal(new Set(keys).size, keys.length, "a resource is registered twice");
    assert.equal(keys[0], transactionKey);
    const before = new Set<NodeKey>();
    for (const { key, parent, dependsOn } of registrations) {
      const needed = [...dependsOn, ...(parent === undefined ? [] : [parent])];
      const missing = needed.filter((one) => !before.has(one));
      assert.deepEqual(missing, [], `${key} is registered before what it depends on`);
      before.add(key);
    }
    if (before.has(revisionKey)) assert.equal(keys.at(-1), revisionKey);
  }

  /** Law 8, and: what is superseded goes once every host of the target runs. */
  private assertDeletable(
    plan: Plan,
    admission: Admission,
    doomed: readonly RecordedResource[],
  ): void {
    const resources = doomed.filter(({ type }) => type === "resource");
    for (const { key } of resources) {
      assert.ok(admission.commit, `${key} is deleted before the commit`);
      assert.ok(admission.deletions.has(key), `${key} is deleted, but was not admitted`);
    }
    if (resources.length === 0) return;
    const ready = this.readyKeys();
    const missing = plan.target.machines.filter(({ host }) => !ready.has(host));
    assert.deepEqual(missing, [], "hosts of the target do not run, and others are deleted");
  }

  private change(id: string, change: Partial<Observed>): void {
    const current = this.cloud.get(id);
    assert.ok(current !== undefined, `${id} is not in the cloud`);
    this.cloud.set(id, { ...current, ...change });
  }

  private decodeTransaction(): TransactionRecord | undefined {
    const inputs = this.recorded.find(({ key }) => key === transactionKey)?.inputs;
    if (inputs === undefined) return undefined;
    const payload = JSON.parse(String(inputs["payload"])) as { target: Target; spent: Spent };
    return {
      number: Number(inputs["number"]),
      clusterUid: String(inputs["clusterUid"]),
      owner: String(inputs["owner"]),
      startedAtMs: Number(inputs["startedAtMs"]),
      ...payload,
    };
  }

  private decodeRevision(): RevisionRecord | undefined {
    const inputs = this.recorded.find(({ key }) => key === revisionKey)?.inputs;
    if (inputs === undefined) return undefined;
    const { target } = JSON.parse(String(inputs["payload"])) as { target: Target };
    return { number: Number(inputs["number"]), target };
  }
}

/** Payloads in clear: what src/engine compresses. */
export function payloadsOf({ target, transaction }: Plan): Payloads {
  return {
    transaction: canonicalJson({ target, spent: transaction.spent }),
    revision: canonicalJson({ target }),
  };
}

function outputsOf(observed: Observed | undefined): JsonObject {
  assert.ok(observed !== undefined);
  const { who, spec, status } = observed;
  return { who, spec, status };
}
