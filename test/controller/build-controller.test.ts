import assert from "node:assert/strict";
import { CapstanError } from "../../src/api/error.js";
import { buildController } from "../../src/controller/build-controller.js";
import { Workspace } from "../../src/engine/backend/workspace.js";
import type { Term } from "../../src/kube/lease.js";
import { defineProvider } from "../../src/provider/define.js";
import type { CreateContext, Identity, Observed } from "../../src/provider/port.js";
import { noCertificates } from "../../src/source/certificate-report.js";
import type { ClusterSource } from "../../src/source/cluster-source.js";
import { failsWith } from "../support/errors.js";
import { FakeClock } from "../support/fake-clock.js";

const clock = new FakeClock();
const never = new AbortController().signal;
const ctx: CreateContext = {
  clock,
  signal: never,
  assertEngineAlive: () => undefined,
  userData: () => Promise.reject(new Error("none")),
};
const who: Identity = {
  cluster: "default/a",
  clusterUid: "u",
  kind: "CrateHost",
  name: "m-1",
  token: "0".repeat(32),
};
const host: Observed = { id: "1", who, phase: "ready", spec: {}, status: {} };

/** Knows of no cluster. */
const source: ClusterSource = {
  owner: "test",
  keys: () => [],
  intentOf: () => ({ kind: "absent", digest: "" }),
  claim: () => Promise.resolve(),
  show: () => Promise.resolve(),
  isShown: () => true,
  givenKeys: () => Promise.resolve(undefined),
  certificatesOf: () => noCertificates,
  release: () => Promise.resolve(),
  forget: () => Promise.resolve(),
};

describe("buildController", () => {
  let created: number;
  let leads: boolean;
  beforeEach(() => ([created, leads] = [0, true]));

  const provider = () =>
    defineProvider({
      name: "crate",
      apiVersion: "crate.example.dev/v1alpha1",
      machineSpec: { kind: "CrateMachineProviderSpec", schema: { type: "object" } },
      machine: {
        locate: () => Promise.resolve({ found: "none" }),
        create: () => {
          created += 1;
          return Promise.resolve(host);
        },
        remove: () => Promise.resolve(),
        list: () => Promise.resolve([]),
      },
    });

  const term: Term = {
    place: { lease: "uid", transition: 1 },
    lost: never,
    leftMs: () => 1_000,
    assertLeader: () => {
      if (leads) return;
      throw new CapstanError({ code: "NOT_LEADER", source: "engine", message: "no more" });
    },
  };

  /** A creation by the one provider that a controller is built with. */
  const createBy = (of: { readonly term?: Term }) => {
    const settings = {
      clock,
      by: "test",
      stateDir: "nowhere",
      interruption: { stop: never, kill: never },
      engines: 1,
      concurrency: 1,
      periodMs: 1_000,
      timeoutMs: 1_000,
      deadlineMs: 1_000,
      notice: () => {},
      onListingFailure: () => {},
      newClusterUid: () => "uid",
    };
    const workspace = new Workspace({ stateDir: "nowhere", pulumiBinDir: "nowhere", env: {} });
    const { providers } = buildController(settings, {
      source,
      opened: { workspace, pulumi: "nowhere" },
      sink: () => {},
      providers: [provider()],
      ...of,
    });
    const [own] = providers;
    assert.ok(own !== undefined);
    return own.handlers.get(own.hostKind)?.create(ctx, who, {});
  };

  it("lets whoever leads change the cloud, and whoever led once change nothing", async () => {
    await createBy({ term });
    leads = false;
    await assert.rejects(async () => createBy({ term }), failsWith("NOT_LEADER"));
    assert.equal(created, 1);
  });

  it("lets whoever needs no lease change the cloud", async () => {
    leads = false;
    await createBy({});
    assert.equal(created, 1);
  });
});
