import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { awsApiVersion } from "../../../providers/aws/specs/cluster-spec.js";
import type { Command } from "../../scenario/command.js";
import { until } from "../../scenario/until.js";
import { WatchRig } from "../../scenario/watch-rig.js";
import { clusterNetwork } from "../../support/manifests.js";
import { WatchedAccount } from "./watched-account.js";

const theirs = "222233334444";
const roleARN = `arn:aws:iam::${theirs}:role/capstan`;

const identity = {
  apiVersion: awsApiVersion,
  kind: "AWSClusterRoleIdentity",
  metadata: { name: "teams" },
  spec: {
    roleARN,
    sessionName: "watch",
    allowedNamespaces: { selector: { matchLabels: { clusters: "aws" } } },
  },
};

/** Without machines: what is shared tells whose account it is in. */
const clusterIn = (namespace: string) => ({
  apiVersion: "cluster.k8s.io/v1alpha1",
  kind: "Cluster",
  metadata: { name: "demo", namespace },
  spec: {
    clusterNetwork: clusterNetwork(),
    providerSpec: {
      value: {
        apiVersion: awsApiVersion,
        kind: "AWSClusterProviderSpec",
        region: "eu-north-1",
        zones: ["eu-north-1a"],
        natGateways: "none",
        identityRef: { kind: "AWSClusterRoleIdentity", name: "teams" },
      },
    },
  },
});

describe("Clusters of an API server that name an identity of AWS", function () {
  this.timeout(15 * 60_000);
  let account: WatchedAccount;
  let rig: WatchRig;
  let controller: Command;

  before(async () => {
    account = await WatchedAccount.start();
    rig = await WatchRig.start({ objects: [] }, { env: account.env });
  });
  after(async () => {
    await rig.stop();
    await account.stop();
  });

  const apply = async (...objects: object[]) => {
    const file = join(rig.sandbox.folder, "objects.yaml");
    writeFileSync(file, objects.map((one) => stringify(one)).join("---\n"));
    await rig.kubectl("apply", "-f", file);
  };

  const statusIn = async (namespace: string) => {
    const path = `/apis/cluster.k8s.io/v1alpha1/namespaces/${namespace}/clusters/demo`;
    const { status = {} } = (await rig.server.admin.read(path)) as { status?: object };
    return status as { readonly phase?: string; readonly errorMessage?: string };
  };

  const untilAll = (what: string, isTrue: () => Promise<boolean>) =>
    until(
      what,
      async () => {
        assert.equal(controller.hasEnded, false, controller.said);
        return isTrue();
      },
      240_000,
    );

  /** Calls that have changed something, and who has made them. */
  const changes = () =>
    account.server.aws.ledger
      .after(0)
      .filter(({ isMutating, outcome }) => isMutating && (outcome?.changes ?? []).length > 0);

  it("are kept in the role's account, in namespaces that it lists alone", async () => {
    for (const name of ["open", "closed"]) await rig.kubectl("create", "namespace", name);
    await rig.kubectl("label", "namespace", "open", "clusters=aws");
    await apply(identity, clusterIn("open"), clusterIn("closed"));
    controller = rig.watch();
    await untilAll(
      "the allowed one runs",
      async () => (await statusIn("open")).phase === "Running",
    );
    await untilAll("the other one is told why not", async () =>
      /identity teams is not for namespace closed/i.test(JSON.stringify(await statusIn("closed"))),
    );
    const made = changes().filter(({ action }) => action === "ec2:CreateVpc");
    assert.deepEqual(
      made.map(({ account: where, principal }) => [where, principal]),
      [[theirs, `arn:aws:sts::${theirs}:assumed-role/capstan/watch`]],
    );

    // Whoever may use it from now on does.
    await rig.kubectl("label", "namespace", "closed", "clusters=aws");
    await untilAll("it runs, too", async () => (await statusIn("closed")).phase === "Running");
    const gone = ["open", "closed"].map((namespace) =>
      rig.kubectl("delete", "cluster", "demo", "-n", namespace, "--timeout=180s"),
    );
    await Promise.all(gone);
    const { server } = account;
    server.aws.advance(2 * 3_600_000);
    const { store } = server.aws.accounts.region(theirs, "eu-north-1");
    const { vpcs = [] } = store.snapshot() as { vpcs?: readonly { isDefault?: boolean }[] };
    assert.deepEqual(
      vpcs.filter(({ isDefault }) => isDefault !== true),
      [],
    );
    const others = changes().filter(({ account: where }) => where !== theirs);
    assert.deepEqual(others, [], "nothing in the account of the process");
  });
});
