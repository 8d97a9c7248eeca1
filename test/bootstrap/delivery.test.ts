import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { deliveryOf } from "../../src/bootstrap/host/delivery.js";
import type { HostBootstrap } from "../../src/bootstrap/host/host-bootstrap.js";
import type { SecretStore } from "../../src/provider/port.js";

describe("what a store keeps for a host", () => {
  let folder: string;
  let bootstrap: HostBootstrap;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "capstan-delivery-"));
    const script = join(folder, "run");
    bootstrap = {
      files: [
        { path: join(folder, "deep", "key"), mode: "0600", content: "planted 'secret'\n\nEND\n" },
        { path: script, mode: "0700", content: `#!/bin/sh\necho ran > ${folder}/ran\n` },
      ],
      script,
    };
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const store = (fetchCommand: SecretStore["fetchCommand"]): SecretStore => ({
    put: async () => {},
    delete: async () => {},
    fetchCommand,
  });

  /** Runs what the user data holds, as its host would. */
  function run(fetchCommand: SecretStore["fetchCommand"]) {
    const delivery = deliveryOf(
      bootstrap,
      { format: "cloud-config", secrets: store(fetchCommand) },
      "t1",
    );
    const { text } = delivery.userData;
    const { write_files: files } = parse(text) as { write_files: { content: string }[] };
    assert.equal(files.length, 1);
    writeFileSync(join(folder, "kept"), delivery.secret?.content ?? "");
    return { ...delivery, text, ran: spawnSync("sh", { input: files[0]?.content ?? "" }) };
  }

  it("is fetched by its host, and does what the user data would do", () => {
    const { secret, text, ran } = run((name) => `test ${name} = capstan-t1 && cat ${folder}/kept`);
    assert.equal(ran.status, 0, ran.stderr.toString());
    assert.equal(secret?.name, "capstan-t1");
    assert.doesNotMatch(text, /planted/);
    const key = join(folder, "deep", "key");
    assert.equal(readFileSync(key, "utf8"), bootstrap.files[0]?.content);
    assert.equal(statSync(key).mode & 0o777, 0o600);
    assert.equal(readFileSync(join(folder, "ran"), "utf8"), "ran\n");
  });

  for (const { name, command } of [
    { name: "cannot be fetched", command: () => "false" },
    { name: "comes in half", command: () => `head -c 100 ${folder}/kept` },
  ]) {
    it(`is not run where it ${name}`, () => {
      const { ran } = run(command);
      assert.equal(ran.status, 1);
      assert.throws(() => readFileSync(join(folder, "ran")));
    });
  }

  it("is not there without a store", () => {
    const { secret, userData } = deliveryOf(bootstrap, { format: "cloud-config" }, "t1");
    assert.equal(secret, undefined);
    assert.match(userData.text, /planted/);
  });
});
