import assert from "node:assert/strict";
import { Sandbox } from "../../scenario/sandbox.js";
import { WatchedAccount } from "./watched-account.js";
import { membersManifests } from "./members-manifests.js";

describe("three members and two workers on AWS, over three zones", function () {
  this.timeout(300_000);
  let account: WatchedAccount;
  let sandbox: Sandbox;

  before(async () => {
    account = await WatchedAccount.start();
    sandbox = await Sandbox.make({ objects: membersManifests() }, { env: account.env });
  });
  after(async () => {
    await sandbox.close();
    await account.stop();
  });

  it("is made", async () => {
    const { stdout } = await sandbox.up();
    console.log(stdout);
    console.log(JSON.stringify(await account.hosts.now(), (k, v) => (k === "authorities" ? 0 : v), 1));
    assert.ok(true);
  });
});
