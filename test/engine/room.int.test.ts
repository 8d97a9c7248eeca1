import assert from "node:assert/strict";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isCapstanError } from "../../src/api/error.js";
import { bytesOfRun, Room } from "../../src/engine/pulumi/disk-room.js";
import { Workspace } from "../../src/engine/backend/workspace.js";
import { SmallDisk } from "../scenario/small-disk.js";
import { failsWith } from "../support/errors.js";

const stack = "default.demo";
const keep = { creations: 4, reserve: "keep" } as const;
const spend = { creations: 0, reserve: "spend" } as const;

describe("the room that an engine run needs", () => {
  let disk: SmallDisk;
  let room: Room;

  before(async () => {
    disk = await SmallDisk.make(8);
  });
  after(() => disk.close());
  beforeEach(() => {
    const backend = pathToFileURL(disk.folder).href;
    const paths = { stateDir: disk.folder, pulumiBinDir: disk.folder };
    room = new Room(new Workspace({ ...paths, backend, env: {} }), stack);
    const folder = join(disk.folder, ".pulumi", "stacks", "capstan");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${stack}.json`), "x".repeat(50_000));
  });
  afterEach(() => {
    room.giveUp();
    disk.release();
  });

  it("is that of the state's copies, with what is going to be made", () => {
    assert.equal(bytesOfRun(50_000, 1) - bytesOfRun(50_000, 0), 4 * 8_192);
    assert.equal(bytesOfRun(60_000, 0) - bytesOfRun(50_000, 0), 40_000);
  });

  it("is wanted twice, once for the way back, and told with folder and bytes", async () => {
    const bytes = bytesOfRun(50_000, 4);
    disk.fillTo(2 * bytes - 8_192);
    const free = disk.freeBytes;
    await assert.rejects(room.demand(keep), (error) => {
      assert.ok(isCapstanError(error) && failsWith("NO_SPACE")(error));
      for (const part of [disk.folder, `(${free} bytes) free`, `(${2 * bytes} bytes) are needed`]) {
        assert.ok(error.message.includes(part), `${error.message} tells ${part}`);
      }
      return true;
    });
    disk.release();
    disk.fillTo(2 * bytes + 8_192);
    await room.demand(keep);
    assert.ok(disk.freeBytes < bytes + 65_536 + 8_192, "what is kept is taken");
    assert.deepEqual(
      readdirSync(disk.folder).filter((name) => name.endsWith(".room")),
      [],
    );
  });

  it("is given up for the way back, and wanted again for the way on", async () => {
    await room.demand(keep);
    disk.fillTo(0);
    await room.demand(spend);
    assert.ok(disk.freeBytes >= bytesOfRun(50_000, 0));
    await assert.rejects(room.demand(keep), failsWith("NO_SPACE"));
  });

  it("is given up while an engine runs that finds none", async () => {
    await room.demand(keep);
    disk.fillTo(0);
    const deadline = Date.now() + 60_000;
    await room.during(async () => {
      while (disk.freeBytes === 0 && Date.now() < deadline) {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    });
    assert.ok(disk.freeBytes > 2 * 50_000);
    assert.ok(failsWith("NO_SPACE")(room.shortage()));
  });

  it("is made of Pulumi's older copies first", async () => {
    const folder = join(disk.folder, ".pulumi", "history", "capstan", stack);
    mkdirSync(folder, { recursive: true });
    for (let number = 0; number < 9; number++) {
      const name = `${stack}-179527133268166091${number}.checkpoint.json`;
      writeFileSync(join(folder, name), "x".repeat(100_000));
    }
    disk.fillTo(bytesOfRun(50_000, 4));
    await room.demand(keep);
    assert.equal(readdirSync(folder).length, 1);
  });
});
