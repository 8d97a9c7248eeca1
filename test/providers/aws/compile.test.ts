import assert from "node:assert/strict";
import { zoneRanges } from "../../../providers/aws/compile/ranges.js";
import { awsProvider } from "../../../providers/aws/provider.js";
import { replacingUnseen } from "../../../src/provider/unobservable.js";
import { awsRules } from "../../../providers/aws/kinds/rules.js";
import { awsKinds } from "../../../providers/aws/kinds/kinds.js";
import { createProtocols } from "../../../providers/aws/kinds/protocols.js";
import type { JsonObject } from "../../../src/api/json.js";
import type { ClusterObject } from "../../../src/api/types.js";
import type { MachineToCompile } from "../../../src/provider/port.js";
import { unknownValue } from "../../../src/api/unknown.js";
import { assertGolden } from "../../support/golden.js";
import { graphText as graphTextOf } from "./graph-text.js";
import { noClients } from "./no-clients.js";

const provider = awsProvider(noClients);

const clusterObject = {
  spec: {
    clusterNetwork: {
      services: { cidrBlocks: ["10.96.0.0/12"] },
      pods: { cidrBlocks: ["192.168.0.0/16"] },
      serviceDomain: "cluster.local",
    },
  },
} as unknown as ClusterObject;

function machine(
  name: string,
  controlPlane: boolean,
  providerSpec: JsonObject = {},
): MachineToCompile {
  const versions = { kubelet: "1.34.2", ...(controlPlane && { controlPlane: "1.34.2" }) };
  return {
    name,
    controlPlane,
    spec: { versions, providerSpec: {} },
    providerSpec: { instanceType: "t3.medium", zone: "eu-north-1b", ...providerSpec },
    lookedUp: { imageId: "ami-1" },
  };
}

/** In eu-north-1, with the defaults of the schema. */
function graphText(
  clusterSpec: JsonObject,
  machines: readonly MachineToCompile[],
  lookedUp?: JsonObject,
): string {
  const spec = { region: "eu-north-1", natGateways: "perZone", ...clusterSpec };
  return graphTextOf(clusterObject, spec, machines, lookedUp);
}

