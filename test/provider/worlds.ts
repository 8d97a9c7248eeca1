import { mkdtempSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { LocalCloud, type LocalKind } from "../../providers/local/cloud.js";
import { LocalProvider } from "../../providers/local/provider.js";
import { localApiVersion } from "../../providers/local/specs.js";
import { loadProviders } from "../../providers/outside.js";
import { sameJson, type JsonObject } from "../../src/api/json.js";
import {
  type Blindness,
  type ConformanceSubject,
  type OlderSpecs,
  steppingClock,
  type World,
} from "../../src/provider-conformance/index.js";
import type { Identity, InfrastructureProvider, Observed } from "../../src/provider/port.js";
import { removeFolder } from "../support/folders.js";

const exampleFolder = fileURLToPath(
  new URL("../../../examples/provider-minimal/", import.meta.url),
);

/** `local`'s cloud, made to misbehave between its door and what is behind it. */
export class WatchedCloud extends LocalCloud {
  hook: (() => void) | undefined;
  hangs = false;

  override async create(...args: Parameters<LocalCloud["create"]>) {
    await this.changes(args[3]);
    return super.create(...args);
  }

  override async update(...args: Parameters<LocalCloud["update"]>) {
    await this.changes(args[2]);
    return super.update(...args);
  }

  override async stop(...args: Parameters<LocalCloud["stop"]>) {
    await this.changes(args[1]);
    return super.stop(...args);
  }

  override async start(...args: Parameters<LocalCloud["start"]>) {
    await this.changes(args[1]);
    return super.start(...args);
  }

  override async terminate(...args: Parameters<LocalCloud["terminate"]>) {
    await this.changes(args[1]);
    return super.terminate(...args);
  }

  override async disown(...args: Parameters<LocalCloud["disown"]>) {
    await this.changes(args[1]);
    return super.disown(...args);
  }

  override async mark(...args: Parameters<LocalCloud["mark"]>) {
    await this.changes(args[2]);
    return super.mark(...args);
  }

  override async get(...args: Parameters<LocalCloud["get"]>) {
    await this.answers(args[1]);
    return super.get(...args);
  }

  override async getByToken(...args: Parameters<LocalCloud["getByToken"]>) {
    await this.answers(args[2]);
    return super.getByToken(...args);
  }

  override async list(...args: Parameters<LocalCloud["list"]>) {
    await this.answers(args[1]);
    return super.list(...args);
  }

  private async changes(signal?: AbortSignal): Promise<void> {
    await this.answers(signal);
    this.hook?.();
  }

  private async answers(signal?: AbortSignal): Promise<void> {
    if (!this.hangs) return;
    await new Promise((_, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    });
  }
}

/** The provider `local` on a cloud file of its own, with the faults that it has anyway. */
export function localSubject(
  provider: (good: LocalProvider, cloud: WatchedCloud) => InfrastructureProvider = (good) => good,
): ConformanceSubject {
  return {
    clusterSpec: { apiVersion: localApiVersion, kind: "LocalClusterProviderSpec" },
    machineSpec: {
      apiVersion: localApiVersion,
      kind: "LocalMachineProviderSpec",
      diskGib: 20,
      dataVolume: { gib: 10 },
    },
    inPlace: { tags: { team: "a" }, diskGib: 40 },
    inPlaceOf: {
      LocalVolume: { gib: 20 },
      LocalNetwork: { bootMs: 100 },
      LocalLoadBalancer: { port: 6_444 },
    },
    replacing: { size: "large" },
    asking: { imageFamily: "ubuntu" },
    offering: { failureDomains: ["local-a", "local-b"] },
    choosing: { otherSizes: ["large", "medium"] },
    open: () => openLocal(provider),
  };
}

/** The same with hosts that are stopped, changed and started, a call each. */
export function resizableSubject(
  provider?: (good: LocalProvider, cloud: WatchedCloud) => InfrastructureProvider,
): ConformanceSubject {
  const { machineSpec, ...subject } = localSubject(provider);
  return {
    ...subject,
    machineSpec: { ...machineSpec, resizable: true },
    inPlace: { size: "large", tags: { team: "a" } },
    replacing: { zone: "local-b" },
  };
}

const operationMs = 60_000;

/** What the simulated cloud has nothing of. */
const lackedByLocal: NonNullable<World["lacks"]> = {
  partial: "all of its cloud is one file",
  plantNamesake: "names are no keys in its cloud",
  partsOf: "its cloud makes nothing together with a resource",
  conflictNextChange: "its cloud refuses no change as out of date",
  forgetOperations: "its cloud forgets no operation",
  holdOperations: "changes and removals are over at once in its cloud",
};

function openLocal(
  provider: (good: LocalProvider, cloud: WatchedCloud) => InfrastructureProvider,
): World {
  const folder = mkdtempSync(join(tmpdir(), "capstan-local-"));
  const clock = steppingClock();
  const path = join(folder, "local-cloud.db");
  const cloud = new WatchedCloud(path, clock);
  // What happens behind the provider's back takes another door.
  const behind = new LocalCloud(path, clock);
  const always = 1_000_000;
  const aliveOnes = async () =>
    (await behind.everything()).filter(({ state }) => state !== "terminated");
  return {
    provider: provider(new LocalProvider(cloud), cloud),
    clock,
    clusterUid: "uid-1",
    loseNextCreate: () => cloud.addFault({ call: "create", mode: "lose" }),
    lagListings: (ms) => cloud.addFault({ call: "create", mode: "lag", ms, times: always }),
    lacks: lackedByLocal,
    blindBy: ["denied"],
    blind: async (on, how) => {
      await cloud.clearFaults();
      if (!on) return;
      const mode = how === "denied" ? "deny" : "fail";
      await cloud.addFault({ call: "get", mode, times: always });
      await cloud.addFault({ call: "list", mode, times: always });
    },
    plant: async (who, spec) => (await behind.create(who.kind as LocalKind, who, spec)).id,
    countAlive: async (who) => (await aliveOnes()).filter((one) => sameJson(one.who, who)).length,
    beforeChange: (hook) => void (cloud.hook = hook),
    alive: async () => (await aliveOnes()).map(({ id }) => id),
    hang: (on) => void (cloud.hangs = on),
    acceptNextCreate: async (fate) => {
      const mode = fate === "made" ? "accepts" : "rejects";
      await behind.addFault({ call: "create", mode, ms: operationMs });
      return () => clock.advance(operationMs);
    },
    refuseNextCreate: () => cloud.addFault({ call: "create", mode: "noRoom" }),
    holdBoot: async (on) => {
      await behind.clearFaults();
      if (on) await behind.addFault({ call: "create", mode: "neverBoots", times: always });
    },
    mutate: async (id, fields) => {
      const current = await behind.get(id);
      await behind.update(id, { ...current?.spec, ...fields }, undefined, "set");
      return true;
    },
    stop: async (id) => {
      await behind.stop(id);
    },
    refuseNextRemoval: async () => {
      await behind.addFault({ call: "terminate", mode: "keeps", ms: operationMs });
      return () => clock.advance(operationMs);
    },
    kill: async (id) => {
      await behind.terminate(id, undefined, "kill");
    },
    plantMany: async (whos, spec) => {
      for (const who of whos) await behind.create(who.kind as LocalKind, who, spec);
    },
    plantTwin: async (who, spec) => {
      const token = `${who.token.slice(1)}0`;
      const { id } = await behind.create(who.kind as LocalKind, { ...who, token }, spec);
      await behind.disown(id);
      await behind.mark(id, who);
      return id;
    },
    close: () => {
      cloud.close();
      behind.close();
      removeFolder(folder);
    },
  };
}

/** The example's cloud, as its module exports it. */
export interface FolderCloud {
  get(id: string): Observed | undefined;
  put(machine: Observed): Observed;
  list(): Observed[];
}

interface ExampleModule {
  readonly FolderCloud: new (folder: string) => FolderCloud;
  readonly folderProvider: (cloud: FolderCloud) => InfrastructureProvider;
}

/** How a copy of the example differs from it: a part of its cloud, or of its provider. */
export interface Variant {
  provider?(good: InfrastructureProvider, cloud: FaultyFolder): InfrastructureProvider;
  readonly inPlace?: JsonObject;
  readonly olderSpecs?: readonly OlderSpecs[];
}

/** What a folder has nothing of. */
const lackedByFolder: NonNullable<World["lacks"]> = {
  partial: "a folder is read as a whole",
  plantNamesake: "a file's name is its id, and none is used twice",
  partsOf: "a folder makes nothing together with a file",
  conflictNextChange: "a folder refuses no change as out of date",
  forgetOperations: "a folder has no operations",
  holdOperations: "changes are over at once in a folder",
  refuseNextRemoval: "a folder has no operations",
};

const folderApiVersion = "folder.example.dev/v1alpha1";

/** The example's provider on a folder of its own. */
export function folderSubject({
  provider = (good) => good,
  inPlace,
  olderSpecs,
}: Variant = {}): ConformanceSubject {
  return {
    clusterSpec: { apiVersion: folderApiVersion, kind: "FolderClusterProviderSpec" },
    machineSpec: { apiVersion: folderApiVersion, kind: "FolderMachineProviderSpec" },
    replacing: { cpus: 8 },
    ...(inPlace !== undefined && { inPlace }),
    ...(olderSpecs !== undefined && { olderSpecs }),
    open: (): World => {
      const folder = mkdtempSync(join(tmpdir(), "capstan-folder-"));
      const example = loadExample();
      const clock = steppingClock();
      const cloud = new FaultyFolder(new example.FolderCloud(folder), () => clock.now());
      return {
        provider: provider(example.folderProvider(cloud), cloud),
        clock,
        clusterUid: "uid-1",
        loseNextCreate: () => void (cloud.losesNext = true),
        lagListings: (ms) => void (cloud.lagMs = ms),
        lacks: lackedByFolder,
        blindBy: ["denied"],
        blind: (on, how = "unavailable") => void (cloud.blindness = on ? how : undefined),
        plant: (who, spec) => cloud.plant(who, spec),
        countAlive: (who) => cloud.alive(who).length,
        beforeChange: (hook) => void (cloud.hook = hook),
        alive: () => cloud.all().map(({ id }) => id),
        holdBoot: (on) => cloud.hold(on),
        mutate: (id, fields) => cloud.change(id, ({ spec }) => ({ spec: { ...spec, ...fields } })),
        stop: (id) => void cloud.change(id, () => ({ phase: "failed" })),
        kill: (id) => void cloud.change(id, () => ({ phase: "gone" })),
        plantMany: (whos, spec) => whos.forEach((who) => cloud.plant(who, spec)),
        close: () => removeFolder(folder),
      };
    },
  };
}

/** The example's folder, made to misbehave. Reading one file never lags; listing does. */
export class FaultyFolder implements FolderCloud {
  hook: (() => void) | undefined;
  losesNext = false;
  lagMs = 0;
  blindness: Blindness | undefined;
  private holdsBoot = false;
  private planted = 0;
  private readonly shownFrom = new Map<string, number>();

  constructor(
    private readonly folder: FolderCloud,
    private readonly now: () => number,
  ) {}

  get(id: string): Observed | undefined {
    this.look();
    return this.folder.get(id);
  }

  put(made: Observed): Observed {
    this.hook?.();
    const machine: Observed = this.holdsBoot ? { ...made, phase: "pending" } : made;
    if (this.folder.get(machine.id) === undefined) {
      this.shownFrom.set(machine.id, this.now() + this.lagMs);
    }
    this.folder.put(machine);
    if (!this.losesNext) return machine;
    this.losesNext = false;
    throw new Error("the answer is lost");
  }

  list(): Observed[] {
    this.look();
    return this.folder.list().filter(({ id }) => (this.shownFrom.get(id) ?? 0) <= this.now());
  }

  plant(who: Identity, spec: JsonObject): string {
    const id = `planted-${(this.planted += 1)}`;
    return this.folder.put({ id, who, phase: "ready", spec, status: {} }).id;
  }

  alive(who: Identity): Observed[] {
    return this.all().filter((one) => sameJson(one.who, who));
  }

  all(): Observed[] {
    return this.folder.list().filter(({ phase }) => phase !== "gone");
  }

  /** While it holds, what is made stays pending. */
  hold(on: boolean): void {
    this.holdsBoot = on;
    const waiting = on ? [] : this.all().filter(({ phase }) => phase === "pending");
    for (const one of waiting) this.folder.put({ ...one, phase: "ready" });
  }

  /** What somebody does in the folder. */
  change(id: string, change: (current: Observed) => Partial<Observed>): boolean {
    const current = this.folder.get(id);
    if (current !== undefined) this.folder.put({ ...current, ...change(current) });
    return current !== undefined;
  }

  private look(): void {
    if (this.blindness !== undefined) throw new Error(`the folder is ${this.blindness}`);
  }
}

/** The example as the product loads it, so that its import of capstan/provider is found. */
function loadExample(): ExampleModule {
  const context = { stateDir: exampleFolder, clock: steppingClock(), env: {} };
  loadProviders({ folder: exampleFolder, env: {} }, context);
  return createRequire(exampleFolder)("./provider.js") as ExampleModule;
}
