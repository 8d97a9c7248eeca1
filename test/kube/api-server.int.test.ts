import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { CoreV1Api } from "@kubernetes/client-node";
import { until } from "../scenario/until.js";
import { descendantsOf, isAlive } from "../scenario/process-tree.js";
import { ApiServer, isWrite } from "../support/api-server.js";

const configMap = (name: string, more: object = {}) => ({
  metadata: { name, namespace: "default", ...more },
});

describe("the API server of the tests", () => {
  let server: ApiServer;
  let api: CoreV1Api;

  before(async () => {
    server = await ApiServer.start({
      auditLog: true,
      controllers: true,
      users: { somebody: [], watcher: ["system:masters"] },
    });
    api = server.config.makeApiClient(CoreV1Api);
  });
  after(() => server.stop());

  it("answers the client library and kubectl, by TLS that both verify", async () => {
    const { items } = await api.listNamespace();
    assert.ok(items.some(({ metadata }) => metadata?.name === "kube-system"));
    const { code, stdout, stderr } = await server.kubectl("get", "namespaces", "-o", "name");
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^namespace\/kube-system$/m);
    assert.doesNotMatch(server.config.exportConfig(), /"skipTLSVerify":true/);
  });

  it("lets users do only what RBAC grants them", async () => {
    const somebody = server.as("somebody");
    const denied = await somebody.kubectl("get", "configmaps");
    assert.equal(denied.code, 1);
    assert.match(denied.stderr, /User "somebody" cannot list resource "configmaps"/);
    const rights = ["--verb=list", "--resource=configmaps"];
    await server.kubectl("create", "role", "reader", ...rights);
    await server.kubectl("create", "rolebinding", "reads", "--role=reader", "--user=somebody");
    assert.equal((await somebody.kubectl("get", "configmaps")).code, 0);
    assert.equal((await somebody.kubectl("delete", "configmap", "none")).code, 1);
  });

  it("gives a service account's token to who may ask for it", async () => {
    await server.kubectl("create", "serviceaccount", "robot");
    const { stdout } = await server.kubectl("create", "token", "robot");
    const robot = server.userWith(stdout.trim(), "robot");
    const { stdout: self } = await robot.kubectl("auth", "whoami", "-o", "name");
    const { stderr } = await robot.kubectl("get", "secrets");
    assert.match(stderr + self, /"system:serviceaccount:default:robot" cannot list resource/);
  });

  it("keeps its objects and its address when it is killed and started again", async () => {
    const { url } = server;
    await api.createNamespacedConfigMap({ namespace: "default", body: configMap("kept") });
    await server.kill();
    await assert.rejects(api.readNamespacedConfigMap({ namespace: "default", name: "kept" }));
    await server.restart();
    assert.equal(server.url, url);
    const kept = await api.readNamespacedConfigMap({ namespace: "default", name: "kept" });
    assert.equal(kept.metadata?.name, "kept");
  });

  it("answers nothing while it is frozen, and later what it was asked meanwhile", async () => {
    server.freeze();
    let answered = false;
    const answer = api.listNamespace().finally(() => (answered = true));
    const { code } = await server.kubectl("get", "namespaces", "--request-timeout=300ms");
    assert.equal(code, 1);
    assert.equal(answered, false);
    server.thaw();
    assert.ok((await answer).items.length > 0);
  });

  it("notes who has asked for what, with what result", async () => {
    await server.as("watcher").kubectl("create", "configmap", "noted");
    await server.as("somebody").kubectl("delete", "configmap", "noted");
    const asked = (user: string) =>
      server
        .auditEvents()
        .filter((event) => event.user.username === user && isWrite(event))
        .map(({ verb, objectRef, responseStatus }) => [
          verb,
          objectRef?.resource,
          objectRef?.name,
          responseStatus?.code,
        ]);
    const isNoted = (user: string) => () => asked(user).length > 0;
    await until("what the watcher asked is noted", isNoted("watcher"));
    assert.deepEqual(asked("watcher"), [["create", "configmaps", "noted", 201]]);
    const refused = await until("what was refused is noted", () =>
      asked("somebody").find(([, , name]) => name === "noted"),
    );
    assert.deepEqual(refused, ["delete", "configmaps", "noted", 403]);
  });

  it("removes what depends on an object with the object", async () => {
    const owner = await api.createNamespacedConfigMap({
      namespace: "default",
      body: configMap("owner"),
    });
    const ownerReferences = [
      { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: owner.metadata?.uid ?? "" },
    ];
    await api.createNamespacedConfigMap({
      namespace: "default",
      body: configMap("dependent", { ownerReferences }),
    });
    await api.deleteNamespacedConfigMap({ namespace: "default", name: "owner" });
    await until("the dependent is gone", async () => {
      const { items } = await api.listNamespacedConfigMap({ namespace: "default" });
      return !items.some(({ metadata }) => metadata?.name === "dependent");
    });
  });

  it("removes a namespace with its content", async () => {
    await server.kubectl("create", "namespace", "short");
    await server.kubectl("create", "configmap", "content", "--namespace=short");
    const { code, stderr } = await server.kubectl("delete", "namespace", "short", "--timeout=180s");
    assert.equal(code, 0, stderr);
  });
});

/** Starts one and says where, then waits for its end. */
const starter = `
import { ApiServer } from ${JSON.stringify(new URL("../support/api-server.js", import.meta.url))};
const server = await ApiServer.start();
process.stdout.write(server.folder + "\\n");
setInterval(() => {}, 1000);
`;

describe("an API server whose test was killed", () => {
  it("ends, with everything of it", async () => {
    const test = spawn(process.execPath, ["--input-type=module", "--eval", starter], {
      cwd: fileURLToPath(new URL(".", import.meta.url)),
      stdio: ["ignore", "pipe", "inherit"],
    });
    assert.ok(test.pid !== undefined);
    const [said] = (await once(test.stdout, "data")) as [Buffer];
    const folder = said.toString().trim();
    const children = descendantsOf(test.pid);
    assert.ok(existsSync(folder));
    assert.ok(children.length >= 3, "etcd, the API server, and who watches over them");
    test.kill("SIGKILL");
    await until("they have ended", () => !children.some(isAlive));
    assert.ok(!existsSync(folder));
  });
});
