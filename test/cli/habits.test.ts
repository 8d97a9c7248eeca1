import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import type { Outcome } from "../scenario/command.js";
import { cleanEnv, commandLine, repository } from "../scenario/sandbox.js";

describe("habits from elsewhere", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "capstan-habits-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const capstan = (code: number, ...args: readonly string[]): Outcome => {
    const ran = spawnSync(process.execPath, [commandLine, ...args], {
      cwd: folder,
      env: cleanEnv(),
      encoding: "utf8",
    });
    assert.equal(ran.status, code, `capstan ${args.join(" ")}\n${ran.stdout}\n${ran.stderr}`);
    return { code: ran.status, stdout: ran.stdout, stderr: ran.stderr };
  };

  const answers: readonly (readonly [string, RegExp])[] = [
    ["apply -f prod", /hint: capstan up plans, asks and applies/],
    ["preview", /hint: capstan plan shows what up would do/],
    ["get machines", /hint: capstan status lists machines/],
    ["plan --dry-run", /hint: capstan plan is the dry run/],
    ["up --target cp-0", /hint: a change is applied whole or taken back/],
  ];
  for (const [typed, answer] of answers) {
    it(`capstan ${typed} is answered with what does it here`, () => {
      assert.match(capstan(64, ...typed.split(" ")).stderr, answer);
    });
  }

  it("are answered to programs, too, and no word of anybody's is made up for others", () => {
    const told = JSON.parse(capstan(64, "apply", "--json").stdout) as { hint?: string };
    assert.match(told.hint ?? "", /^capstan up/);
    const unknown = JSON.parse(capstan(64, "constructor", "--json").stdout) as { hint?: string };
    assert.equal(unknown.hint, undefined);
  });

  it("the present folder is meant where it holds a Cluster", () => {
    assert.match(capstan(64, "validate").stderr, /which manifests\? name them with -f/);
    cpSync(join(repository, "examples", "quickstart"), folder, { recursive: true });
    assert.match(capstan(0, "validate").stdout, /^3 objects in 1 cluster are valid$/m);
  });

  it("folders below are read with -R, and told of without", () => {
    cpSync(join(repository, "examples", "quickstart"), join(folder, "all", "a"), {
      recursive: true,
    });
    assert.match(capstan(65, "validate", "-f", "all").stderr, /-R reads the folders below it/);
    assert.match(capstan(0, "validate", "-R", "-f", "all").stdout, /^3 objects/);
    mkdirSync(join(folder, "all", ".hidden"));
    writeFileSync(join(folder, "all", ".hidden", "bad.yaml"), "kind: [");
    cpSync(join(repository, "examples", "gpu"), join(folder, "all"), { recursive: true });
    mkdirSync(join(folder, "all", "deep", "er"), { recursive: true });
    writeFileSync(join(folder, "all", "deep", "er", "bad.yaml"), "kind: [");
    const { stderr } = capstan(65, "validate", "-f", "all");
    assert.match(stderr, /note: not read, as -R was not given: all\/a\n/);
    rmSync(join(folder, "all", "deep"), { recursive: true });
    assert.match(capstan(0, "validate", "-R", "-f", "all").stdout, /in 1 cluster are valid/);
  });

  it("a version that YAML takes for a number is to be quoted", () => {
    cpSync(join(repository, "examples", "quickstart"), folder, { recursive: true });
    const file = join(folder, "cluster.yaml");
    writeFileSync(file, read(file).replace("kubelet: 1.34.2", "kubelet: 1.35"));
    assert.match(capstan(65, "validate").stderr, /hint: write it in quotes: "1\.35"/);
  });

  it("objects of today's Cluster API get one error for all of them", () => {
    const objects = ["cluster.x-k8s.io", "infrastructure.cluster.x-k8s.io"].map(
      (group, index) =>
        `apiVersion: ${group}/v1beta1\nkind: Cluster\nmetadata: { name: c${index} }\n`,
    );
    writeFileSync(join(folder, "x.yaml"), objects.join("---\n"));
    const { stderr } = capstan(65, "validate", "-f", "x.yaml");
    assert.equal(stderr.match(/error: /g)?.length, 1, stderr);
    assert.match(stderr, /error: Cluster default\/c0: .*\n {2}1 more: Cluster default\/c1\.\n/);
    assert.match(stderr, /hint: Capstan reads the first generation, cluster\.k8s\.io\/v1alpha1/);
  });

  it("three members of init are in three zones", () => {
    capstan(0, "init", "prod", "--control-planes", "3");
    const documents = parseAllDocuments(read(join(folder, "prod", "control-plane.yaml")));
    const zones = documents.map((one) =>
      one.getIn(["spec", "providerSpec", "value", "zone"], false),
    );
    assert.deepEqual(zones, ["local-a", "local-b", "local-c"]);
  });
});

function read(path: string): string {
  return readFileSync(path, "utf8");
}
