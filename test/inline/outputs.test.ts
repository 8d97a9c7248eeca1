import assert from "node:assert/strict";
import { type Output, output, runtime } from "@pulumi/pulumi";
import {
  adminCertificateIn,
  adminKubeconfig,
  newAdminCertificate,
} from "../../src/bootstrap/kubeconfig/admin-kubeconfig.js";
import { newClusterKeys } from "../../src/bootstrap/certificates/cluster-keys.js";
import { keyOf } from "../../src/graph/graph.js";
import { ClusterOutputs } from "../../src/inline/outputs.js";
import type { ServedResource } from "../../src/inline/register.js";
import { revisionKey } from "../../src/transaction/pass.js";
import { failsWith } from "../support/errors.js";
import { firstPlan } from "../support/first-plan.js";
import { cluster, desiredOf, localProvider, machine } from "../support/manifests.js";

const dayMs = 24 * 3_600_000;

const valueOf = <T>(given: Output<T>): Promise<T> =>
  new Promise((resolve) => void given.apply((value) => resolve(value)));

describe("what a cluster gives back to its program", () => {
  const provider = localProvider();
  const plan = firstPlan(
    desiredOf([cluster(), machine("cp", { controlPlane: "1.34.2" }), machine("db")]),
    provider,
  );
  const resources = new Map(
    [...plan.target.nodes.map(keyOf), revisionKey].map((key) => [
      key,
      {
        id: output(`id of ${key}`),
        spec: output({ port: 6443 }),
        status: output({ address: "10.0.0.10" }),
        cluster: output("default/prod"),
        number: output(1),
        machines: output(2),
      } as unknown as ServedResource,
    ]),
  );

  before(() => runtime.setMocks({ newResource: () => ({ id: "x", state: {} }), call: () => ({}) }));

  const given = (facts: Partial<ConstructorParameters<typeof ClusterOutputs>[0]> = {}) =>
    new ClusterOutputs({
      plan,
      provider,
      keys: undefined,
      resources,
      kubeconfigs: [],
      begins: false,
      ...facts,
    });

  it("is the endpoint, and the host of each machine", async () => {
    assert.deepEqual(await valueOf(given().endpoint), { host: "10.0.0.10", port: 6443 });
    const hosts = await valueOf(given().hosts);
    assert.deepEqual(Object.keys(hosts), ["cp", "db"]);
    assert.match(hosts["db"] ?? "", /^id of LocalHost\/db-/);
  });

  it("holds nothing secret as a whole", () => {
    assert.deepEqual(Object.keys(given()).sort(), ["cluster", "machines", "revision"]);
  });

  it("is no kubeconfig without keys", () => {
    assert.throws(
      () => given().kubeconfig,
      failsWith("NOT_FOUND", /default\/prod has no kubeconfig: provider local takes no user data/),
    );
  });

  it("is a kubeconfig whose certificate stays until half of its time is over", async () => {
    const keys = await newClusterKeys(Date.now() - 300 * dayMs, "RSA-2048");
    const access = { name: "prod", server: "https://10.0.0.10:6443", keys };
    const made = async (agoMs: number) =>
      adminKubeconfig(access, await newAdminCertificate(access, Date.now() - agoMs));
    const [fresh, due] = await Promise.all([made(dayMs), made(200 * dayMs)]);
    const told = (kubeconfigs: readonly string[]) =>
      valueOf(given({ keys, kubeconfigs }).kubeconfig);
    assert.equal(await told(["no kubeconfig", due, fresh]), fresh);
    const renewed = await told([due]);
    assert.notEqual(renewed, due);
    assert.ok(adminCertificateIn(renewed, access) !== undefined);
  });
});
