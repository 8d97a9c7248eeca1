import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout } from "node:timers/promises";
import { EngineWatchdog } from "../../src/controller/watchdog.js";
import { isAlive } from "../scenario/process-tree.js";
import { until } from "../scenario/until.js";
import { failsWith } from "../support/errors.js";

describe("the watchdog of whoever leads", () => {
  const engines: ChildProcess[] = [];
  const watchdogs: EngineWatchdog[] = [];
  let losses = 0;

  beforeEach(() => (losses = 0));
  afterEach(() => {
    for (const watchdog of watchdogs.splice(0)) watchdog.close();
    for (const { pid = 0, signalCode } of engines.splice(0)) {
      // Whoever has the pid of one that has ended is a stranger.
      if (signalCode === null) process.kill(-pid, "SIGKILL");
    }
  });

  const start = async (): Promise<EngineWatchdog> => {
    const watchdog = await EngineWatchdog.start(() => (losses += 1));
    watchdogs.push(watchdog);
    return watchdog;
  };
  /** In a process group of its own, with a child there, as an engine has. */
  const engine = (): number => {
    const child = spawn("sh", ["-c", "sleep 600 & exec sleep 600"], {
      detached: true,
      stdio: "ignore",
    });
    engines.push(child);
    return child.pid ?? 0;
  };
  const untilDead = (pid: number) => until("the engine is dead", () => !isAlive(pid));

  it("ends engines when their time is over, and not before", async () => {
    const watchdog = await start();
    watchdog.extend(6_000);
    const pid = engine();
    await watchdog.begins(pid);
    watchdog.extend(60_000);
    await setTimeout(7_000);
    assert.ok(isAlive(pid), "the time was extended");
    const toldAtMs = Date.now();
    watchdog.extend(1_500);
    await untilDead(pid);
    const leftMs = Date.now() - toldAtMs;
    assert.ok(leftMs > 1_400, `dead after ${leftMs} ms`);
    assert.equal(losses, 0);
  });

  it("lets none begin before it was told how long", async () => {
    const watchdog = await start();
    const pid = engine();
    await watchdog.begins(pid);
    await untilDead(pid);
  });

  it("leaves alone what has ended, whoever has its pid now", async () => {
    const watchdog = await start();
    watchdog.extend(60_000);
    const [one, other] = [engine(), engine()];
    await Promise.all([watchdog.begins(one), watchdog.begins(other)]);
    watchdog.ended(one);
    watchdog.extend(0);
    await untilDead(other);
    assert.ok(isAlive(one));
  });

  it("ends what runs when it is closed, and then itself", async () => {
    const watchdog = await start();
    watchdog.extend(60_000);
    const pid = engine();
    await watchdog.begins(pid);
    const own = watchdog.pid ?? 0;
    watchdog.close();
    await untilDead(pid);
    await until("it has ended", () => !isAlive(own));
    assert.equal(losses, 0);
    await assert.rejects(watchdog.begins(engine()), failsWith("ENGINE_DEAD"));
  });

  it("that is killed says so, and lets no engine begin any more", async () => {
    const watchdog = await start();
    watchdog.extend(60_000);
    process.kill(watchdog.pid ?? 0, "SIGKILL");
    const pid = engine();
    await assert.rejects(watchdog.begins(pid), failsWith("ENGINE_DEAD"));
    await until("the loss is told", () => losses === 1);
    await assert.rejects(watchdog.begins(pid), failsWith("ENGINE_DEAD"));
  });

  for (const signal of ["SIGKILL", "SIGSTOP"] as const) {
    it(`ends the engines of a controller that got ${signal}`, async () => {
      const module = new URL("../../src/controller/watchdog.js", import.meta.url).href;
      const pid = engine();
      const text = `
        const { EngineWatchdog } = await import(${JSON.stringify(module)});
        const watchdog = await EngineWatchdog.start(() => {});
        watchdog.extend(5_000);
        await watchdog.begins(${pid});
        console.log("guarded");
        setInterval(() => watchdog.extend(5_000), 100);`;
      const args = ["--input-type=module", "-e", text];
      const controller = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
      try {
        await once(controller.stdout, "data");
        await setTimeout(7_000);
        assert.ok(isAlive(pid), "it is renewed");
        controller.kill(signal);
        await untilDead(pid);
      } finally {
        controller.kill("SIGKILL");
      }
    });
  }
});
