import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "../scenario/command.js";
import { type ScenarioCluster, demoStack } from "../scenario/manifests.js";
import { Sandbox } from "../scenario/sandbox.js";
import { until } from "../scenario/until.js";

const shape: ScenarioCluster = {
  machines: { "cp-0": { controlPlane: true } },
  deployments: { web: { replicas: 2 } },
};

/** Fails when the client of API servers is loaded. */
const noClient = `import { registerHooks } from "node:module";
registerHooks({ resolve(specifier, context, next) {
  if (specifier.startsWith("@kubernetes/")) throw new Error("loads " + specifier);
  return next(specifier, context);
} });
`;

describe("capstan watch -f", () => {
  let sandbox: Sandbox;
  let watcher: Command;

  beforeEach(async () => {
    sandbox = await Sandbox.make(shape);
  });
  afterEach(() => sandbox.close());

  const watch = (...args: string[]): void => {
    watcher = sandbox.start("watch", "--period", "1", "-f", sandbox.manifests, ...args);
  };
  const said = (what: RegExp, after = 0): Promise<number> =>
    until(`the watcher says ${String(what)}`, () => {
      assert.equal(watcher.hasEnded, false, watcher.said);
      const found = what.exec(watcher.said.slice(after));
      return found === null ? undefined : after + found.index + found[0].length;
    });
  /** Ends it as Ctrl-C does. */
  const end = async (): Promise<void> => {
    watcher.signal("SIGINT");
    const { code, stdout, stderr } = await watcher.finished;
    assert.equal(code, 0, stdout + stderr);
  };
  const hosts = (machine: string) =>
    sandbox.alive().filter(({ kind, name }) => kind === "LocalHost" && name.startsWith(machine));
  const countOf = (text: string) => watcher.said.split(text).length - 1;
  const looks = () => sandbox.ledger().filter(({ call }) => call === "list").length;
  const untilLooked = (times: number) => {
    const before = looks();
    return until(`it has looked ${times} times`, () => looks() >= before + times);
  };

  it("makes what files ask for, follows edits, corrects drift, and stops where it goes on later", async () => {
    watch();
    let at = await said(/default\/demo: done in .* s: revision 1, 3 machines run/);
    assert.equal(hosts("web").length, 2);

    sandbox.write({ ...shape, deployments: { web: { replicas: 3 } } });
    at = await said(/revision 2, 4 machines run/, at);
    assert.equal(hosts("web").length, 3);

    const [dead] = hosts("web");
    await sandbox.cloud.kill(dead?.id ?? "");
    at = await said(/default\/demo: drift: .*web-.* missing/, at);
    await said(/revision 3, 4 machines run/, at);
    assert.equal(hosts("web").length, 3);
    await sandbox.assertSound(demoStack);
    await end();
  });

  it("keeps what runs through a wrong edit and an unreadable folder, and tells each once", async () => {
    watch();
    let at = await said(/revision 1, 3 machines run/);
    const bad = join(sandbox.manifests, "bad.yaml");
    writeFileSync(bad, "apiVersion: cluster.k8s.io/v1alpha1\nkind: Machine\nmetadata: {}\n");
    at = await said(/bad\.yaml:\d+:\d+: error: .*\n.*everything stays as it was/, at);
    // What was read before goes on being looked after.
    await sandbox.cloud.kill(hosts("web")[0]?.id ?? "");
    at = await said(/revision 2, 3 machines run/, at);
    assert.equal(countOf("everything stays as it was"), 1);
    rmSync(bad);
    at = await said(/read 3 objects of 1 cluster/, at);

    const begin = sandbox.ledgerEnd();
    rmSync(join(sandbox.manifests, "cluster.yaml"));
    await said(/cannot read .*: no \.yaml, \.yml or \.json file in it/, at);
    await untilLooked(3);
    assert.equal(countOf("cannot read"), 1);
    assert.deepEqual(sandbox.mutations(begin), []);
    await end();
  });

  it("leaves a cluster that disappears alone, and takes it down with --prune, also one of before", async () => {
    watch();
    let at = await said(/revision 1, 3 machines run/);
    const begin = sandbox.ledgerEnd();
    writeFileSync(join(sandbox.manifests, "cluster.yaml"), "# nothing any more\n");
    at = await said(/default\/demo: is in these manifests no more, and is left alone/, at);
    writeFileSync(join(sandbox.manifests, "cluster.yaml"), "# nothing at all\n");
    await said(/read 0 objects/, at);
    assert.deepEqual(sandbox.mutations(begin), []);
    assert.equal(countOf("is left alone"), 1);
    await end();

    // An emptied file is no wish: nothing goes before a person says how much may.
    watch("--prune", "--grace", "0");
    await said(/1 of 1 cluster is in these manifests no more: that is more than 25 %/);
    await said(/hint: put them back; .*destroy default\.demo.*--max-share 100/);
    assert.deepEqual(sandbox.mutations(begin), []);
    await end();

    watch("--prune", "--grace", "0", "--max-share", "100");
    at = await said(/is taken down \(--prune\)/);
    await said(/default\/demo: destroyed: \d+ resources deleted/, at);
    assert.deepEqual(sandbox.alive(), []);
    await end();
  });

  it("keeps a cluster whose file is here, too, and whoever prunes where it was leaves it", async () => {
    await sandbox.up();
    const begin = sandbox.ledgerEnd();
    const other = join(sandbox.folder, "other");
    mkdirSync(other);
    copyFileSync(join(sandbox.manifests, "cluster.yaml"), join(other, "cluster.yaml"));
    watcher = sandbox.start("watch", "--period", "1", "-f", other);
    await said(/read 3 objects of 1 cluster/);
    await untilLooked(2);
    await end();
    // Whoever looked last is not the only one that holds it.
    await sandbox.capstan(0, "up", "-f", sandbox.manifests);
    sandbox.write({ name: "stays", machines: { "cp-0": { controlPlane: true } } });
    const prune = ["up", "--prune", "--yes", "-f", sandbox.manifests] as const;
    const told =
      /demo was applied from \S+\/other and from \S+ and is not in \S+: it is left as it is/;
    assert.match((await sandbox.capstan(0, ...prune)).stderr, told);
    assert.doesNotMatch((await sandbox.capstan(0, ...prune)).stderr, /default\.demo/);
    const isMoved = ({ cluster }: { readonly cluster: string | null }) =>
      cluster === "default/demo";
    assert.equal(sandbox.alive().filter(isMoved).length, 5, "network, load balancer and 3 hosts");
    const others = sandbox.ledger(begin).filter(isMoved);
    assert.deepEqual(
      others.filter(({ effect }) => effect !== ""),
      [],
    );
  });

  it("tells everything as JSON lines, and needs no client of API servers", async () => {
    await sandbox.close();
    const hook = `data:text/javascript,${encodeURIComponent(noClient)}`;
    sandbox = await Sandbox.make(shape, { env: { NODE_OPTIONS: `--import=${hook}` } });
    const { stderr } = await sandbox.capstan(1, "install", "--dry-run");
    assert.match(stderr, /loads @kubernetes/);
    watch("--json");
    await said(/"type":"result"/);
    const lines = watcher.said.split("\n").filter((line) => line !== "");
    const documents = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const result = documents.find(({ type }) => type === "result");
    assert.deepEqual(
      { ...result, passes: 0, tookMs: 0 },
      {
        type: "result",
        cluster: "default/demo",
        changed: true,
        revision: 1,
        passes: 0,
        tookMs: 0,
      },
    );
    const kinds = new Set(documents.map(({ type, event }) => String(event ?? type)));
    for (const kind of ["watching", "read", "plan", "pass", "resource", "committed"]) {
      assert.ok(kinds.has(kind), `${kind} among ${[...kinds].join(", ")}`);
    }
    await end();
  });

  it("refuses standard input, and metrics that it would not serve", async () => {
    const { stderr } = await sandbox.capstan(64, "watch", "-f", "-");
    assert.match(stderr, /cannot watch standard input/);
    await sandbox.capstan(64, "watch", "-f", sandbox.manifests, "--metrics-address", ":0");
  });
});
