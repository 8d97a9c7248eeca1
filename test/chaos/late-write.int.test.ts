import assert from "node:assert/strict";
import { join } from "node:path";
import type { Deployment } from "../scenario/ledger-judge.js";
import { S3Server } from "../scenario/s3-server.js";
import { repository, type Sandbox } from "../scenario/sandbox.js";
import { until } from "../scenario/until.js";
import { bucketOf } from "./boundary.js";
import { ChaosStage } from "./campaign.js";
import { startUp } from "./operation.js";
import { placeOf } from "./place.js";
import { judgeAt } from "./recovery.js";
import { LocalScene } from "./local-scene.js";
import { exitCodeOf } from "./scene.js";
import { verdictProblems } from "./verdict.js";

/** What one state says, as far as a write is known by it. */
interface Recorded {
  /** Names of hosts that have an id. */
  readonly hosts: readonly string[];
  readonly revision: number;
}

/** Reads what Pulumi writes, and nothing of ours. */
function recordedIn(body: string): Recorded {
  const { checkpoint } = JSON.parse(body) as {
    readonly checkpoint?: { readonly latest?: Deployment };
  };
  const resources = checkpoint?.latest?.resources ?? [];
  const named = (urn: string) => urn.slice(urn.lastIndexOf("::") + 2);
  const revision = resources.find(({ type }) => type.endsWith(":Revision"));
  return {
    hosts: resources
      .filter(({ type, id }) => type.endsWith(":LocalHost") && id !== undefined)
      .map(({ urn }) => named(urn)),
    revision: Number(revision?.outputs?.["number"] ?? revision?.inputs?.["number"] ?? 0),
  };
}

const third = "workers-af5f5222-2-";

/** A state write that a killed engine had sent, and that the backend has not yet carried out. */
describe("the late state write of a killed engine", () => {
  let server: S3Server;
  let stage: ChaosStage;
  let sandbox: Sandbox;

  before(async () => {
    server = await S3Server.start();
    stage = new ChaosStage(join(repository, "examples", "quickstart"), () => ({
      backend: server.makeBackend(),
    }));
    await stage.baseline("first");
  });
  after(async () => {
    await stage.close();
    await server.close();
  });
  beforeEach(async () => {
    sandbox = (await stage.baseline("first")).copy();
  });
  afterEach(() => sandbox.close());

  const state = ".pulumi/stacks/capstan/default.quickstart.json";

  /** Kills an apply while one of its state writes is under way, and goes back with the next one. */
  const killAndGoBack = async (what: (recorded: Recorded) => boolean) => {
    const bucket = bucketOf(sandbox);
    const nth = (body: string) => what(recordedIn(body));
    const hold = bucket.hold({ side: "before", what: "put", name: state, nth });
    const command = startUp(sandbox, stage.targets.scaled);
    await until("the write is held", () => hold.isReached);
    await command.killTree();
    await until("the server sees the end", () => !hold.isWaitedFor);
    const next = startUp(sandbox, stage.targets.first);
    assert.equal(await exitCodeOf(next), 0, next.said);
    return { bucket, hold };
  };

  const assertFirst = async () => {
    const there = await judgeAt(
      LocalScene.in(sandbox, stage.stack),
      placeOf("previous", stage.targets.first),
    );
    assert.deepEqual(verdictProblems(there.verdict), []);
  };

  /** The write with which the host of the third worker has an id; until then it is only about to be made. */
  const recordsHost = ({ hosts }: Recorded) => hosts.some((name) => name.startsWith(third));
  const commits = ({ revision }: Recorded) => revision === 2;

  it("is dropped by a server that sees the connection closed", async () => {
    const { bucket, hold } = await killAndGoBack(recordsHost);
    const before = bucket.objects.get(state);
    hold.release("drop");
    await assertFirst();
    assert.equal(bucket.objects.get(state), before);
  });

  const writes = [
    { name: "that records the new host", what: recordsHost },
    { name: "that commits", what: commits },
  ];
  for (const { name, what } of writes) {
    // No backend of Pulumi's has conditional writes, so it cannot be kept out; it must do no harm.
    it(`${name}, carried out even so, is made good by the next up`, async () => {
      const { bucket, hold } = await killAndGoBack(what);
      const before = bucket.objects.get(state);
      hold.release("evenSo");
      await until("the late write is there", () => bucket.objects.get(state) !== before);
      const next = startUp(sandbox, stage.targets.first);
      assert.equal(await exitCodeOf(next), 0, next.said);
      await assertFirst();
    });
  }
});
