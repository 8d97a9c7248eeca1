import assert from "node:assert/strict";
import { answerAdmin } from "../../../../providers/sim/aws/admin.js";
import { SimAccount } from "./account.js";

describe("snapshots of the simulated AWS", () => {
  const asked = async ({ aws }: SimAccount, method: string, body = "") => {
    const request = { method, path: "/_sim/snapshot", headers: {}, body };
    const { status, document } = await answerAdmin(aws, request);
    return { status, text: JSON.stringify(document) };
  };
  const vpcs = async (account: SimAccount) => {
    const { text } = await asked(account, "GET");
    return text.match(/"vpc-[0-9a-f]+"/g)?.length;
  };
  const makeVpc = (account: SimAccount) =>
    account.call("ec2", "CreateVpc", { CidrBlock: "10.0.0.0/16" });

  it("put accounts and time back, and the same calls then make the same", async () => {
    const account = new SimAccount();
    await makeVpc(account);
    account.aws.advance(60_000);
    const { text } = await asked(account, "GET");
    await makeVpc(account);
    const after = (await asked(account, "GET")).text;
    account.aws.faults.add({ action: "*", effect: { kind: "cut", when: "before" } });
    assert.equal((await asked(account, "POST", text)).status, 200);
    assert.equal((await asked(account, "GET")).text, text);
    await makeVpc(account);
    assert.equal((await asked(account, "GET")).text, after);
  });

  it("hold what describe calls that lag still show", async () => {
    const account = new SimAccount({ describeLagMs: 10_000 });
    await makeVpc(account);
    const { text } = await asked(account, "GET");
    const other = new SimAccount({ describeLagMs: 10_000 });
    await asked(other, "POST", text);
    const seen = async () => JSON.stringify(await other.call("ec2", "DescribeVpcs"));
    assert.doesNotMatch(await seen(), /10\.0\.0\.0/);
    other.aws.advance(10_000);
    assert.match(await seen(), /10\.0\.0\.0/);
  });

  it("cut the calls that are held", async () => {
    const account = new SimAccount();
    const { text } = await asked(account, "GET");
    account.aws.faults.add({ action: "CreateVpc", effect: { kind: "hold", when: "after" } });
    const held = assert.rejects(makeVpc(account), /no answer/);
    await account.aws.held.waitForOne(new Promise(() => undefined));
    await asked(account, "POST", text);
    await held;
    assert.equal((await asked(account, "GET")).text, text);
  });

  it("are refused, and change nothing, where they are none", async () => {
    const account = new SimAccount();
    await makeVpc(account);
    const before = await vpcs(account);
    for (const body of [
      "{}",
      '{"version": 1}',
      '{"version":9,"nowMs":0,"regions":{},"sessions":{}}',
    ]) {
      const { status, text } = await asked(account, "POST", body);
      assert.equal(status, 400, text);
    }
    assert.equal(await vpcs(account), before);
  });
});
