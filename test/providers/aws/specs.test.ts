import assert from "node:assert/strict";
import { awsProvider } from "../../../providers/aws/provider.js";
import { machineFromCapa } from "../../../providers/aws/specs/from-v1alpha1.js";
import type { JsonObject } from "../../../src/api/json.js";
import { providerValue } from "../../../src/api/types.js";
import { diagnosticText } from "../../../src/manifest/diagnostic.js";
import { readDesired } from "../../../src/manifest/desired.js";
import { noClients } from "./no-clients.js";

const provider = awsProvider(noClients);
const alpha = "awsprovider.k8s.io/v1alpha1";
const storage = "awsprovider.k8s.io/v1alpha2";

function read(clusterSpec: JsonObject, machineSpec: JsonObject = {}, apiVersion = alpha) {
  const cluster = {
    apiVersion: "cluster.k8s.io/v1alpha1",
    kind: "Cluster",
    metadata: { name: "demo" },
    spec: {
      clusterNetwork: {
        services: { cidrBlocks: ["10.96.0.0/12"] },
        pods: { cidrBlocks: ["192.168.0.0/16"] },
        serviceDomain: "cluster.local",
      },
      providerSpec: { value: { apiVersion, kind: "AWSClusterProviderSpec", ...clusterSpec } },
    },
  };
  const machine = {
    apiVersion: "cluster.k8s.io/v1alpha1",
    kind: "Machine",
    metadata: { name: "web", labels: { "cluster.k8s.io/cluster-name": "demo" } },
    spec: {
      versions: { kubelet: "1.34.2" },
      providerSpec: { value: { apiVersion, kind: "AWSMachineProviderSpec", ...machineSpec } },
    },
  };
  const text = [cluster, machine].map((one) => JSON.stringify(one)).join("\n---\n");
  const { clusters, diagnostics } = readDesired([{ file: "a.yaml", text }], [provider]);
  const [desired] = clusters;
  return {
    said: diagnostics.map(diagnosticText),
    cluster: desired && providerValue(desired.cluster.spec),
    machine: desired?.machines[0] && providerValue(desired.machines[0].spec),
  };
}