describe("what a cluster on AWS is compiled to", () => {
  it("takes an empty map of tags for no tags, as AWS shows it", () => {
    assert.equal(graphText({ tags: {} }, []), graphText({}, []));
  });

  it("is a network in two zones, groups, a load balancer and hosts", () => {
    const volume = { name: "data", device: "/dev/sdf", gib: 20, whenHostGoes: "keep" };
    const text = graphText({ zones: ["eu-north-1a", "eu-north-1b"], tags: { team: "blue" } }, [
      machine("cp-0", true, { tags: { stage: "test" }, dataVolumes: [volume] }),
      machine("web-0", false, { publicIp: true, spot: { maxPrice: "0.05" } }),
    ]);
    assertGolden("aws-small-cluster", text);
  });

  it("leaves a VPC, subnets and groups as they are that are there", () => {
    const clusterSpec = {
      vpc: { id: "vpc-1" },
      subnets: [
        { id: "subnet-1", zone: "eu-north-1b", public: true },
        { id: "subnet-2", zone: "eu-north-1b" },
      ],
      securityGroups: { node: "sg-1" },
      apiServer: { scheme: "internal", allowedCidrs: ["10.0.0.0/8"] },
      ingressRules: [{ protocol: "udp", fromPort: 8472 }],
    };
    assertGolden("aws-existing-vpc", graphText(clusterSpec, [machine("cp-0", true)]));
  });

  const restricted = { apiServer: { allowedCidrs: ["203.0.113.0/24"] } };
  /** Sources that may reach the API, and who has a rule of its own. */
  const apiSources = (text: string) => ({
    shared: [...text.matchAll(/AwsSecurityGroupRule (apiserver-lb-\S+)/g)].map(([, name]) => name),
    own: [...text.matchAll(/^of (\S+): AwsSecurityGroupRule api (.*?) ?$/gm)].map(
      ([, name, spec]) => `${name} ${spec}`,
    ),
  });

  it("lets its own hosts reach the API, whatever allowedCidrs says", () => {
    const machines = [machine("cp-0", true), machine("web-0", false, { publicIp: true })];
    const vpc = { id: "vpc-1" };
    const found = { egressRanges: ["198.51.100.7/32"] };
    const ofApi = `apiserver-lb-tcp-6443-from-`;
    const ranges = ["203.0.113.0-24", "198.51.100.7-32"];
    const natZones = ["eu-north-1a", "eu-north-1b", "eu-north-1c"].map((zone) => `nat-${zone}`);
    const { shared, own: rules } = apiSources(graphText({ ...restricted, vpc }, machines, found));
    assert.deepEqual(
      shared,
      [...ranges, "controlplane", "node", ...natZones].map((from) => `${ofApi}${from}`),
    );
    assert.equal(rules.length, 1);
    assert.match(rules[0] ?? "", /^web-0 .*"fromPort":6443,"toPort":6443,"instanceId":.*web-0/);
  });

  it("makes no rules by address where they let in nothing more", () => {
    const machines = [machine("web-0", false, { publicIp: true })];
    const found = { egressRanges: ["198.51.100.7/32"] };
    const { allowedCidrs } = restricted.apiServer;
    const open: readonly JsonObject[] = [
      {},
      { apiServer: { allowedCidrs: ["0.0.0.0/0"] } },
      { apiServer: { allowedCidrs, scheme: "internal" } },
      { apiServer: { allowedCidrs }, securityGroups: { apiServerLb: "sg-1" } },
    ];
    for (const clusterSpec of open) {
      const { shared, own } = apiSources(graphText(clusterSpec, machines, found));
      assert.deepEqual(own, []);
      assert.ok(!shared.some((name = "") => name.includes("198.51.100.7")), shared.join());
    }
  });

  it("closes node ports to all but its hosts and the ranges that it names", () => {
    const sources = (text: string) =>
      [...text.matchAll(/AwsSecurityGroupRule node-tcp-30000-32767-from-(\S+)/g)].map(
        ([, from]) => from,
      );
    assert.deepEqual(sources(graphText({}, [])), ["controlplane", "node"]);
    assert.deepEqual(sources(graphText({ nodePortCidrs: ["0.0.0.0/0", "10.0.0.0/8"] }, [])), [
      "controlplane",
      "node",
      "anywhere",
      "10.0.0.0-8",
    ]);
  });

  it("tells a host of sourceDestCheck only where it is off", () => {
    const inputs = (sourceDestCheck: boolean) =>
      graphText({}, [machine("web-0", false, { sourceDestCheck })]);
    assert.match(inputs(false), /^host web-0 .*"sourceDestCheck":false/m);
    assert.doesNotMatch(inputs(true), /sourceDestCheck/);
  });

  it("takes a VPC that filters have found", () => {
    const subnets = [{ cidr: "10.0.1.0/24", zone: "eu-north-1b" }];
    const filters = [{ name: "tag:Name", values: ["shared"] }];
    const text = graphText({ vpc: { filters }, subnets }, [], { vpcId: "vpc-9" });
    assert.match(text, /^external AwsVpc vpc \{"id":"vpc-9"\}$/m);
    assert.doesNotMatch(text, /AwsInternetGateway/, "private subnets alone need no gateway");
  });

  const filters = [{ name: "tag:Name", values: ["theirs"] }];

  it("takes subnets and groups that filters have found, each in its place", () => {
    const clusterSpec = {
      vpc: { id: "vpc-1" },
      subnets: [
        { filters, zone: "eu-north-1a", public: true },
        { id: "subnet-2", zone: "eu-north-1a" },
        { filters: [...filters], zone: "eu-north-1b" },
      ],
      securityGroups: { node: { filters }, lb: "sg-2" },
    };
    const found = { subnetIds: ["subnet-1", "subnet-3"], groupIds: { node: "sg-1" } };
    const ids = {
      ...clusterSpec,
      subnets: clusterSpec.subnets.map(({ zone, public: isPublic }, index) => ({
        id: `subnet-${index + 1}`,
        zone,
        ...(isPublic && { public: true }),
      })),
      securityGroups: { node: "sg-1", lb: "sg-2" },
    };
    const machines = [machine("cp-0", true)];
    assert.equal(graphText(clusterSpec, machines, found), graphText(ids, machines));
  });

  it("takes all subnets that filters have found, in the zones that it names", () => {
    const vpc = { id: "vpc-1" };
    const subnets = [
      { id: "subnet-1", zone: "eu-north-1a", public: true },
      { id: "subnet-2", zone: "eu-north-1a", public: false },
      { id: "subnet-3", zone: "eu-north-1b", public: false },
    ];
    const unplaced = machine("cp-0", true, { zone: null as unknown as string });
    const { zone: _zone, ...providerSpec } = unplaced.providerSpec;
    const machines = [{ ...unplaced, providerSpec }];
    assert.equal(
      graphText({ vpc, subnetFilters: filters }, machines, { subnets }),
      graphText({ vpc, subnets }, machines),
    );
    assert.equal(
      graphText({ vpc, subnetFilters: filters, zones: ["eu-north-1b"] }, machines, { subnets }),
      graphText({ vpc, subnets: subnets.slice(2) }, machines),
    );
  });

  it("makes nothing in the place of what filters find, before they were asked", () => {
    const searched = {
      vpc: { filters },
      subnetFilters: filters,
      zones: ["eu-north-1a"],
      securityGroups: { node: { filters }, lb: { filters } },
    };
    const lookedUp = Object.fromEntries(
      ["vpcId", "subnets", "subnetIds", "groupIds"].map((one) => [one, unknownValue]),
    );
    for (const answers of [{}, lookedUp]) {
      const text = graphText(searched, [machine("cp-0", true)], answers);
      assert.doesNotMatch(text, /^resource Aws(Vpc|Subnet|InternetGateway|RouteTable) /m);
      assert.doesNotMatch(text, /^resource AwsSecurityGroup (node|lb) /m);
      const id = answers === lookedUp ? unknownValue : "";
      assert.match(
        text,
        new RegExp(`^external AwsSubnet private-eu-north-1a {"id":"${id}"}$`, "m"),
      );
      assert.match(text, new RegExp(`^external AwsSecurityGroup node {"id":"${id}"}$`, "m"));
    }
  });

  it("tags a subnet that is made with its own tags beside those of the cluster", () => {
    const subnets = [{ cidr: "10.0.1.0/24", zone: "eu-north-1b", tags: { tier: "inner" } }];
    const text = graphText({ subnets, tags: { team: "blue", tier: "outer" } }, []);
    assert.match(text, /AwsSubnet private-eu-north-1b .*"tags":{"team":"blue","tier":"inner"}/);
  });

  it("places nobody where the subnets that are found tell the zones, unless it names some", () => {
    const of = (spec: JsonObject) =>
      provider.failureDomains?.of({ region: "eu-north-1", ...spec }, {});
    assert.deepEqual(of({ subnetFilters: filters }), []);
    assert.deepEqual(of({ subnetFilters: filters, zones: ["eu-north-1b"] }), ["eu-north-1b"]);
  });

  it("has members of a control plane in each zone", () => {
    const { failureDomains } = provider;
    const zones = failureDomains?.of({ region: "eu-north-1" }, {});
    assert.deepEqual(zones, ["eu-north-1a", "eu-north-1b", "eu-north-1c"]);
    const subnets = [
      { id: "subnet-1", zone: "eu-north-1c", public: true },
      { id: "subnet-2", zone: "eu-north-1b" },
    ];
    assert.deepEqual(failureDomains?.of({ region: "eu-north-1", subnets }, {}), ["eu-north-1b"]);
  });

  it("needs one NAT gateway where one is enough, and none where nobody wants one", () => {
    const zones = ["eu-north-1a", "eu-north-1b"];
    const count = (natGateways: string) =>
      graphText({ zones, natGateways }, []).match(/AwsNatGateway nat-\S+ \{/g)?.length ?? 0;
    assert.deepEqual(["perZone", "one", "none"].map(count), [2, 1, 0]);
  });
});

describe("ranges of subnets", () => {
  const given = ["10.0.0.0/16", "172.31.0.0/22", "10.8.0.0/20"];
  for (const vpc of given) {
    it(`of six zones lie in ${vpc}, and none in another`, () => {
      const all = [0, 1, 2, 3, 4, 5].flatMap((index) => {
        const ranges = zoneRanges(vpc, index);
        return [ranges.public, ranges.private];
      });
      const bounds = (range: string): [number, number] => {
        const [address = "", bits = ""] = range.split("/");
        const from = address.split(".").reduce((sum, byte) => sum * 256 + Number(byte), 0);
        return [from, from + 2 ** (32 - Number(bits))];
      };
      const [least, most] = bounds(vpc);
      const sorted = all.map(bounds).sort(([one], [other]) => one - other);
      sorted.reduce((end, [from, to]) => {
        assert.ok(from >= end && to <= most, all.join(", "));
        return to;
      }, least);
    });
  }
});

describe("every kind of AWS", () => {
  it("has rules and a stated protocol against duplicates", () => {
    assert.deepEqual([...provider.handlers.keys()].sort(), [...awsKinds].sort());
    assert.deepEqual(Object.keys(createProtocols).sort(), [...awsKinds].sort());
    assert.deepEqual(Object.keys(awsRules).sort(), [...awsKinds].sort());
  });

  const immutable = [
    { field: "instanceType", from: "t3.medium", to: "t3.large", kind: "replace" },
    { field: "instanceProfile", from: "a", to: "b", kind: "replace" },
    { field: "keyName", from: "a", to: "b", kind: "replace" },
    { field: "rootVolume", from: { gib: 20 }, to: { gib: 30 }, kind: "replace" },
    { field: "subnetId", from: "subnet-1", to: "subnet-2", kind: "replace" },
    { field: "publicIp", from: false, to: true, kind: "replace" },
    { field: "groupIds", from: ["sg-1"], to: ["sg-2"], kind: "inPlace" },
    { field: "tags", from: { a: "1" }, to: { a: "2" }, kind: "inPlace" },
  ];
  for (const { field, from, to, kind } of immutable) {
    it(`an instance: ${field} takes ${kind}, as in cluster-api-provider-aws 0.3`, () => {
      const verdict = provider.verdict("AwsInstance", { [field]: from }, { [field]: to });
      assert.equal(verdict.kind, kind);
    });
  }

  const ofNodes = [
    { field: "nodeLabels", from: {}, to: { tier: "front" }, kind: "inPlace" },
    { field: "nodeAnnotations", from: { a: "1" }, to: undefined, kind: "inPlace" },
    { field: "taints", from: undefined, to: [{ key: "a", effect: "NoSchedule" }], kind: "inPlace" },
    { field: "schedulable", from: undefined, to: true, kind: "inPlace" },
    { field: "schedulable", from: true, to: undefined, kind: "inPlace" },
    // Of what EC2 does not show, and no Node shows either.
    { field: "kubelet", from: "1.34.2", to: "1.35.0", kind: "replace" },
  ];
  for (const { field, from, to, kind } of ofNodes) {
    it(`an instance: ${field} takes ${kind}`, () => {
      const spec = (value: unknown) =>
        (value === undefined ? {} : { [field]: value }) as JsonObject;
      const verdict = replacingUnseen(provider).verdict("AwsInstance", spec(from), spec(to));
      assert.equal(verdict.kind, kind);
    });
  }

  const ofVolumes = [
    { field: "gib", from: 10, to: 20, kind: "inPlace" },
    { field: "gib", from: 20, to: 10, kind: "unsupported" },
    { field: "device", from: "/dev/sdf", to: "/dev/sdg", kind: "unsupported" },
    { field: "encrypted", from: false, to: true, kind: "unsupported" },
  ];
  for (const { field, from, to, kind } of ofVolumes) {
    it(`a volume: ${field} from ${from} to ${to} is ${kind}, as a new one would have neither data nor device`, () => {
      const verdict = provider.verdict("AwsVolume", { [field]: from }, { [field]: to });
      assert.equal(verdict.kind, kind);
    });
  }

  it("what is attached nowhere is attached in place, and never moved", () => {
    const volume = (instanceId?: string) => ({ gib: 1, ...(instanceId && { instanceId }) });
    assert.equal(provider.verdict("AwsVolume", volume(), volume("i-1")).kind, "inPlace");
    assert.equal(provider.verdict("AwsVolume", volume("i-1"), volume("i-2")).kind, "replace");
  });
});
