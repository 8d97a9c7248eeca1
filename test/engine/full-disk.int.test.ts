import assert from "node:assert/strict";
import type { Command, Outcome } from "../scenario/command.js";
import { type ScenarioCluster, demoStack } from "../scenario/manifests.js";
import { Sandbox } from "../scenario/sandbox.js";
import { SmallDisk } from "../scenario/small-disk.js";
import { until } from "../scenario/until.js";

// CAPSTAN_DISK_TRIES=40 runs forty, and CAPSTAN_DISK_SHOW=1 shows what they say: docs/state.md, "A full disk".
const tries = Number(process.env["CAPSTAN_DISK_TRIES"] ?? 6);

const shows = process.env["CAPSTAN_DISK_SHOW"] !== undefined;

const verbs = ["up", "update", "destroy"] as const;
/** When somebody else fills the disk: first, once at the first change of the cloud, or ever again from then on. */
const moments = ["before", "during", "throughout"] as const;

type Verb = (typeof verbs)[number];
type Moment = (typeof moments)[number];

interface Try {
  readonly verb: Verb;
  readonly moment: Moment;
  readonly freeBytes: number;
}

const shape = (size: "small" | "medium"): ScenarioCluster => ({
  machines: { "cp-0": { controlPlane: true } },
  deployments: { web: { replicas: 3, maxSurge: 1, template: { size } } },
});

/** From nothing to 1 MiB, each a little more than the one before; every verb meets every moment. */
function tryNumber(index: number): Try {
  const verb = verbs[index % verbs.length]!;
  const shift = Math.floor(index / verbs.length);
  const moment = moments[(index + shift) % moments.length]!;
  const freeBytes = index === 0 ? 0 : Math.round(4_096 * 2 ** ((8 * index) / (tries - 1)));
  return { verb, moment, freeBytes };
}

function said({ code, stdout, stderr }: Outcome): string {
  return `exit ${code}\n${stdout}${stderr}`;
}

describe("a disk that is full", () => {
  let disk: SmallDisk;
  let fresh: Sandbox;
  let running: Sandbox;
  let sandbox: Sandbox;

  before(async () => {
    disk = await SmallDisk.make(8);
    fresh = await Sandbox.make(shape("small"));
    running = fresh.copy();
    await running.up();
  });
  after(async () => {
    await Promise.all([fresh.close(), running.close()]);
    disk.close();
  });
  afterEach(async () => {
    disk.release();
    await sandbox.close();
  });

  const begin = (verb: Verb): Command =>
    verb === "destroy" ? sandbox.start("destroy", "--yes", demoStack) : sandbox.startUp();

  const hasChangesAfter = (after: number): boolean => {
    try {
      return sandbox.mutations(after).length > 0;
    } catch {
      return false; // The cloud is being made: it has no ledger yet.
    }
  };

  const runOn = async ({ verb, moment, freeBytes }: Try): Promise<Outcome> => {
    const after = sandbox.ledgerEnd();
    if (moment === "before") disk.fillTo(freeBytes);
    const command = begin(verb);
    if (moment === "before") return command.finished;
    await until("the first change", () => command.hasEnded || hasChangesAfter(after), 120_000);
    if (moment === "during") disk.fillTo(freeBytes);
    else disk.keepFilledTo(freeBytes);
    return command.finished;
  };

  const expectDone = async (verb: Verb): Promise<void> => {
    if (verb === "destroy") return assert.deepEqual(sandbox.alive(), []);
    await sandbox.assertSound(demoStack);
    const sizes = sandbox.alive().flatMap(({ kind, spec }) => (kind === "LocalHost" ? [spec] : []));
    assert.equal(sizes.length, 4);
    await sandbox.plan(0);
  };

  for (let index = 0; index < tries; index++) {
    const one = tryNumber(index);
    const { verb, moment, freeBytes } = one;
    it(`${moment} ${verb}, with ${freeBytes} bytes left, stops nobody who frees it`, async () => {
      sandbox = (verb === "up" ? fresh : running).copy({ parent: disk.folder });
      if (verb === "update") sandbox.write(shape("medium"));
      const first = await runOn(one);
      disk.release();
      if (shows) process.stderr.write(`\n--- ${one.moment} ${verb}, ${freeBytes}\n${said(first)}`);
      const again = await begin(verb).finished;
      assert.equal(again.code, 0, `${first.stderr}\nand again:\n${again.stdout}${again.stderr}`);
      await expectDone(verb);
      assert.doesNotMatch(said(first), /defect of capstan|^ {4}at /m);
    });
  }
});
