import assert from "node:assert/strict";
import fc from "fast-check";
import type { JsonObject } from "../../src/api/json.js";
import { machineOf } from "../scenario/ledger-judge.js";
import type { MachineShape } from "../support/manifests.js";
import { manifestsOf, smallClusters, type WantedCluster } from "../support/wanted-cluster.js";
import type { CommandFault } from "../support/faults.js";
import { FakeController } from "../support/fake-controller.js";
import { assertAsyncLaw } from "../support/laws.js";

/** What users do, and what goes wrong while the controller works on it. */
interface Turn {
  readonly wanted: WantedCluster;
  readonly faults: readonly CommandFault[];
  /** Its process is killed in the middle of its work on them, and another one takes over. */
  readonly dies?: CommandFault | undefined;
  /** Somebody deletes the n-th Machine object, whoever made it. */
  readonly discards?: number | undefined;
  /** The n-th object of a user is wrong until the next turn. */
  readonly spoils?: number | undefined;
  /** The n-th host dies behind everybody's back. */
  readonly kills?: number | undefined;
  /** The next turn's objects come while this one is worked on, at the n-th thing that happens. */
  readonly overtakenAt?: number | undefined;
  /** Edits are heard of at once and not a while later. */
  readonly hearsAtOnce: boolean;
  readonly isRestarted: boolean;
  /** Its API server is away from the n-th thing that happens until the end of the turn. */
  readonly awayAt?: number | undefined;
  /** Somebody pauses it for a moment afterwards. */
  readonly isPaused: boolean;
}

const some = (most: number) => fc.option(fc.nat({ max: most }), { nil: undefined });
const faults: fc.Arbitrary<CommandFault> = fc.oneof(
  fc.record({
    at: fc.constant("call" as const),
    number: fc.nat({ max: 5 }),
    what: fc.constantFrom("fail", "failForGood", "loseAnswer", "throttle"),
  }),
  fc.record({
    at: fc.constant("look" as const),
    number: fc.nat({ max: 12 }),
    what: fc.constantFrom("unknown", "unknownForGood", "throttle", "failForGood"),
  }),
  fc.record({
    at: fc.constant("boot" as const),
    number: fc.nat({ max: 2 }),
    what: fc.constantFrom("never", "fails", "dies"),
  }),
);
const deaths: fc.Arbitrary<CommandFault> = fc.oneof(
  fc.record({
    at: fc.constant("call" as const),
    number: fc.nat({ max: 8 }),
    what: fc.constantFrom("killBefore", "killAfter", "killLate"),
  }),
  fc.record({
    at: fc.constantFrom("write" as const, "show" as const),
    number: fc.nat({ max: 30 }),
    what: fc.constantFrom("killBefore", "killAfter"),
  }),
);
const turns: fc.Arbitrary<Turn> = fc.record({
  wanted: smallClusters,
  faults: fc.array(faults, { maxLength: 2 }),
  dies: fc.option(deaths, { nil: undefined }),
  discards: some(4),
  spoils: some(4),
  kills: some(4),
  overtakenAt: some(8),
  hearsAtOnce: fc.boolean(),
  isRestarted: fc.boolean(),
  awayAt: some(16),
  isPaused: fc.boolean(),
});

const recheckMs = 60_000;

/** Makes the users' objects those of the wanted cluster. */
function apply({ server }: FakeController, wanted: WantedCluster): void {
  const objects = manifestsOf(wanted);
  const names = objects.map(({ kind, metadata }) => nameOf(String(kind), metadata as Named));
  for (const { kind, metadata } of server.all()) {
    const isDerived = metadata.ownerReferences?.some(({ controller }) => controller) === true;
    if (!isDerived && !names.includes(nameOf(kind, metadata)))
      server.delete(nameOf(kind, metadata));
  }
  // Who was deleted has to go before another of that name can come.
  const isGoing = (name: string) => server.find(name)?.metadata.deletionTimestamp !== undefined;
  server.apply(...objects.filter((_one, index) => !isGoing(names[index] ?? "")));
}

