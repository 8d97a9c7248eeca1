import assert from "node:assert/strict";
import { cpSync, existsSync, mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { findKubernetes } from "#kubernetes";
import { run } from "../scenario/command.js";
import { pathWithCommand } from "../scenario/command-on-path.js";
import { cleanEnv } from "../scenario/sandbox.js";
import { removeFolder } from "../support/folders.js";
import { ExampleShell } from "./example-shell.js";
import { commandsOf, examplesFolder, type NodeExample, shownIn } from "./shown-commands.js";

/** How many Nodes the page promises. */
const nodesOf: Readonly<Record<NodeExample, number>> = { laptop: 5, kubeadm: 2 };

describe("an example whose hosts are programs of this machine", function () {
  this.timeout(15 * 60_000);
  let folder: string;
  let env: NodeJS.ProcessEnv;
  let shell: ExampleShell | undefined;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "capstan-examples-"));
    const kubernetes = findKubernetes(process.env);
    assert.ok(kubernetes !== undefined, "no kubectl: npm run setup installs one");
    const path = [kubernetes.binDir, pathWithCommand(folder)];
    env = { ...cleanEnv(), PATH: path.join(delimiter) };
  });
  afterEach(async function () {
    shell?.close();
    // A test that fails leaves a cluster that runs.
    if (this.currentTest?.isFailed() === true) {
      for (const name of Object.keys(nodesOf)) {
        await run("capstan", ["destroy", `default.${name}`, "--yes"], { cwd: folder, env });
      }
    }
    removeFolder(folder);
  });

  /** What hosts have left in their folders. */
  const left = (): string[] => {
    const hosts = join(folder, ".capstan", "local-cloud.db.hosts");
    return existsSync(hosts) ? readdirSync(hosts) : [];
  };

  for (const [example, count] of Object.entries(nodesOf) as [NodeExample, number][]) {
    it(`works as ${shownIn[example]} tells, and leaves nothing: ${example}`, async () => {
      const copy = join(folder, "examples", example);
      cpSync(join(examplesFolder, example), copy, { recursive: true });
      shell = new ExampleShell(folder, env);
      await shell.follow(commandsOf(example), {
        "kubectl --kubeconfig": (nodes) => assert.equal(nodes.match(/ Ready /g)?.length, count),
        "capstan destroy": () => assert.deepEqual(left(), []),
      });
    });
  }
});
