import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CapstanError, expectDefined } from "../../src/api/error.js";
import { identify, type ProcessIdentity } from "../../src/engine/locks/process-identity.js";
import { contextUnder } from "../../src/inline/joining/own-engine.js";
import { noteAddress, notedAddress } from "../../src/inline/joining/program-address.js";
import { ProgramBootstrapper } from "../../src/inline/joining/program-client.js";
import { serveUserData } from "../../src/inline/joining/program-server.js";
import type { Identity, UserData } from "../../src/provider/port.js";
import { failsWith } from "../support/errors.js";

const who: Identity = {
  cluster: "default/demo",
  clusterUid: "u",
  kind: "AwsInstance",
  name: "cp-0",
  token: "t",
};
const told: UserData = { format: "cloud-config", text: "#a", packed: Buffer.from([1, 0, 255]) };

describe("what a program tells the hosts of its resources", () => {
  let stateDir: string;
  let engine: ProcessIdentity;
  let answer: (asked: Identity) => Promise<UserData>;

  beforeEach(async () => {
    stateDir = mkdtempSync(join(tmpdir(), "capstan-program-"));
    // Whoever started this process stands for the engine.
    engine = expectDefined(identify(process.ppid), "the parent of this process");
    answer = async () => told;
    noteAddress(stateDir, engine, await serveUserData((asked) => answer(asked)));
  });
  afterEach(() => rmSync(stateDir, { recursive: true }));

  const asks = (by = engine) => {
    const place = { stateDir, engine: by, providers: [] };
    return new ProgramBootstrapper(place).userDataFor(contextUnder(engine), who);
  };

  it("is what the program says of this host", async () => {
    let asked: Identity | undefined;
    answer = async (one) => {
      asked = one;
      return told;
    };
    const { format, text, packed } = await asks();
    assert.deepEqual([format, text, [...packed]], ["cloud-config", "#a", [1, 0, 255]]);
    assert.deepEqual(asked, who);
  });

  it("keeps what an error says about another try", async () => {
    const details = { source: "cloud", message: "not yet", retryable: true } as const;
    answer = () => Promise.reject(new CapstanError({ code: "API_SERVER", ...details }));
    const error = await asks().catch((caught: unknown) => caught);
    assert.ok(error instanceof CapstanError);
    const { code, message, retryable } = error;
    assert.deepEqual([code, message, retryable], ["API_SERVER", "not yet", true]);
  });

  it("is told to nobody without the key, which its user alone can read", async () => {
    const { port, key } = expectDefined(notedAddress(stateDir, engine), "the address");
    const url = `http://127.0.0.1:${port}/user-data`;
    for (const authorization of ["", "Bearer ", `Bearer ${key}0`, key]) {
      const headers = { authorization };
      const { status } = await fetch(url, { method: "POST", headers, body: JSON.stringify(who) });
      assert.equal(status, 403, authorization);
    }
    const file = join(stateDir, "programs", `${engine.pid}.json`);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(statSync(join(stateDir, "programs")).mode & 0o777, 0o700);
  });

  it("is asked of the program of one's own engine alone", async () => {
    const other = { ...engine, started: "another" };
    assert.equal(notedAddress(stateDir, other), undefined);
    await assert.rejects(asks(other), failsWith("ENGINE_DEAD", /program .* does not answer/));
  });
});
