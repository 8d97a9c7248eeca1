import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { SecretsManager } from "@aws-sdk/client-secrets-manager";
import { fetchCommandFor } from "../../../providers/aws/compile/secret-fetch.js";
import { SimServer } from "../../../providers/sim/aws/server.js";
import { SimulatedAws } from "../../../providers/sim/aws/simulated-aws.js";
import { systemClock } from "../../../src/provider/clock.js";
import { until } from "../../scenario/until.js";
import { StandInImds } from "./stand-in-imds.js";

const region = "eu-north-1";
const name = "capstan-0123456789abcdef0123456789abcdef";
/** No text in any encoding: it has to come through as it is. */
const content = new Uint8Array([0x1f, 0x8b, 0, 255, 10, 13, 39, 92, 0]);
const credentials = {
  AccessKeyId: "AKIDNODE",
  SecretAccessKey: "node/secret+",
  Token: "session==",
};

/** The way to the simulator, where what passes is looked at. */
interface Tap {
  readonly server: Server;
  readonly endpoint: string;
  readonly requests: { readonly headers: IncomingHttpHeaders; readonly body: string }[];
}

async function tapTo(endpoint: string): Promise<Tap> {
  const requests: Tap["requests"] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString();
      requests.push({ headers: request.headers, body });
      const { host: _, ...headers } = request.headers;
      const sent = fetch(endpoint, {
        method: "POST",
        headers: headers as Record<string, string>,
        body,
      });
      void sent.then(async (answer) => {
        response.writeHead(answer.status, { "content-type": "application/x-amz-json-1.1" });
        response.end(await answer.text());
      });
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { server, endpoint: `http://127.0.0.1:${port}`, requests };
}

describe("the command by which an instance fetches its secret", () => {
  let sim: SimServer;
  let imds: StandInImds;
  let tap: Tap;
  let client: SecretsManager;

  beforeEach(async () => {
    sim = await SimServer.start(new SimulatedAws({ clock: systemClock }), { region });
    imds = await StandInImds.start(region);
    tap = await tapTo(sim.endpoint);
    imds.credentials = credentials;
    const own = { accessKeyId: "AKIDCAPSTAN", secretAccessKey: "capstan" };
    client = new SecretsManager({ region, endpoint: sim.endpoint, credentials: own });
    await client.createSecret({ Name: name, SecretBinary: content });
  });
  afterEach(async () => {
    client.destroy();
    tap.server.closeAllConnections();
    tap.server.close();
    await imds.stop();
    await sim.stop();
  });

  /** Runs it as a host does, with the variables by which all tools of AWS are led elsewhere. */
  async function run(command: string) {
    const env = {
      PATH: process.env["PATH"],
      AWS_EC2_METADATA_SERVICE_ENDPOINT: imds.endpoint,
      AWS_ENDPOINT_URL: tap.endpoint,
    };
    const child = spawn("sh", ["-c", command], { env });
    const out: Buffer[] = [];
    let said = "";
    child.stdout.on("data", (chunk: Buffer) => out.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
    const [code] = (await once(child, "close")) as [number];
    return { code, said, output: new Uint8Array(Buffer.concat(out)) };
  }

  /** The same with less patience. */
  const hasty = (seconds: number) => {
    const command = fetchCommandFor(name);
    const hurried = command.replace(/ \d+$/, ` ${seconds}`);
    assert.notEqual(hurried, command);
    return hurried;
  };

  it("prints what is kept, byte for byte", async () => {
    const { code, said, output } = await run(fetchCommandFor(name));
    assert.equal(code, 0, said);
    assert.deepEqual(output, content);
    assert.equal(tap.requests.length, 1);
  });

  it("signs as the SDK of AWS does", async () => {
    await run(fetchCommandFor(name));
    const [{ headers, body } = { headers: {}, body: "" }] = tap.requests;
    const { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey, Token } = credentials;
    const own = { accessKeyId, secretAccessKey, sessionToken: Token };
    const judge = new SecretsManager({ region, credentials: own });
    const signer = await judge.config.signer();
    const signed = ["content-type", "host", "x-amz-target"].map(
      (one) => [one, String(headers[one])] as const,
    );
    const stamp = String(headers["x-amz-date"]);
    const [, year, month, day, hour, minute, second] =
      /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(stamp) ?? [];
    const signingDate = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
    const request = {
      method: "POST",
      protocol: "http:",
      hostname: "127.0.0.1",
      path: "/",
      query: {},
      headers: Object.fromEntries(signed),
      body,
    };
    const judged = await signer.sign(request, {
      signingDate,
      unsignableHeaders: new Set(["x-amz-content-sha256"]),
    });
    assert.equal(headers["x-amz-security-token"], Token);
    assert.equal(headers.authorization, judged.headers["authorization"]);
    judge.destroy();
  });

  it("waits for the rights of its instance, and for the secret", async () => {
    imds.credentials = undefined;
    await client.deleteSecret({ SecretId: name, ForceDeleteWithoutRecovery: true });
    const running = run(hasty(30));
    await until("it asks for its rights", () => imds.refused > 0);
    imds.credentials = credentials;
    await until("it asks for the secret", () => tap.requests.length > 0);
    sim.aws.advance(60_000);
    await client.createSecret({ Name: name, SecretBinary: content });
    const { code, said, output } = await running;
    assert.equal(code, 0, said);
    assert.deepEqual(output, content);
  });

  const refusals = [
    {
      name: "it has no instance profile",
      harm: async () => (imds.credentials = undefined),
      says: /iam\/security-credentials\/ answers 404/,
    },
    {
      name: "its role has no right to it",
      harm: async () => {
        const key = { principal: "arn:aws:iam::1:role/worker", account: "123456789012", allow: [] };
        sim.aws.change({ accessKeys: { [credentials.AccessKeyId]: key } });
      },
      says: /answers 400 .*AccessDeniedException.*secretsmanager:GetSecretValue on resource: .*capstan-0123/,
    },
    {
      name: "there is none",
      harm: () => client.deleteSecret({ SecretId: name, ForceDeleteWithoutRecovery: true }),
      says: /answers 400 .*ResourceNotFoundException/,
    },
  ];
  for (const { name: why, harm, says } of refusals) {
    it(`says so where ${why}, and prints nothing`, async () => {
      await harm();
      const { code, said, output } = await run(hasty(0));
      assert.equal(code, 1);
      assert.match(said, says);
      assert.equal(output.length, 0);
      for (const secret of [credentials.SecretAccessKey, credentials.Token]) {
        assert.ok(!said.includes(secret), said);
      }
    });
  }
});
