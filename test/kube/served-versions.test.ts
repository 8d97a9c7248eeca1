import assert from "node:assert/strict";
import type { JsonObject } from "../../src/api/json.js";
import { KubeSource } from "../../src/kube/kube-source.js";
import type { InfrastructureProvider } from "../../src/provider/index.js";
import { viewOf } from "../support/cluster-views.js";
import { FakeApiServer } from "../support/fake-api-server.js";
import { FakeEngine } from "../support/fake-engine.js";
import {
  alpha,
  beta,
  evolvingCluster,
  evolvingDeployment,
  evolvingMachine,
  evolvingProvider,
} from "../support/two-releases.js";

const key = "default/prod";
const first = evolvingProvider("first");
const second = evolvingProvider("second");

/** An API server whose clusters one release of a provider keeps, and then the next one. */
class World {
  readonly server = new FakeApiServer();
  readonly engine = new FakeEngine({ provider: first });
  private source = this.sourceOf(first);

  private sourceOf(provider: InfrastructureProvider): KubeSource {
    return new KubeSource({
      api: this.server.api,
      cache: this.server.cache,
      secrets: this.server.secrets.cache,
      clock: this.engine.clock,
      providers: [provider],
      owner: "kube-system",
      redact: (text) => text,
    });
  }

  upgrade(): void {
    this.engine.upgrade(second);
    this.source = this.sourceOf(second);
  }

  write(apiVersion: string, memory: JsonObject): void {
    this.server.apply(
      evolvingCluster(apiVersion),
      evolvingMachine("web", apiVersion, memory),
      evolvingDeployment("set", 1, apiVersion, memory),
    );
  }

  digest(): string {
    return this.source.intentOf(key).digest;
  }

  /** Reconciles once. Returns how much was planned and whether everything is shown now, without an end of writes. */
  async reconcile(): Promise<{ readonly steps: number; readonly isShown: boolean }> {
    const intent = this.source.intentOf(key, true);
    assert.ok(intent.kind === "want", JSON.stringify(intent));
    const { steps } = await this.engine.settle(intent.desired);
    const view = await viewOf(this.engine);
    await this.source.show(key, view, this.engine.provider);
    return { steps: steps.length, isShown: this.source.isShown(key, view, this.engine.provider) };
  }

  /** The version and memory of each provider's object, by "<Kind> <name>". */
  shown(): Record<string, string> {
    const told = this.server.all().map(({ kind, metadata, spec }): [string, string] => {
      const text = JSON.stringify(spec);
      const version = text.includes(alpha) ? "alpha" : text.includes(beta) ? "beta" : "none";
      const memory = /"(memory(?:Gib)?)":(\d+)/.exec(text)?.slice(1).join(" ") ?? "";
      return [
        `${kind} ${metadata.name.replace(/-[0-9a-f]{8}/, "")}`,
        `${version} ${memory}`.trim(),
      ];
    });
    return Object.fromEntries(told);
  }
}

const users = { "Cluster prod": "alpha", "Machine web": "alpha memory 2048" };
const usersSet = { ...users, "MachineDeployment set": "alpha memory 2048" };

describe("objects on an API server in an older version", () => {
  let world: World;
  beforeEach(async () => {
    world = new World();
    world.write(alpha, { memory: 2048 });
    assert.deepEqual(await world.reconcile(), { steps: 2, isShown: true });
    world.upgrade();
  });

  it("stay as their user wrote them; what is derived shows the storage version", async () => {
    assert.deepEqual(await world.reconcile(), { steps: 0, isShown: true });
    assert.deepEqual(world.shown(), {
      ...usersSet,
      // A set is the record of one revision, as it was made.
      "MachineSet set": "alpha memory 2048",
      "Machine set-0": "beta memoryGib 2",
    });
    assert.deepEqual(await world.reconcile(), { steps: 0, isShown: true });
  });

  it("may be written in the newer one, and nothing is asked for by that", async () => {
    await world.reconcile();
    const before = world.digest();
    world.write(beta, { memoryGib: 2 });
    assert.equal(world.digest(), before);
    assert.deepEqual(await world.reconcile(), { steps: 0, isShown: true });
    assert.equal(world.shown()["MachineDeployment set"], "beta memoryGib 2");
  });

  it("make sets in the storage version when they change", async () => {
    world.write(alpha, { memory: 4096 });
    assert.ok((await world.reconcile()).steps > 0);
    const sets = world.server.all().filter(({ kind }) => kind === "MachineSet");
    assert.deepEqual(
      sets.map(({ spec }) => JSON.stringify(spec).includes(beta)),
      [false, true],
    );
    assert.deepEqual(await world.reconcile(), { steps: 0, isShown: true });
  });
});
