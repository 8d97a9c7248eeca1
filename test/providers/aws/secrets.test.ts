import assert from "node:assert/strict";
import { awsProvider } from "../../../providers/aws/provider.js";
import { expectDefined, isCapstanError } from "../../../src/api/error.js";
import { secretNameOf } from "../../../src/bootstrap/host/delivery.js";
import type { CallContext, SecretStore } from "../../../src/provider/port.js";
import { SimCloud } from "./life/sim-cloud.js";
import { tapped } from "./life/tap.js";
import { markTagsOf, someone } from "./stub-clients.js";

const who = someone("AwsInstance", "cp-0-3b81542a-1");
const host = { who, controlPlane: true };
const name = secretNameOf(who.token);
const bytes = (text: string) => Buffer.from(text);

describe("what Secrets Manager keeps for hosts", () => {
  let cloud: SimCloud;
  let ctx: CallContext;
  let store: Required<SecretStore>;

  beforeEach(() => {
    cloud = new SimCloud();
    const { signal } = new AbortController();
    ctx = { clock: cloud.clock, signal, assertEngineAlive: () => undefined };
    const { userData } = awsProvider(cloud.clients);
    store = expectDefined(userData?.secrets, "a store") as Required<SecretStore>;
  });

  const { Name, ...marked } = { Name: name, Tags: markTagsOf(who) };
  /** Calls that have changed something, by their names. */
  const changing = () =>
    cloud.aws.ledger
      .after(0)
      .flatMap(({ action, outcome }) => ((outcome?.changes.length ?? 0) > 0 ? [action] : []));
  const value = async () => {
    const { SecretBinary } = await cloud.controllers.secrets.getSecretValue({ SecretId: name });
    return Buffer.from(SecretBinary ?? "").toString();
  };
  const refusal = async (call: Promise<unknown>) => {
    const error = await call.then(
      () => assert.fail("it is refused"),
      (thrown: unknown) => thrown,
    );
    assert.ok(isCapstanError(error), String(error));
    return error;
  };

  it("bears the marks of its host, and what kind of machine may read it", async () => {
    await store.put(ctx, name, bytes("x"), host);
    const { Tags = [] } = await cloud.controllers.secrets.describeSecret({ SecretId: name });
    const role = { Key: "capstan:role", Value: "control-plane" };
    assert.deepEqual(Tags, [...markTagsOf(who), role]);
  });

  it("is made once however often the same is put, and not without its token", async () => {
    for (let times = 0; times < 3; times += 1) await store.put(ctx, name, bytes("x"), host);
    assert.deepEqual(changing(), ["secretsmanager:CreateSecret"]);
    // The SDK makes a token up for each call that has none.
    tapped(cloud, ({ input }, send) => send({ ...input, ClientRequestToken: undefined }));
    await store.put(ctx, name, bytes("x"), host);
    assert.deepEqual(changing().slice(1), ["secretsmanager:PutSecretValue"]);
  });

  for (const action of ["CreateSecret", "PutSecretValue"] as const) {
    it(`is put again where the answer of ${action} was lost`, async () => {
      if (action === "PutSecretValue") await store.put(ctx, name, bytes("before"), host);
      cloud.aws.faults.add({ action, effect: { kind: "cut", when: "after" } });
      const { retryable, ambiguous } = await refusal(store.put(ctx, name, bytes("x"), host));
      assert.deepEqual([retryable, ambiguous], [true, false]);
      await store.put(ctx, name, bytes("x"), host);
      assert.equal(await value(), "x");
      const made = changing().filter((one) => one === `secretsmanager:${action}`);
      assert.equal(made.length, 1);
    });
  }

  it("is put again where the one before is still being deleted", async () => {
    await store.put(ctx, name, bytes("before"), host);
    await store.delete(ctx, name, who);
    assert.equal((await refusal(store.put(ctx, name, bytes("x"), host))).retryable, true);
    await ctx.clock.sleep(5_000);
    await store.put(ctx, name, bytes("x"), host);
    assert.equal(await value(), "x");
  });

  it("is made anew where somebody has deleted it with a delay", async () => {
    await store.put(ctx, name, bytes("before"), host);
    await cloud.controllers.secrets.deleteSecret({ SecretId: name });
    assert.equal((await refusal(store.put(ctx, name, bytes("x"), host))).retryable, true);
    await ctx.clock.sleep(5_000);
    await store.put(ctx, name, bytes("x"), host);
    assert.equal(await value(), "x");
    await cloud.controllers.secrets.deleteSecret({ SecretId: name });
    await store.delete(ctx, name, who);
    const { SecretList } = await cloud.controllers.secrets.listSecrets({
      IncludePlannedDeletion: true,
    });
    assert.deepEqual(SecretList, []);
  });

  const others = [
    { of: "nobody", Tags: [{ Key: "team", Value: "blue" }] },
    { of: "another life of the cluster", Tags: markTagsOf({ ...who, clusterUid: "uid-2" }) },
    { of: "another host", Tags: markTagsOf({ ...who, name: "web-1" }) },
  ];
  for (const { of, Tags } of others) {
    it(`is neither written over nor deleted where it is that of ${of}`, async () => {
      const { secrets } = cloud.controllers;
      await secrets.createSecret({ Name, SecretBinary: bytes("theirs"), Tags });
      for (const call of [store.put(ctx, name, bytes("x"), host), store.delete(ctx, name, who)]) {
        assert.equal((await refusal(call)).code, "NOT_OURS");
      }
      assert.equal(await value(), "theirs");
    });
  }

  it("is listed whole with its hosts, and nothing else is", async () => {
    const { secrets } = cloud.controllers;
    for (let index = 0; index < 120; index += 1) {
      const Tags = markTagsOf({ ...who, name: `web-${index}` });
      await secrets.createSecret({ Name: `capstan-${index}`, SecretBinary: bytes("x"), Tags });
    }
    await secrets.createSecret({ Name: "capstan-unmarked", SecretBinary: bytes("x") });
    await secrets.createSecret({ Name: "shop", SecretBinary: bytes("x"), ...marked });
    const kept = await store.kept(ctx);
    assert.equal(kept.length, 120);
    const [first] = kept;
    assert.deepEqual(first, {
      name: "capstan-0",
      who: { ...who, name: "web-0" },
      createdAtMs: ctx.clock.now(),
    });
  });

  it("is not touched for an engine that has died", async () => {
    const dead = {
      ...ctx,
      assertEngineAlive: () => {
        throw new Error("ENGINE_DEAD");
      },
    };
    await assert.rejects(store.put(dead, name, bytes("x"), host), /ENGINE_DEAD/);
    await store.put(ctx, name, bytes("x"), host);
    await assert.rejects(store.put(dead, name, bytes("y"), host), /ENGINE_DEAD/);
    await assert.rejects(store.delete(dead, name, who), /ENGINE_DEAD/);
    assert.deepEqual(changing(), ["secretsmanager:CreateSecret"]);
  });

  it("is asked for before a plan with hosts is carried out, unless its Cluster does without", async () => {
    const key = { principal: "arn:aws:iam::1:user/me", account: "123456789012" };
    cloud.aws.change({
      accessKeys: { AKIDLIFE: { ...key, allow: ["ec2:*", "sts:*", "servicequotas:*"] } },
    });
    const { preflight } = awsProvider(cloud.clients);
    const wanted = { instanceType: "t3.medium", zone: "eu-north-1a" };
    const steps = [{ does: "create" as const, kind: "AwsInstance", name: "web", wanted }];
    const [found, ...more] = (await preflight?.(ctx, steps, {}, [])) ?? [];
    assert.equal(more.length, 0);
    assert.equal(found?.code, "PERMISSION");
    assert.match(
      found.message,
      /may not call secretsmanager:DescribeSecret on arn:aws:secretsmanager/,
    );
    assert.match(found.hint ?? "", /"Action":"secretsmanager:DescribeSecret"/);
    assert.deepEqual(await preflight?.(ctx, steps, { hostSecrets: "userData" }, []), []);
    const others = [{ does: "create" as const, kind: "AwsVpc", name: "vpc" }];
    assert.deepEqual(await preflight?.(ctx, others, {}, []), []);
  });
});