describe("objects of cluster-api-provider-aws 0.3", () => {
  it("keep every field that can be honoured", () => {
    const clusterSpec = {
      region: "eu-north-1",
      networkSpec: {
        vpc: { id: "vpc-1", internetGatewayId: "igw-1", tags: { team: "blue" } },
        subnets: [
          { id: "subnet-1", availabilityZone: "eu-north-1a", isPublic: true },
          { cidrBlock: "10.0.1.0/24", availabilityZone: "eu-north-1b" },
        ],
      },
    };
    const machineSpec = {
      ami: { filters: [{ name: "name", values: ["mine-*"] }] },
      additionalTags: { stage: "test" },
      publicIP: true,
      additionalSecurityGroups: [{ arn: "arn:aws:ec2:eu-north-1:1:security-group/sg-1" }],
      availabilityZone: "eu-north-1a",
      subnet: { id: "subnet-2" },
      rootDeviceSize: 40,
      kubeadmConfiguration: {
        join: { nodeRegistration: { kubeletExtraArgs: { "max-pods": "50" } } },
        init: { nodeRegistration: { kubeletExtraArgs: { "max-pods": "50" } } },
      },
      additionalUserDataFiles: [{ path: "/etc/motd", content: "hello", permissions: "0644" }],
    };
    const { said, cluster, machine } = read(clusterSpec, machineSpec);
    assert.deepEqual(said, []);
    assert.deepEqual(cluster, {
      apiVersion: storage,
      kind: "AWSClusterProviderSpec",
      region: "eu-north-1",
      vpc: { id: "vpc-1" },
      internetGatewayId: "igw-1",
      subnets: [
        { id: "subnet-1", zone: "eu-north-1a", public: true },
        { cidr: "10.0.1.0/24", zone: "eu-north-1b" },
      ],
      tags: { team: "blue" },
      natGateways: "perZone",
      hostSecrets: "userData",
    });
    assert.deepEqual(machine, {
      apiVersion: storage,
      kind: "AWSMachineProviderSpec",
      instanceType: "t3.medium",
      image: { filters: [{ name: "name", values: ["mine-*"] }] },
      zone: "eu-north-1a",
      subnet: { id: "subnet-2" },
      securityGroups: [{ id: "sg-1" }],
      publicIp: true,
      rootVolume: { gib: 40 },
      tags: { stage: "test" },
      bootstrap: { files: [{ path: "/etc/motd", content: "hello", permissions: "0644" }] },
      kubeadm: { nodeRegistration: { kubeletExtraArgs: { "max-pods": "50" } } },
    });
  });

  const networks = [
    {
      name: "a VPC alone: all of its subnets",
      networkSpec: { vpc: { id: "vpc-1" } },
      want: {
        vpc: { id: "vpc-1" },
        subnetFilters: [{ name: "state", values: ["available"] }],
      },
    },
    {
      name: "subnets without zones: those, wherever they are",
      networkSpec: { vpc: { id: "vpc-1" }, subnets: [{ id: "subnet-1" }, { id: "subnet-2" }] },
      want: {
        vpc: { id: "vpc-1" },
        subnetFilters: [{ name: "subnet-id", values: ["subnet-1", "subnet-2"] }],
      },
    },
    {
      name: "tags of a subnet that is made",
      networkSpec: {
        subnets: [
          { cidrBlock: "10.0.1.0/24", availabilityZone: "eu-north-1a", tags: { tier: "inner" } },
        ],
      },
      want: { subnets: [{ cidr: "10.0.1.0/24", zone: "eu-north-1a", tags: { tier: "inner" } }] },
    },
  ];
  for (const { name, networkSpec, want } of networks) {
    it(`keep of a network ${name}`, () => {
      const { said, cluster } = read({ region: "eu-north-1", networkSpec });
      assert.deepEqual(said, []);
      const own = { apiVersion: storage, kind: "AWSClusterProviderSpec", region: "eu-north-1" };
      const always = { natGateways: "perZone", hostSecrets: "userData" };
      assert.deepEqual(cluster, { ...own, ...want, ...always });
    });
  }

  it("look for images in the account that they name, if they say for which", () => {
    const filters = [{ name: "name", values: ["mine-*"] }];
    const owned = read(
      { region: "eu-north-1" },
      { imageLookupOrg: "123456789012", ami: { filters } },
    );
    assert.deepEqual(owned.said, []);
    assert.deepEqual(owned.machine?.["image"], { filters, owner: "123456789012" });
    const byId = { imageLookupOrg: "123456789012", ami: { id: "ami-1" } };
    const { said, machine } = read({ region: "eu-north-1" }, byId);
    assert.match(said.join(), /warning: .*imageLookupOrg: has no effect.*\n.*ami names the image/);
    assert.deepEqual(machine?.["image"], { id: "ami-1" });
  });

  it("are warned of tags that a subnet does not get which is there", () => {
    const subnets = [{ id: "subnet-1", availabilityZone: "eu-north-1a", tags: { tier: "inner" } }];
    const { said } = read({ region: "eu-north-1", networkSpec: { subnets } });
    assert.match(said.join(), /networkSpec\.subnets\.0\.tags: has no effect/);
  });

  it("are refused for what cannot be honoured, all of it at once", () => {
    const { said } = read({
      region: "eu-north-1",
      caKeyPair: { cert: "Y2VydA==", key: "a2V5" },
      networkSpec: { subnets: [{ cidrBlock: "10.0.1.0/24" }] },
    });
    assert.match(said[0] ?? "", /caKeyPair holds a private key: .*--certificates/);
    assert.match(said[0] ?? "", /networkSpec\.subnets\[0\] needs availabilityZone/);
    const { said: others } = read({
      region: "eu-north-1",
      clusterConfiguration: { apiServer: { extraArgs: { v: "4" } } },
    });
    assert.match(others[0] ?? "", /clusterConfiguration is kubeadm's v1beta1/);
    assert.ok(!said.join().includes("a2V5"), "a key is not shown");
  });

  it("that say nothing in empty fields say nothing", () => {
    const { said } = read(
      {
        region: "eu-north-1",
        caKeyPair: { cert: "", key: "" },
        clusterConfiguration: { apiServer: {} },
        networkSpec: {},
      },
      { keyName: "", ami: {}, kubeadmConfiguration: { join: {}, init: {} } },
    );
    assert.deepEqual(said, []);
  });

  const refused = [
    { given: { imageLookupOrg: "258751437250" }, want: /imageLookupOrg finds images by a name/ },
    {
      given: { kubeadmConfiguration: { join: { nodeRegistration: { taints: [{ key: "a" }] } } } },
      want: /kubeadmConfiguration\.join\.nodeRegistration\.taints is of kubeadm's v1beta1/,
    },
    {
      given: {
        kubeadmConfiguration: {
          join: { nodeRegistration: { kubeletExtraArgs: { v: "4" } } },
          init: { nodeRegistration: { kubeletExtraArgs: { v: "5" } } },
        },
      },
      want: /other kubeletExtraArgs for join than for init/,
    },
  ];
  for (const { given, want } of refused) {
    it(`are refused with ${Object.keys(given).join()}: ${want.source.slice(0, 40)}`, () => {
      assert.throws(() => machineFromCapa(given), want);
    });
  }
});

describe("our own objects", () => {
  const refused = [
    { given: { tags: { Name: "mine" } }, where: "Name" },
    { given: { tags: { "capstan:token": "mine" } }, where: "capstan:token" },
    { given: { tags: { "kubernetes.io/cluster/other": "owned" } }, where: "kubernetes.io" },
  ];
  for (const { given, where } of refused) {
    it(`have no tags of users that override ours: ${where}`, () => {
      const { said } = read({ region: "eu-north-1", ...given }, {}, storage);
      assert.ok(said.length > 0);
    });
  }

  it("find subnets in a VPC that is there, and instead of naming them", () => {
    const subnetFilters = [{ name: "tag:tier", values: ["inner"] }];
    const wrong = /subnetFilters stand instead of subnets, in a vpc that has an id or filters/;
    const subnets = [{ id: "subnet-1", zone: "eu-north-1a" }];
    const { said } = read({ region: "eu-north-1", subnetFilters }, {}, storage);
    assert.match(said.join(), wrong);
    const vpc = { id: "vpc-1" };
    assert.match(
      read({ region: "eu-north-1", vpc, subnets, subnetFilters }, {}, storage).said.join(),
      wrong,
    );
    assert.deepEqual(read({ region: "eu-north-1", vpc, subnetFilters }, {}, storage).said, []);
  });

  it("give no tags to a subnet that is there", () => {
    const tagged = { zone: "eu-north-1a", tags: { tier: "inner" } };
    const of = (subnet: JsonObject) =>
      read({ region: "eu-north-1", subnets: [{ ...tagged, ...subnet }] }, {}, storage).said.length;
    const filters = [{ name: "tag:tier", values: ["inner"] }];
    assert.deepEqual(
      [of({ cidr: "10.0.1.0/24" }), of({ id: "subnet-1" }), of({ filters })],
      [0, 1, 1],
    );
  });

  it("name a VPC by one thing alone", () => {
    const vpc = { id: "vpc-1", cidr: "10.0.0.0/16" };
    assert.ok(read({ region: "eu-north-1", vpc }, {}, storage).said.length > 0);
  });

  it("are in a region of any partition, and in no zone", () => {
    const isWrong = (region: string) => read({ region }, {}, storage).said.length > 0;
    const regions = [
      "eu-north-1",
      "us-gov-west-1",
      "cn-north-1",
      "eusc-de-east-1",
      "us-isob-east-1",
    ];
    assert.deepEqual(regions.filter(isWrong), []);
    assert.deepEqual(["eu-north-1a", "north", "EU-north-1"].filter(isWrong).length, 3);
  });
});
