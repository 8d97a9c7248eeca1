import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isCapstanError } from "../../src/api/error.js";
import {
  connect,
  contextNames,
  type ConnectionOptions,
  serverOf,
} from "../../src/kube/connection.js";
import { failsWith } from "../support/errors.js";
import { scratchFolder } from "../support/scratch.js";

interface Written {
  readonly contexts?: readonly string[];
  readonly current?: string;
  readonly server?: string;
  readonly user?: object;
  readonly cluster?: object;
}

/** A kubeconfig in which every context has a cluster and a user of its own name. */
function kubeconfig({ contexts = ["prod"], current, server, user, cluster }: Written): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    ...(current !== undefined && { "current-context": current }),
    contexts: contexts.map((name) => ({ name, context: { cluster: name, user: name } })),
    clusters: contexts.map((name) => ({
      name,
      cluster: { server: server ?? `https://${name}.example:6443`, ...cluster },
    })),
    users: contexts.map((name) => ({ name, user: user ?? { token: `token-of-${name}` } })),
  });
}

describe("connect", () => {
  const scratch = scratchFolder();
  const write = (name: string, text: string): string => {
    const file = join(scratch.path, name);
    mkdirSync(join(file, ".."), { recursive: true });
    writeFileSync(file, text);
    return file;
  };
  const options = (more: Partial<ConnectionOptions> = {}): ConnectionOptions => ({
    ...more,
    env: { HOME: scratch.path, ...more.env },
    serviceAccount: join(scratch.path, "pod"),
  });
  const refusal = (more: Partial<ConnectionOptions>): string => {
    try {
      connect(options(more));
    } catch (error) {
      assert.ok(isCapstanError(error) && error.code === "KUBECONFIG");
      assert.ok(error.hint !== undefined);
      return `${error.message}; ${error.hint}`;
    }
    return assert.fail("not refused");
  };

  it("takes the file of the command line before KUBECONFIG, and that before the home folder", () => {
    write(".kube/config", kubeconfig({ contexts: ["home"], current: "home" }));
    const listed = write("listed", kubeconfig({ contexts: ["listed"], current: "listed" }));
    const named = write("named", kubeconfig({ contexts: ["named"], current: "named" }));
    const env = { KUBECONFIG: listed };
    assert.equal(connect(options()).getCurrentContext(), "home");
    assert.equal(connect(options({ env })).getCurrentContext(), "listed");
    assert.equal(connect(options({ env, kubeconfig: named })).getCurrentContext(), "named");
  });

  it("takes another context where one is named", () => {
    const file = write("two", kubeconfig({ contexts: ["prod", "stage"], current: "prod" }));
    const config = connect(options({ kubeconfig: file, context: "stage" }));
    assert.equal(serverOf(config), "https://stage.example:6443 (context stage)");
    assert.equal(config.getCurrentUser()?.token, "token-of-stage");
  });

  it("reads the files of KUBECONFIG as one: the first of a name counts, missing ones do not", () => {
    const first = write("first", kubeconfig({ contexts: ["a"], server: "https://first" }));
    const second = write(
      "second",
      kubeconfig({ contexts: ["a", "b"], current: "a", server: "https://second" }),
    );
    const KUBECONFIG = [join(scratch.path, "missing"), first, second].join(":");
    const config = connect(options({ env: { KUBECONFIG } }));
    assert.equal(serverOf(config), "https://first (context a)");
    assert.deepEqual(
      config.getContexts().map(({ name }) => name),
      ["a", "b"],
    );
  });

  it("reads the files that a kubeconfig names beside itself", () => {
    const file = write(
      "deep/config",
      kubeconfig({ current: "prod", cluster: { "certificate-authority": "ca.crt" } }),
    );
    const ca = write("deep/ca.crt", "certificate");
    assert.equal(connect(options({ kubeconfig: file })).getCurrentCluster()?.caFile, ca);
  });

  it("uses the service account of a pod where there is no file", () => {
    write("pod/token", "secret");
    write("pod/ca.crt", "certificate");
    const env = { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "443" };
    const config = connect(options({ env }));
    assert.equal(serverOf(config), "https://[fd00::1]:443 (context in-cluster)");
    assert.equal(config.getCurrentCluster()?.caFile, join(scratch.path, "pod/ca.crt"));
    assert.match(refusal({ env, context: "prod" }), /service account has no context "prod"/);
  });

  it("sends the token of the service account as it is at the time of the request", async () => {
    write("pod/token", "old");
    write("pod/ca.crt", "certificate");
    const config = connect(options({ env: { KUBERNETES_SERVICE_HOST: "10.0.0.1" } }));
    const request: { headers?: Record<string, string> } = {};
    await config.applyToHTTPSOptions(request);
    assert.equal(request.headers?.["Authorization"], "Bearer old");
  });

  const refused: { name: string; file: string; context?: string; want: RegExp }[] = [
    {
      name: "an empty file",
      file: "",
      want: /\/config cannot be read as a kubeconfig: .*is empty/,
    },
    { name: "nothing", file: "null", want: /cannot be read as a kubeconfig: it is no object/ },
    { name: "no YAML", file: "a: [1", want: /\/config cannot be read as a kubeconfig: / },
    {
      name: "no current context",
      file: kubeconfig({ contexts: ["a", "b"] }),
      want: /\/config has no current context; name one with --context; there are: a, b/,
    },
    {
      name: "a context that is not there",
      file: kubeconfig({ current: "prod" }),
      context: "stage",
      want: /\/config has no context "stage"; .*there are: prod/,
    },
    {
      name: "a cluster that is not there",
      file: kubeconfig({ current: "prod" }).replace('"cluster":"prod"', '"cluster":"gone"'),
      want: /context "prod" of .*\/config names cluster "gone", which is not there/,
    },
    {
      name: "a user that is not there",
      file: kubeconfig({ current: "prod" }).replace('"user":"prod"', '"user":"gone"'),
      want: /context "prod" of .*\/config names user "gone", which is not there/,
    },
    {
      name: "a file that is not there",
      file: kubeconfig({ current: "prod", user: { "client-key": "gone.key" } }),
      want: /names the file .*\/gone\.key, which does not exist/,
    },
    {
      name: "a cluster without a server",
      file: kubeconfig({ current: "prod", cluster: { server: "" } }),
      want: /cannot be read as a kubeconfig: clusters\[0\]\.cluster\.server is missing/,
    },
  ];
  for (const { name, file, context, want } of refused) {
    it(`refuses ${name}, naming the file`, () => {
      assert.match(refusal({ kubeconfig: write("config", file), context }), want);
    });
  }

  it("refuses files that do not exist, and a place without any", () => {
    const kubeconfig = join(scratch.path, "gone");
    assert.match(refusal({ kubeconfig }), /\/gone does not exist/);
    assert.match(refusal({ env: { KUBECONFIG: kubeconfig } }), /KUBECONFIG names .*\/gone, which/);
    assert.throws(() => connect(options()), failsWith("KUBECONFIG", /no kubeconfig was found/));
  });

  it("names the contexts there are, for completion; none where nothing can be read", () => {
    const two = write("two", kubeconfig({ contexts: ["prod", "stage"] }));
    assert.deepEqual(contextNames(options({ kubeconfig: two })), ["prod", "stage"]);
    assert.deepEqual(contextNames(options({ kubeconfig: write("broken", "a: [1") })), []);
    assert.deepEqual(contextNames(options()), []);
  });

  it("tells nothing of what a broken file holds", () => {
    const file = write("config", "users:\n- name: a\n  user: { token: hunter2\n");
    assert.doesNotMatch(refusal({ kubeconfig: file }), /hunter2/);
  });
});
