import assert from "node:assert/strict";
import {
  flatOf,
  Params,
  treeOf,
  treeOfJson,
} from "../../../../providers/sim/aws/protocol/params.js";
import { xmlOf } from "../../../../providers/sim/aws/protocol/xml.js";
import { callOf } from "../../../../providers/sim/aws/request.js";

describe("the protocols of the simulated AWS", () => {
  it("Query parameters are a tree, with lists by number, and flat again", () => {
    const flat = {
      "F.1.Name": "a",
      "F.1.V.1": "x",
      "F.1.V.2": "y",
      "F.10.Name": "c",
      "F.2.Name": "b",
      Z: "1",
    };
    const tree = treeOf(flat);
    assert.deepEqual(tree, {
      F: [{ Name: "a", V: ["x", "y"] }, { Name: "b" }, { Name: "c" }],
      Z: "1",
    });
    assert.deepEqual(flatOf(treeOf({ "A.1.B": "x", C: "y" })), { "A.1.B": "x", C: "y" });
  });

  it("a reader knows what nobody has read", () => {
    const params = new Params(treeOf({ A: "1", "L.1.X": "2", "L.1.Y": "3", "O.P": "4" }));
    assert.deepEqual(params.unread(), ["A", "L", "O"]);
    assert.equal(params.number("A"), 1);
    params.objects("L")[0]?.text("X");
    params.object("O");
    assert.deepEqual(params.unread(), ["L.1.Y", "O.P"]);
    params.ignoreAll();
    assert.deepEqual(params.unread(), []);
  });

  it("lists come bare, below member, as one text, or empty", () => {
    const params = new Params(treeOf({ "A.1": "x", "B.member.1": "x", C: "x", D: "" }));
    assert.deepEqual(
      ["A", "B", "C", "D", "E"].map((name) => params.texts(name)),
      [["x"], ["x"], ["x"], [], []],
    );
  });

  const wrong: readonly (readonly [string, (params: Params) => unknown, string])[] = [
    ["no number", (params) => params.number("Text"), "InvalidParameterValue"],
    ["no flag", (params) => params.flag("Text"), "InvalidParameterValue"],
    ["no text", (params) => params.text("Object"), "InvalidParameterValue"],
    ["not there", (params) => params.required("Nothing"), "MissingParameter"],
    ["empty", (params) => params.required("Empty"), "MissingParameter"],
  ];
  for (const [name, read, code] of wrong) {
    it(`a parameter that is ${name} is refused with ${code}`, () => {
      const params = new Params(treeOf({ Text: "text", "Object.A": "1", Empty: "" }));
      assert.throws(() => read(params), { code });
    });
  }

  it("JSON is the same tree, its scalars as texts", () => {
    assert.deepEqual(treeOfJson({ A: 1, B: true, C: [{ D: "x" }], E: null }), {
      A: "1",
      B: "true",
      C: [{ D: "x" }],
    });
  });

  it("XML is escaped, keeps empty lists, and leaves out what is undefined or cannot be in it", () => {
    const members = { a: '<&>"\u0001', b: [], c: [1, { d: true }], e: undefined, f: "" };
    assert.equal(
      xmlOf(members, "item"),
      "<a>&lt;&amp;&gt;&quot;</a><b/><c><item>1</item><item><d>true</d></item></c><f/>",
    );
  });

  const authorization =
    "AWS4-HMAC-SHA256 Credential=AKID/20261123/us-east-1/ec2/aws4_request, SignedHeaders=host, Signature=0";
  const request = { method: "POST", path: "/", headers: { authorization }, body: "" };
  const home = "eu-north-1";

  it("a signed request tells service, region and key", () => {
    assert.deepEqual(
      callOf(
        { ...request, body: "Action=CreateVpc&Version=2016-11-15&CidrBlock=10.0.0.0%2F16" },
        home,
      ),
      {
        service: "ec2",
        action: "CreateVpc",
        parameters: { CidrBlock: "10.0.0.0/16" },
        accessKey: "AKID",
        region: "us-east-1",
      },
    );
  });

  it("a request for an older API of a service names its version", () => {
    const headers = { authorization: authorization.replace("/ec2/", "/elasticloadbalancing/") };
    const serviceAt = (version: string) =>
      callOf({ ...request, headers, body: `Action=DescribeTags${version}` }, home)?.service;
    assert.equal(serviceAt("&Version=2012-06-01"), "elasticloadbalancing 2012-06-01");
    assert.equal(serviceAt("&Version=2015-12-01"), "elasticloadbalancing");
    assert.equal(serviceAt(""), "elasticloadbalancing");
  });

  it("a presigned address is signed, too", () => {
    const credential = encodeURIComponent("AKID/20261123/eu-west-1/sts/aws4_request");
    const path = `/?Action=GetCallerIdentity&Version=2011-06-15&X-Amz-Credential=${credential}&X-Amz-Date=x`;
    const call = callOf({ ...request, path, headers: {} }, home);
    assert.deepEqual(call, {
      service: "sts",
      action: "GetCallerIdentity",
      parameters: {},
      accessKey: "AKID",
      region: "eu-west-1",
    });
  });

  it("JSON 1.1 names its action in a header", () => {
    const headers = {
      authorization: authorization.replace("/ec2/", "/ssm/"),
      "x-amz-target": "AmazonSSM.GetParameter",
    };
    const call = callOf({ ...request, headers, body: '{"Name":"/a"}' }, home);
    assert.deepEqual(
      [call?.service, call?.action, call?.parameters],
      ["ssm", "GetParameter", { Name: "/a" }],
    );
  });

  it("what is not signed, or no call, is none", () => {
    assert.equal(callOf({ ...request, headers: {}, body: "Action=CreateVpc" }, home), undefined);
    assert.equal(callOf(request, home), undefined);
    const headers = { authorization, "x-amz-target": "AmazonSSM.GetParameter" };
    assert.equal(callOf({ ...request, headers, body: "{" }, home), undefined);
    const web = callOf({ ...request, headers: {}, body: "Action=AssumeRoleWithWebIdentity" }, home);
    assert.deepEqual([web?.service, web?.region], ["sts", home]);
  });
});