interface Named {
  readonly name: string;
}

function nameOf(kind: string, { name }: Named): string {
  return `${kind} ${name}`;
}

/** Its accepted form stands for it, so that its hosts stay. */
function spoil({ server }: FakeController, index: number | undefined): void {
  const written = server
    .all()
    .filter(
      ({ metadata }) => metadata.ownerReferences?.some(({ controller }) => controller) !== true,
    );
  const wrong = written[index ?? written.length];
  if (wrong === undefined) return;
  server.edit(nameOf(wrong.kind, wrong.metadata), ({ spec }) => ({
    spec: { ...spec, nonsense: 1 },
  }));
}

async function play(controller: FakeController, turn: Turn, next: WantedCluster): Promise<void> {
  const { server, world } = controller;
  if (turn.isRestarted) controller.restart();
  controller.meet(...turn.faults, ...(turn.dies === undefined ? [] : [turn.dies]));
  controller.hearsAtOnce = turn.hearsAtOnce;
  apply(controller, turn.wanted);
  const machines = server.all().filter(({ kind }) => kind === "Machine");
  const discarded = machines[turn.discards ?? machines.length];
  if (discarded !== undefined) server.delete(nameOf("Machine", discarded.metadata));
  spoil(controller, turn.spoils);
  const hosts = world.hosts();
  const killed = hosts[turn.kills ?? hosts.length];
  if (killed !== undefined) world.cloud.kill(killed.id);
  let happened = 0;
  controller.onHappening = () => {
    if (happened === turn.overtakenAt) apply(controller, next);
    if (happened === turn.awayAt) server.isAway = true;
    happened += 1;
  };
  await controller.settle();
  controller.onHappening = () => {};
  server.isAway = false;
  if (!turn.isPaused) return;
  const annotate = (annotations: Record<string, string>) =>
    server.edit("Cluster prod", ({ metadata }) => ({
      metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } },
    }));
  annotate({ "capstan.dev/paused": "" });
  await controller.settle();
  server.edit("Cluster prod", ({ metadata: { annotations, ...metadata } }) => {
    const { "capstan.dev/paused": _over, ...others } = annotations ?? {};
    return { metadata: { ...metadata, annotations: others } };
  });
}

function isFrozen({ server }: FakeController): boolean {
  return server.find("Cluster prod")?.status?.["phase"] === "Frozen";
}

/** What looks like a fault of the cloud, of which the judge counts for itself that it is none, is said to be true by a person. */
function thaw({ server, world }: FakeController): void {
  const machines = server.all().filter(({ kind }) => kind === "Machine").length;
  const lost = machines - world.hosts().length;
  assert.ok(
    lost > Math.max(1, Math.floor(0.4 * machines)),
    `frozen with ${lost} of ${machines} lost`,
  );
  const status = JSON.stringify(server.find("Cluster prod")?.status?.["drift"]);
  const [, fingerprint] = /drift-thaw: (\w+)/.exec(status) ?? [];
  assert.ok(fingerprint !== undefined, status);
  server.edit("Cluster prod", ({ metadata }) => ({
    metadata: {
      ...metadata,
      annotations: { ...metadata.annotations, "capstan.dev/drift-thaw": fingerprint },
    },
  }));
}

/**
 * Nothing goes wrong any more, and time passes until nothing is left to do, or until what is asked for
 * turns out to be something that only a person can mend, such as a downgrade.
 */
