import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { LocalCloud } from "../../providers/local/cloud.js";
import { LocalProvider } from "../../providers/local/provider.js";
import { localApiVersion } from "../../providers/local/specs.js";
import { loadProviders } from "../../providers/outside.js";
import { sameJson, type JsonObject } from "../../src/api/json.js";
import {
  type ConformanceSubject,
  type OlderSpecs,
  steppingClock,
  type World,
} from "../../src/provider-conformance/index.js";
import type { Identity, InfrastructureProvider, Observed } from "../../src/provider/port.js";

const exampleFolder = fileURLToPath(
  new URL("../../../examples/provider-minimal/", import.meta.url),
);

/** The provider `local` on a cloud file of its own, with the faults that it has anyway. */
export const localSubject: ConformanceSubject = {
  clusterSpec: { apiVersion: localApiVersion, kind: "LocalClusterProviderSpec" },
  machineSpec: { apiVersion: localApiVersion, kind: "LocalMachineProviderSpec", diskGib: 20 },
  inPlace: { tags: { team: "a" } },
  replacing: { size: "large" },
  open: () => {
    const folder = mkdtempSync(join(tmpdir(), "capstan-local-"));
    const clock = steppingClock();
    const cloud = new LocalCloud(join(folder, "local-cloud.db"), clock);
    const always = 1_000_000;
    return {
      provider: new LocalProvider(cloud),
      clock,
      clusterUid: "uid-1",
      loseNextCreate: () => cloud.addFault({ call: "create", mode: "lose" }),
      lagListings: (ms) => cloud.addFault({ call: "create", mode: "lag", ms, times: always }),
      blind: async (on) => {
        await cloud.clearFaults();
        if (!on) return;
        await cloud.addFault({ call: "get", mode: "fail", times: always });
        await cloud.addFault({ call: "list", mode: "fail", times: always });
      },
      plant: async (who, spec) => (await cloud.create("LocalHost", who, spec)).id,
      countAlive: async (who) =>
        (await cloud.everything()).filter(
          (one) => sameJson(one.who, who) && one.state !== "terminated",
        ).length,
      close: () => {
        cloud.close();
        rmSync(folder, { recursive: true });
      },
    };
  },
};

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
        blind: (on) => void (cloud.isBlind = on),
        plant: (who, spec) => cloud.plant(who, spec),
        countAlive: (who) => cloud.alive(who).length,
        close: () => rmSync(folder, { recursive: true, force: true }),
      };
    },
  };
}

/** The example's folder, made to misbehave. Reading one file never lags; listing does. */
export class FaultyFolder implements FolderCloud {
  losesNext = false;
  lagMs = 0;
  isBlind = false;
  private readonly shownFrom = new Map<string, number>();

  constructor(
    private readonly folder: FolderCloud,
    private readonly now: () => number,
  ) {}

  get(id: string): Observed | undefined {
    this.look();
    return this.folder.get(id);
  }

  put(machine: Observed): Observed {
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
    const id = `planted-${this.folder.list().length}`;
    return this.folder.put({ id, who, phase: "ready", spec, status: {} }).id;
  }

  alive(who: Identity): Observed[] {
    return this.folder.list().filter((one) => sameJson(one.who, who) && one.phase !== "gone");
  }

  private look(): void {
    if (this.isBlind) throw new Error("the folder gives no answer");
  }
}

/** The example as the product loads it, so that its import of capstan/provider is found. */
function loadExample(): ExampleModule {
  const context = { stateDir: exampleFolder, clock: steppingClock(), env: {} };
  loadProviders({ folder: exampleFolder, env: {} }, context);
  return createRequire(exampleFolder)("./provider.js") as ExampleModule;
}
