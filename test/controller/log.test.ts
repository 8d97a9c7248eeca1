import assert from "node:assert/strict";
import { CapstanError } from "../../src/api/error.js";
import { createLog, errorFields, type Log, type LogOptions } from "../../src/controller/log.js";
import { scrubber } from "../../src/api/scrubber.js";

const env = {
  PULUMI_CONFIG_PASSPHRASE: 'correct "horse" battery',
  PULUMI_CONFIG_PASSPHRASE_FILE: "/run/secrets/passphrase",
  AWS_SECRET_ACCESS_KEY: "wJalrXUtnFEMI",
  DB_PASSWORD: "pw",
  HOME: "/home/capstan",
};

describe("scrubber", () => {
  const scrub = scrubber(env);
  const cases: readonly (readonly [string, string])[] = [
    ['it said correct "horse" battery', "it said [redacted]"],
    [JSON.stringify({ p: 'correct "horse" battery' }), '{"p":"[redacted]"}'],
    ["key wJalrXUtnFEMI!", "key [redacted]!"],
    ["/home/capstan/state", "/home/capstan/state"],
    ["reads /run/secrets/passphrase", "reads /run/secrets/passphrase"],
    ["pw is too short to blot out", "pw is too short to blot out"],
    ["postgres://capstan:s3cr3t@db:5432/x", "postgres://capstan:[redacted]@db:5432/x"],
    ["see https://example.com:8080/a", "see https://example.com:8080/a"],
    ["Authorization: Bearer abcdefgh1234", "Authorization: Bearer [redacted]"],
    ["kubeadm join --token abcdef.0123456789abcdef", "kubeadm join --token [redacted]"],
    ["-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- x", "[redacted] x"],
    ["-----BEGIN PRIVATE KEY-----\nMII", "[redacted]"],
    ["see eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln!", "see [redacted]!"],
    ["jwt-eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.", "jwt-[redacted]"],
    ["eyJhbGciOiJIUzI1NiJ9 is no token", "eyJhbGciOiJIUzI1NiJ9 is no token"],
    ["?user=a&password=abc&x=1", "?user=a&password=[redacted]&x=1"],
    ['{\\"password\\":\\"abc\\"}', '{\\"password\\":\\"[redacted]\\"}'],
    ["default/quickstart: pass 2 of 3", "default/quickstart: pass 2 of 3"],
  ];
  for (const [text, want] of cases) {
    it(`makes ${JSON.stringify(text)} ${want === text ? "stay" : want}`, () => {
      assert.equal(scrub(text), want);
    });
  }
});

describe("createLog", () => {
  let lines: string[];
  beforeEach(() => {
    lines = [];
  });

  function logOf(options: Partial<LogOptions> = {}): Log {
    return createLog({
      level: "info",
      redact: scrubber(env),
      write: (line) => lines.push(line),
      ...options,
    });
  }

  function parsed(): Record<string, unknown>[] {
    return lines.map((line) => {
      assert.ok(line.endsWith("\n") && line.indexOf("\n") === line.length - 1, "one line each");
      return JSON.parse(line) as Record<string, unknown>;
    });
  }

  it("writes one JSON object a line, with where it belongs", () => {
    const log = logOf().with({ cluster: "default/prod", stack: "default.prod" });
    log.with({ transaction: 7 }).info("pass ended", { pass: 2, hosts: 3 });
    const [line] = parsed();
    const { time, ...rest } = line ?? {};
    assert.deepEqual(rest, {
      level: "info",
      message: "pass ended",
      cluster: "default/prod",
      stack: "default.prod",
      transaction: 7,
      pass: 2,
      hosts: 3,
    });
    assert.ok(Math.abs(Date.parse(String(time)) - Date.now()) < 60_000);
  });

  it("leaves out what is below its level", () => {
    const log = logOf({ level: "warn" });
    log.debug("a");
    log.info("b");
    log.warn("c");
    log.error("d");
    assert.deepEqual(
      parsed().map(({ message }) => message),
      ["c", "d"],
    );
  });

  it("tells of an error what helps, and nothing that it carries besides", () => {
    const cause = Object.assign(new Error("pulumi ended with 1"), {
      env: { PULUMI_CONFIG_PASSPHRASE: "another one" },
      stdout: "everything",
    });
    const error = new CapstanError({
      code: "ENGINE_FAILED",
      source: "engine",
      message: "cannot run a pass",
      cause,
      hint: "see what Pulumi says",
    });
    logOf().error("pass failed", { cluster: "default/prod" }, error);
    const [line] = parsed();
    assert.deepEqual(line?.["error"], {
      code: "ENGINE_FAILED",
      source: "engine",
      retryable: false,
      hint: "see what Pulumi says",
      message: "cannot run a pass",
      cause: { type: "Error", message: "pulumi ended with 1" },
    });
  });

  it("does not follow causes for ever", () => {
    const error = new Error("a");
    error.cause = error;
    assert.ok(JSON.stringify(errorFields(error)).length < 500);
  });

  it("never lets a secret out, wherever it stands", () => {
    const log = logOf();
    const secret = env.PULUMI_CONFIG_PASSPHRASE;
    log.info(`passphrase is ${secret}`);
    log.with({ cluster: secret }).warn("x", { note: secret, list: [secret] }, new Error(secret));
    log.error(
      "x",
      {},
      new Error("y", { cause: new Error(`AWS said ${env.AWS_SECRET_ACCESS_KEY}`) }),
    );
    log.info("x", { password: "short" });
    assert.equal(parsed().length, 4);
    for (const line of lines) {
      for (const word of ["horse", "wJalr", "short"]) assert.ok(!line.includes(word), line);
    }
  });

  it("says on each line of a text when, how grave and about whom", () => {
    const log = logOf({ pretty: true }).with({ cluster: "default/prod" });
    log.warn("pass failed", {}, new Error("quota\nask for more"));
    assert.match(
      lines.join(""),
      /^(\d\d:\d\d:\d\d warn default\/prod )pass failed - quota\n\1 {2}ask for more\n$/,
    );
  });

  it("is text for people where it is asked for", () => {
    const log = logOf({ pretty: true }).with({ cluster: "default/prod" });
    log.info("pass ended", { pass: 2 });
    log.warn(
      "pass failed",
      {},
      new CapstanError({
        code: "LOCKED",
        source: "user",
        message: "cannot lock",
        hint: "wait",
      }),
    );
    assert.match(lines[0] ?? "", /^\d\d:\d\d:\d\d default\/prod pass ended pass=2\n$/);
    assert.match(
      lines[1] ?? "",
      /^\d\d:\d\d:\d\d warn default\/prod pass failed - cannot lock \(wait\)\n$/,
    );
  });
});
