import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { EC2 } from "@aws-sdk/client-ec2";
import { ElasticLoadBalancing } from "@aws-sdk/client-elastic-load-balancing";
import { SimServer } from "../../../../providers/sim/aws/server.js";
import { SimulatedAws } from "../../../../providers/sim/aws/simulated-aws.js";
import { systemClock } from "../../../../src/provider/clock.js";
import { Moto } from "../../../provider/ec2/moto.js";
import { repository } from "../../../scenario/sandbox.js";
import { at, parseXml, type XmlTree } from "../xml-tree.js";
import { region } from "./account.js";
import { wireCases, type WireCloud } from "./wire-cases.js";

/** Asks an endpoint in the Query protocol, signed in name alone. */
function queryTo(endpoint: string): WireCloud["query"] {
  return async (service, action, form) => {
    const Version = service === "ec2" ? "2016-11-15" : "2015-12-01";
    const authorization = `AWS4-HMAC-SHA256 Credential=AKID/20261123/${region}/${service}/aws4_request, SignedHeaders=host, Signature=0`;
    const body = new URLSearchParams({ Action: action, Version, ...form });
    const response = await fetch(endpoint, { method: "POST", headers: { authorization }, body });
    const tree: XmlTree = parseXml(await response.text());
    return response.ok ? tree : at(tree, "ErrorResponse.Error.Code");
  };
}

describe("the simulated AWS beside moto, with the SDK of AWS", () => {
  let moto: Moto;
  let server: SimServer;
  let clouds: { readonly sim: WireCloud; readonly moto: WireCloud };

  before(async () => {
    moto = await Moto.start();
    const motoEndpoint = moto.env["AWS_ENDPOINT_URL"] ?? "";
    const quotas = { vpcs: 100, internetGateways: 100, addresses: 100 };
    const aws = new SimulatedAws({ clock: systemClock, settings: { quotas } });
    server = await SimServer.start(aws, { region });
    const credentials = { accessKeyId: "AKID", secretAccessKey: "x" };
    const ec2 = new EC2({ region, endpoint: server.endpoint, credentials, maxAttempts: 1 });
    const classicElbAt = (endpoint: string) =>
      new ElasticLoadBalancing({ region, endpoint, credentials, maxAttempts: 1 });
    const { Images = [] } = await ec2.describeImages({
      Filters: [{ Name: "architecture", Values: ["x86_64"] }],
    });
    clouds = {
      sim: {
        ec2,
        classicElb: classicElbAt(server.endpoint),
        query: queryTo(server.endpoint),
        image: Images[0]?.ImageId ?? "",
        settle: async () => aws.advance(120_000),
      },
      moto: {
        ec2: moto.ec2,
        classicElb: classicElbAt(motoEndpoint),
        query: queryTo(motoEndpoint),
        image: (await moto.account()).images[0],
        settle: async () => {},
      },
    };
  });
  after(async () => {
    clouds.sim.ec2.destroy();
    for (const { classicElb } of [clouds.sim, clouds.moto]) classicElb.destroy();
    await server.stop();
    await moto.stop();
  });

  for (const { name, ask, want, moto: other } of wireCases) {
    const differs = other === undefined ? "both the same" : `and moto otherwise, as ${other.why}`;
    it(`${name}: ${differs}`, async () => {
      assert.deepEqual(await ask(clouds.sim), want, "the simulator");
      assert.deepEqual(await ask(clouds.moto), other === undefined ? want : other.want, "moto");
    });
  }

  it("the differences are those of docs/sim-aws.md", () => {
    const text = readFileSync(join(repository, "docs", "sim-aws.md"), "utf8");
    const [, section = ""] = text.split("\n## Beside moto\n");
    const documented = [...(section.split("\n## ")[0] ?? "").matchAll(/^\| ([^|]+?) +\|/gm)]
      .map(([, name]) => name)
      .filter((name) => name !== "question" && !name?.startsWith("-"));
    const differing = wireCases.filter((one) => one.moto !== undefined).map(({ name }) => name);
    assert.deepEqual(documented.sort(), differing.sort());
  });
});
