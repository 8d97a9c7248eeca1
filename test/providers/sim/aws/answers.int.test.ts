import assert from "node:assert/strict";
import { services } from "../../../../providers/sim/aws/services.js";
import { at, parseXml, type XmlTree } from "../xml-tree.js";
import { classicElb, SimAccount } from "./account.js";
import { callEveryAction } from "./every-action.js";
import { ServiceModel } from "./service-model.js";

/** What botocore calls the services. */
const names: Readonly<Record<string, string>> = {
  ec2: "ec2",
  elasticloadbalancing: "elbv2",
  [classicElb]: "elb",
  sts: "sts",
  ssm: "ssm",
  secretsmanager: "secretsmanager",
  servicequotas: "service-quotas",
};

/** Values that AWS's description leaves out and its documents and answers have. */
const known = [
  // docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InternetGatewayAttachment.html
  /internetGatewaySet\.\d+\.attachmentSet\.\d+\.state: "available"/,
  // docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeNetworkInterfaces.html, filter interface-type
  /interfaceType: "nat_gateway"/,
];

describe("answers of the simulated AWS, beside AWS's own description of its services", () => {
  const models = new Map<string, ServiceModel>();
  const modelOf = (service: string): ServiceModel => {
    const model = models.get(service) ?? new ServiceModel(names[service] ?? "");
    models.set(service, model);
    return model;
  };
  const account = new SimAccount({ quotas: { addresses: 10 } });
  before(() => callEveryAction(account));

  for (const [service, { actions }] of services) {
    it(`${service}: AWS has every action, and each was called`, () => {
      const called = new Set(
        account.answered.filter((one) => one.service === service).map(({ action }) => action),
      );
      const model = modelOf(service);
      assert.deepEqual(
        [...actions.keys()].filter((action) => !model.has(action)),
        [],
      );
      assert.deepEqual(
        [...actions.keys()].filter((action) => !called.has(action)),
        [],
      );
    });

    it(`${service}: nothing is in an answer that AWS does not have there, or of another type`, () => {
      const strange = account.answered
        .filter((one) => one.service === service)
        .flatMap(({ action, body }) => modelOf(service).strangeIn(action, contentOf(action, body)));
      assert.deepEqual(
        strange.filter((line) => !known.some((one) => one.test(line))),
        [],
      );
    });
  }

  it("an account is empty in the end but for what it had", () => {
    const counted = [
      "vpcs",
      "subnets",
      "interfaces",
      "volumes",
      "natGateways",
      "loadBalancers",
      "classicLoadBalancers",
      "targets",
    ];
    const left = counted.map((table) => [table, account.ids(table).length]);
    assert.deepEqual(Object.fromEntries(left), {
      vpcs: 1,
      subnets: 3,
      interfaces: 0,
      volumes: 0,
      natGateways: 1,
      loadBalancers: 0,
      classicLoadBalancers: 0,
      targets: 0,
    });
  });
});

function contentOf(action: string, body: string): XmlTree {
  if (body.startsWith("{")) return JSON.parse(body) as XmlTree;
  const response = at(parseXml(body), `${action}Response`);
  const isQuery = at(response, "ResponseMetadata") !== "";
  return isQuery ? at(response, `${action}Result`) : response;
}
