import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { awsClients } from "../../../providers/aws/calls/clients.js";
import { awsProvider } from "../../../providers/aws/provider.js";
import type { AwsCredentials } from "../../../providers/aws/specs/credentials.js";
import { SimServer } from "../../../providers/sim/aws/server.js";
import { SimulatedAws } from "../../../providers/sim/aws/simulated-aws.js";
import { type CapstanError, isCapstanError } from "../../../src/api/error.js";
import { systemClock } from "../../../src/provider/clock.js";
import type { InfrastructureProvider } from "../../../src/provider/port.js";
import { someone, stubContext } from "./stub-clients.js";
import { removeFolder } from "../../support/folders.js";

const region = "eu-north-1";
const other = "arn:aws:iam::222233334444:role/capstan";
const hourMs = 3_600_000;

/** Of the process, as tools of AWS read it. */
const variables = {
  AWS_REGION: region,
  AWS_ACCESS_KEY_ID: "AKIDPROCESS",
  AWS_SECRET_ACCESS_KEY: "secret-of-the-process",
};

describe("credentials of clusters on AWS, with the SDK and a simulated STS", () => {
  let server: SimServer;
  let folder: string;
  let provider: InfrastructureProvider;
  const before_ = { ...process.env };

  before(async () => {
    server = await SimServer.start(new SimulatedAws({ clock: systemClock }), { region });
    folder = mkdtempSync(join(tmpdir(), "capstan-aws-"));
    const config = join(folder, "config");
    writeFileSync(
      config,
      [
        "[profile team]",
        `role_arn = ${other}`,
        "source_profile = base",
        "[profile base]",
        "aws_access_key_id = AKIDBASE",
        "aws_secret_access_key = secret-of-base",
        "[profile guarded]",
        `role_arn = ${other}`,
        "source_profile = base",
        "mfa_serial = arn:aws:iam::123456789012:mfa/me",
        "",
      ].join("\n"),
    );
    writeFileSync(join(folder, "token"), "web.identity.token\n");
    const files = { AWS_CONFIG_FILE: config, AWS_SHARED_CREDENTIALS_FILE: join(folder, "none") };
    Object.assign(process.env, variables, files, { AWS_ENDPOINT_URL: server.endpoint });
  });
  after(async () => {
    for (const name of Object.keys(process.env).filter((one) => one.startsWith("AWS_"))) {
      if (before_[name] === undefined) delete process.env[name];
      else process.env[name] = before_[name];
    }
    removeFolder(folder);
    await server.stop();
  });
  beforeEach(() => {
    server.aws.reset();
    server.aws.change({ roles: {}, accessKeys: {} });
    provider = awsProvider(awsClients());
  });
  afterEach(() => provider.close?.());

  const boundTo = (credentials: AwsCredentials) => {
    const bound = provider.forCluster?.({ region, credentials });
    assert.ok(bound !== undefined);
    return bound;
  };
  const accountOf = async (one: InfrastructureProvider) =>
    (await one.identity?.(stubContext))?.["account"];
  const calls = (action: string) =>
    server.aws.ledger.after(0).filter((entry) => entry.action === action);
  const failure = async (work: Promise<unknown> | undefined): Promise<CapstanError> => {
    try {
      await work;
    } catch (error) {
      assert.ok(isCapstanError(error), String(error));
      return error;
    }
    return assert.fail("it succeeded");
  };

  it("a role leads to its account, and who names the same one shares its clients", async () => {
    const credentials = { assumeRoles: [{ arn: other, sessionName: "team-a" }] };
    const bound = boundTo(credentials);
    assert.equal(boundTo(structuredClone(credentials)), bound);
    assert.deepEqual(
      [await accountOf(provider), await accountOf(bound)],
      ["123456789012", "222233334444"],
    );
    await bound.owned?.(stubContext);
    const principals = calls("ec2:DescribeVpcs").map(({ principal }) => principal);
    assert.deepEqual(principals, ["arn:aws:sts::222233334444:assumed-role/capstan/team-a"]);
  });

  it("a role is assumed with another one", async () => {
    const first = "arn:aws:iam::111122223333:role/hub";
    server.aws.change({ roles: { [other]: { trusts: ["arn:aws:sts::111122223333:*"] } } });
    const alone = boundTo({ assumeRoles: [{ arn: other }] });
    assert.equal((await failure(alone.identity?.(stubContext))).code, "PERMISSION");
    const chained = boundTo({ assumeRoles: [{ arn: first }, { arn: other }] });
    assert.equal(await accountOf(chained), "222233334444");
  });

  it("a role that asks for an external id gets it, and its refusal names what to add", async () => {
    server.aws.change({ roles: { [other]: { externalId: "x-1" } } });
    const error = await failure(boundTo({ assumeRoles: [{ arn: other }] }).identity?.(stubContext));
    assert.equal(error.code, "PERMISSION");
    assert.match(error.message, /may not call sts:AssumeRole on arn:aws:iam::222233334444:role/);
    assert.match(error.hint ?? "", /"Action":"sts:AssumeRole".*trust policy.*external id/);
    const told = boundTo({ assumeRoles: [{ arn: other, externalId: "x-1" }] });
    assert.equal(await accountOf(told), "222233334444");
  });

  it("a profile leads to its role, with no credentials of the process", async () => {
    assert.equal(await accountOf(boundTo({ profile: "team" })), "222233334444");
    assert.deepEqual(
      calls("sts:AssumeRole").map(({ accessKey }) => accessKey),
      ["AKIDBASE"],
    );
    const missing = await failure(boundTo({ profile: "nobody" }).identity?.(stubContext));
    assert.equal(missing.code, "PERMISSION");
    assert.equal(calls("sts:GetCallerIdentity").length, 1);
  });

  it("a profile with MFA is refused, with a way on", async () => {
    const error = await failure(boundTo({ profile: "guarded" }).identity?.(stubContext));
    assert.equal(error.code, "PERMISSION");
    assert.match(error.message, /arn:aws:iam::123456789012:mfa\/me/);
    assert.match(error.hint ?? "", /get-session-token/);
  });

  it("a web identity is read from its file, and its token told to nobody", async () => {
    const webIdentity = { roleArn: other, tokenFile: join(folder, "token") };
    assert.equal(await accountOf(boundTo({ webIdentity })), "222233334444");
    assert.doesNotMatch(JSON.stringify(server.aws.ledger.after(0)), /web\.identity\.token/);
    const lost = boundTo({ webIdentity: { ...webIdentity, tokenFile: join(folder, "lost") } });
    assert.match((await failure(lost.identity?.(stubContext))).message, /cannot read .*lost/);
  });

  it("a session that expires while work goes on is opened anew", async () => {
    const bound = boundTo({ assumeRoles: [{ arn: other, durationSeconds: 900 }] });
    await bound.identity?.(stubContext);
    const vpc = bound.handlers.get("AwsVpc");
    const who = someone("AwsVpc");
    assert.equal((await vpc?.locate(stubContext, who))?.found, "none");
    for (const _ of [1, 2]) {
      server.aws.advance(hourMs);
      const made = await vpc?.create(stubContext, who, { cidr: "10.0.0.0/16" });
      assert.equal((await vpc?.locate(stubContext, who, made?.id))?.found, "one");
    }
    const lost = server.aws.ledger
      .after(0)
      .filter(({ outcome }) => outcome?.code === "RequestExpired");
    assert.equal(lost.length, 2);
    assert.equal(calls("ec2:CreateVpc").filter(({ outcome }) => outcome?.status === 200).length, 1);
  });

  it("new credentials of another account are refused where the old ones have expired", async () => {
    const expiresAtMs = server.aws.clock.now() + hourMs;
    const owner = (account: string) => ({ principal: `arn:aws:iam::${account}:user/me`, account });
    const key = variables.AWS_ACCESS_KEY_ID;
    server.aws.change({ accessKeys: { [key]: { ...owner("111122223333"), expiresAtMs } } });
    assert.equal(await accountOf(provider), "111122223333");
    server.aws.change({
      accessKeys: {
        [key]: { ...owner("111122223333"), expiresAtMs: 0 },
        NEW: owner("222233334444"),
      },
    });
    process.env["AWS_ACCESS_KEY_ID"] = "NEW";
    const error = await failure(provider.owned?.(stubContext));
    process.env["AWS_ACCESS_KEY_ID"] = key;
    assert.equal(error.code, "WRONG_CLOUD");
    assert.match(error.message, /account 111122223333 is recorded, and 222233334444 answered/);
  });

  it("a right that a role lacks is told with action, resource and statement", async () => {
    const { roles, tags } = {
      roles: { [other]: { allow: ["ec2:Describe*", "sts:*"] } },
      tags: { [other]: { allow: ["ec2:Describe*", "ec2:CreateVpc", "sts:*"] } },
    };
    const bound = boundTo({ assumeRoles: [{ arn: other }] });
    const make = () =>
      bound.handlers.get("AwsVpc")?.create(stubContext, someone("AwsVpc"), { cidr: "10.0.0.0/16" });
    server.aws.change({ roles });
    const error = await failure(make());
    assert.deepEqual([error.code, error.ambiguous], ["PERMISSION", false]);
    assert.match(
      error.message,
      /may not call ec2:CreateVpc on arn:aws:ec2:eu-north-1:222233334444:vpc/,
    );
    assert.match(error.hint ?? "", /\{"Effect":"Allow","Action":"ec2:CreateVpc","Resource":"arn:/);
    server.aws.change({ roles: tags });
    const untagged = boundTo({ assumeRoles: [{ arn: other, sessionName: "tags" }] });
    const refused = await failure(
      untagged.handlers
        .get("AwsVpc")
        ?.create(stubContext, someone("AwsVpc"), { cidr: "10.0.0.0/16" }),
    );
    assert.match(refused.hint ?? "", /"Action":"ec2:CreateTags"/);
  });
});
