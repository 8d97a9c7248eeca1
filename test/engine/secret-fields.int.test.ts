import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Sandbox } from "../scenario/sandbox.js";
import { until } from "../scenario/until.js";
import { foundIn, planted, vaultObjects as objects } from "../scenario/planted.js";
import { writeVaultProvider } from "../scenario/vault-provider.js";

const stack = "default.vaulted";

const filesUnder = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

describe("secret fields, outputs, annotations and user data", () => {
  let sandbox: Sandbox;
  let said: string[];

  beforeEach(async () => {
    said = [];
    sandbox = await Sandbox.make({ objects: objects() });
    const env = writeVaultProvider(join(sandbox.folder, "vault"));
    const given = { VAULTED_PASSWORD: planted["a variable of the environment"] };
    Object.assign(sandbox, { options: { ...sandbox.options, env: { ...env, ...given } } });
  });
  afterEach(() => sandbox.close());

  const run = async (code: number, ...args: string[]): Promise<string> => {
    const { stdout, stderr } = await sandbox.capstan(code, ...args);
    said.push(...[stdout, stderr].map((text) => `${args.join(" ")}\n${text}`));
    return stdout;
  };
  const inEveryFormat = async (code: number): Promise<void> => {
    const plan = ["plan", "-f", sandbox.manifests];
    for (const how of [["--details"], ["--json"]]) await run(code, ...plan, ...how);
    for (const format of ["html", "markdown"]) await run(code, ...plan, "--format", format);
  };
  const cloudFiles = () => filesUnder(join(sandbox.folder, "vault", "cloud"));
  const assertNowhere = async (): Promise<void> => {
    const exported = await sandbox.pulumi(0, ["stack", "export", "--stack", stack]);
    const found = [
      ...said.flatMap((text) => foundIn(text, text.slice(0, 60).split("\n")[0] ?? "")),
      ...foundIn(exported.stdout, "the exported state"),
      ...filesUnder(sandbox.state).flatMap((file) => foundIn(readFileSync(file, "latin1"), file)),
    ];
    assert.deepEqual(found, []);
  };

  it("are used, and are nowhere in clear: plans, saved plans, states, errors, drift, history", async () => {
    await inEveryFormat(2);
    const saved = join(sandbox.folder, "saved.json");
    await run(2, "plan", "-f", sandbox.manifests, "--out", saved);
    said.push(`the saved plan\n${readFileSync(saved, "utf8")}`);
    await run(0, "up", "--yes", "--plan", saved);
    const cloud = cloudFiles()
      .map((file) => readFileSync(file, "utf8"))
      .join("\n");
    for (const [place, value] of Object.entries(planted)) {
      const isGiven = !/Cluster|changed|variable/.test(place);
      assert.equal(cloud.includes(value), isGiven, `the cloud has ${place}`);
    }
    await run(0, "plan", "-f", sandbox.manifests);

    sandbox.writeObjects(objects({ password: planted["the same field, changed"] }));
    const [line] = /.*in place.*/.exec(await run(2, "plan", "-f", sandbox.manifests)) ?? [];
    assert.match(line ?? "", /password \[secret\] -> \[secret\]/);
    await run(0, "up", "--yes", "--json", "-f", sandbox.manifests);

    const [host = ""] = cloudFiles().filter((file) => file.includes("cp-0"));
    const drifted = planted["the same field, changed in the cloud"];
    const there = readFileSync(host, "utf8");
    writeFileSync(host, there.replaceAll(planted["the same field, changed"], drifted));
    for (const how of [[], ["--json"], ["--format", "markdown"]]) {
      await run(2, "drift", "-f", sandbox.manifests, ...how);
    }
    for (const how of [[], ["--json"]]) await run(0, "describe", ...how);
    await run(0, "up", "--yes", "-f", sandbox.manifests);

    for (const note of ["refused", "breaks"]) {
      sandbox.writeObjects(objects({ note, password: planted["a secret field"] }));
      await run(1, "up", "--yes", "-f", sandbox.manifests);
      await run(0, "describe", "--json");
    }
    for (const how of [[], ["--json"]]) {
      await run(0, "history", ...how);
      await run(0, "history", "show", "1", ...how);
      await run(2, "history", "diff", "1", "2", ...how);
      for (const key of ["Machine/cp-0", "VaultStore/store"]) {
        await run(0, "state", "show", stack, key, ...how);
      }
    }
    await assertNowhere();
  });

  it("come from variables, and no engine has them in its arguments or its environment", async () => {
    sandbox.writeObjects(
      objects({ password: ["$", "{VAULTED_PASSWORD}"].join(""), note: "hangs" }),
    );
    const command = sandbox.startUp("--var-from-env", "VAULTED_PASSWORD");
    const shown = (pid: number, part: string) => readFileSync(`/proc/${pid}/${part}`, "latin1");
    const children = await until("an engine runs", () => {
      assert.equal(command.hasEnded, false, command.said);
      const all = command.descendants;
      // Until it becomes another program, a child is its parent once more, with all that this was given.
      const isItself = (pid: number) => shown(pid, "cmdline") !== shown(command.pid, "cmdline");
      return all.length > 0 && all.every(isItself) ? all : undefined;
    });
    const found = children.flatMap((pid) =>
      ["cmdline", "environ"].flatMap((part) => foundIn(shown(pid, part), `${part} of a child`)),
    );
    await command.killTree();
    said.push(command.said);
    assert.deepEqual(found, []);
    await assertNowhere();
  });

  it("stay encrypted where Pulumi's own host changes and reads them", async () => {
    await run(0, "up", "--yes", "-f", sandbox.manifests);
    sandbox.writeObjects(objects({ password: planted["the same field, changed"] }));
    for (const [command, ...how] of [
      ["preview", "--diff"],
      ["up", "--yes"],
      ["refresh", "--yes"],
    ]) {
      const { stdout, stderr } = await sandbox.plain(0, command ?? "", stack, ...how);
      said.push(`pulumi ${command ?? ""}\n${stdout}${stderr}`);
    }
    await assertNowhere();
    const args = ["stack", "export", "--show-secrets", "--stack", stack];
    const { stdout } = await sandbox.pulumi(0, args);
    for (const place of ["the same field, changed", "an output of a host"] as const) {
      assert.ok(stdout.includes(planted[place]), `the state keeps ${place}`);
    }
  });
});