async function comeToRest(controller: FakeController): Promise<"done" | "refused"> {
  controller.meet();
  const told: string[] = [];
  for (let round = 0; round < 40; round += 1) {
    const outcome = await controller.settle();
    told.push(JSON.stringify(outcome));
    const status = controller.server.find("Cluster prod")?.status;
    const isRefused = status?.["errorReason"] === "UnsupportedChange";
    if (outcome.kind === "done") {
      if (!isFrozen(controller)) return isRefused ? "refused" : "done";
      thaw(controller);
      continue;
    }
    if (isRefused && round > 2) return "refused";
    controller.world.clock.advance(outcome.kind === "failed" ? recheckMs : outcome.ms);
  }
  throw new Error(`it never comes to rest: ${told.slice(-4).join(" ")}`);
}

/**
 * What runs and what is shown are what the objects ask for. It is held against what a user wrote, never against what the
 * product has recorded of it.
 */
function holdAgainst(
  { server, world }: FakeController,
  { machines, deployments }: WantedCluster,
): void {
  assert.equal(server.find("Cluster prod")?.status?.["phase"], "Running");
  const hosts = world.hosts();
  const shown = server.all().filter(({ kind }) => kind === "Machine");
  const wanted = [
    ...Object.entries(machines).map(([name, shape]) => ({ name, shape, replicas: undefined })),
    ...Object.entries(deployments).map(([name, { replicas, template }]) => ({
      name,
      shape: template,
      replicas,
    })),
  ];
  const isOf = ({ name, replicas }: (typeof wanted)[number], machine: string) =>
    replicas === undefined ? machine === name : machine.startsWith(`${name}-`);
  for (const one of wanted) {
    const count = one.replicas ?? 1;
    const own = hosts.filter(({ who }) => isOf(one, machineOf(who.name)));
    assert.equal(own.length, count, `hosts of ${one.name}`);
    assert.deepEqual(
      shown
        .filter(({ metadata }) => isOf(one, metadata.name))
        .map(({ status }) => (status?.["providerStatus"] as { readonly id?: string }).id)
        .sort(),
      own.map(({ id }) => id).sort(),
    );
    for (const { who, spec } of own) assertIsAs(who.name, spec, one.shape);
  }
  const asked = wanted.reduce((sum, { replicas = 1 }) => sum + replicas, 0);
  assert.deepEqual([hosts.length, shown.length], [asked, asked]);
}

/** The fields of a host that its user wrote. Another size is as good where the user says so. */
function assertIsAs(host: string, spec: JsonObject, shape: MachineShape): void {
  const { size, otherSizes = [], diskGib, tags, kubelet, controlPlane } = shape;
  if (size !== undefined) {
    assert.ok([size, ...otherSizes].includes(spec["size"] as typeof size), `${host}: size`);
  }
  const same = { diskGib, tags, kubelet, controlPlane };
  for (const [field, value] of Object.entries(same)) {
    if (value !== undefined) assert.deepEqual(spec[field], value, `${host}: ${field}`);
  }
}

describe("Reconciler, whatever happens", () => {
  it("brings about what is asked for in the end, breaks no law, and lets everything go", async () => {
    let deaths = 0;
    await assertAsyncLaw(
      fc.asyncProperty(fc.array(turns, { minLength: 1, maxLength: 4 }), async (played) => {
        const controller = new FakeController();
        const { server, world } = controller;
        for (const [index, turn] of played.entries()) {
          await play(controller, turn, played[index + 1]?.wanted ?? turn.wanted);
        }
        const last = played.at(-1)?.wanted;
        assert.ok(last !== undefined);
        // Twice: names that are going are free only afterwards.
        apply(controller, last);
        await comeToRest(controller);
        apply(controller, last);
        const rest = await comeToRest(controller);
        assert.deepEqual(world.cloud.watch.violations, []);
        assert.deepEqual(server.trespasses(), []);
        if (rest === "done") holdAgainst(controller, last);
        server.delete("Cluster prod");
        await comeToRest(controller);
        assert.deepEqual(server.all(), []);
        assert.deepEqual(world.alive(), []);
        deaths += controller.deaths;
      }),
      40,
    );
    assert.ok(deaths > 0, "some are killed in the middle of their work");
  }).timeout(120_000);
});
