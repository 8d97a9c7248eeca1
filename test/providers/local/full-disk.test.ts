import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { folderOf, HostFolder } from "../../../providers/local/nodes/host-folder.js";
import { processesNaming } from "../../../providers/local/nodes/processes-naming.js";
import { Supervised } from "../../../providers/local/nodes/supervised.js";
import {
  failProgram,
  faultsOf,
  type ProgramFault,
} from "../../../providers/local/power/program-fault.js";
import { until } from "../../scenario/until.js";
import { scratchFolder } from "../../support/scratch.js";

const host = { id: "lhost-1", spec: { nodes: "processes" } };

/** As etcd does, it ends when it cannot write. Its last argument is its file. */
const writing =
  'const { appendFileSync } = require("node:fs"); setInterval(() => appendFileSync(process.argv.at(-1), "."), 10)';
const waiting = "setInterval(() => undefined, 1_000)";

describe("a program of a host that finds its disk full", () => {
  const scratch = scratchFolder();
  let folder: HostFolder;
  let etcd: string;
  let waiter: ChildProcess | undefined;

  const cloudPath = () => join(scratch.path, "cloud.db");
  const fault = (what: ProgramFault) =>
    failProgram({ cloudPath: cloudPath(), host, program: "etcd" }, what);
  const pids = () => processesNaming(folder.path, new Set(["etcd"]));

  beforeEach(() => {
    folder = new HostFolder(folderOf(cloudPath(), host.id));
    folder.make("");
    // Known by its name, as the real one is.
    etcd = folder.at("etcd");
    symlinkSync(process.execPath, etcd);
  });
  afterEach(() => {
    waiter?.kill("SIGKILL");
    waiter = undefined;
  });

  it("ends each time that it is started, until it has room", async () => {
    const file = folder.at("data");
    const size = () => (existsSync(file) ? statSync(file).size : 0);
    const started = { program: "etcd", path: etcd, args: ["-e", writing, file], folder };
    const program = new Supervised(started);
    try {
      await until("it writes", () => size() > 0);
      const seen = new Set(pids());
      assert.equal(fault("fillDisk"), 1);
      const full = size();
      await until("it was started twice again", () => {
        for (const pid of pids()) seen.add(pid);
        return seen.size > 2;
      });
      assert.equal(size(), full);
      assert.equal(fault("freeDisk"), 1);
      await until("it writes again", () => size() > full);
    } finally {
      await program.stop();
    }
  });

  it("gets back what it had, which nobody else may give it", async () => {
    waiter = spawn(etcd, ["-e", waiting, folder.path], { stdio: "ignore" });
    const limit = () => {
      const text = readFileSync(`/proc/${waiter?.pid ?? 0}/limits`, "utf8");
      return text
        .split("\n")
        .find((line) => line.startsWith("Max file size"))
        ?.split(/ {2,}/);
    };
    await until("it runs", () => pids().length === 1);
    const before = limit();
    for (const _again of [1, 2]) assert.equal(fault("fillDisk"), 1);
    assert.deepEqual(limit(), before?.with(1, "0"));
    for (const _again of [1, 2]) assert.equal(fault("freeDisk"), 1);
    assert.deepEqual(limit(), before);
  });

  it("is there, or nothing is done", () => {
    assert.equal(fault("fillDisk"), 0);
    assert.equal(folder.isFull("etcd"), false);
    assert.equal(fault("freeDisk"), 0);
    // One that ends again and again may not run just now.
    folder.noteFull("etcd");
    assert.equal(fault("freeDisk"), 1);
    assert.equal(folder.isFull("etcd"), false);
  });

  it("needs a machine that can do it", async () => {
    waiter = spawn(etcd, ["-e", waiting, folder.path], { stdio: "ignore" });
    await until("it runs", () => pids().length === 1);
    const path = process.env["PATH"];
    process.env["PATH"] = scratch.path;
    try {
      assert.throws(() => fault("fillDisk"), { code: "TOOLCHAIN" });
    } finally {
      process.env["PATH"] = path;
    }
    assert.equal(folder.isFull("etcd"), false);
  });

  it("is none that others are started by", () => {
    for (const program of ["kubelet", "containerd"] as const) {
      assert.deepEqual(faultsOf(program), ["die", "hang", "goOn"]);
    }
    assert.ok(faultsOf("etcd").includes("fillDisk"));
  });
});
