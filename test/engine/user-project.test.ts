import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stateDirOf, userProjectOf } from "../../src/engine/backend/user-project.js";
import { Workspace } from "../../src/engine/backend/workspace.js";
import { failsWith } from "../support/errors.js";
import { scratchFolder } from "../support/scratch.js";

describe("a project that a command is told to work in", () => {
  const scratch = scratchFolder();
  const settle = (text: string): string => {
    const folder = join(scratch.path, "shop");
    mkdirSync(join(folder, "below"), { recursive: true });
    writeFileSync(join(folder, "Pulumi.yaml"), text);
    return folder;
  };
  const home = (): NodeJS.ProcessEnv => ({ PULUMI_HOME: scratch.path });

  it("is none unless it is named", () => assert.equal(userProjectOf({}, {}), undefined));

  it("is that of the folder or of one above, with its name and its stack", () => {
    const root = settle("name: shop\nruntime: nodejs\n");
    const choice = { project: join(root, "below"), stack: "dev" };
    assert.deepEqual(userProjectOf(choice, home()), { root, name: "shop", stack: "dev" });
  });

  it("has the backend of the environment, else its own, else that of the login", () => {
    const project = settle("name: shop\nbackend:\n  url: s3://own\n");
    const backendIn = (env: NodeJS.ProcessEnv) => userProjectOf({ project }, env)?.backend;
    assert.equal(backendIn({ ...home(), PULUMI_BACKEND_URL: "s3://shell" }), "s3://shell");
    assert.equal(backendIn(home()), "s3://own");
    settle("name: shop\n");
    writeFileSync(join(scratch.path, "credentials.json"), '{"current": "s3://login"}');
    assert.equal(backendIn(home()), "s3://login");
    writeFileSync(join(scratch.path, "credentials.json"), "{");
    assert.equal(backendIn(home()), undefined);
  });

  it("has to be there, and to have a name", () => {
    assert.throws(
      () => userProjectOf({ project: "/" }, home()),
      failsWith("NOT_FOUND", /no Pulumi/),
    );
    for (const text of ["runtime: nodejs\n", "[", ""]) {
      const project = settle(text);
      assert.throws(
        () => userProjectOf({ project }, home()),
        failsWith("INVALID_INPUT", /cannot read/),
      );
    }
  });

  it("keeps its settings and its secrets, and every name means the stack that was chosen", () => {
    const root = settle("name: shop\n");
    const project = userProjectOf({ project: root, stack: "dev" }, home());
    assert.ok(project !== undefined);
    const stateDir = stateDirOf(project, {});
    assert.equal(stateDir, join(root, ".capstan"));
    const workspace = new Workspace({ stateDir, project, pulumiBinDir: "/nowhere", env: {} });
    workspace.prepare();
    assert.equal(workspace.stackFile("default.demo"), join(root, "Pulumi.dev.yaml"));
    assert.equal(workspace.lockName("default.demo"), "shop/dev");
    assert.deepEqual(Object.keys(workspace.exports()).sort(), ["CAPSTAN_STATE", "PATH"]);
    assert.equal(workspace.passphrase(), undefined);
  });
});
