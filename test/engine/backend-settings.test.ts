import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type BackendUrl,
  keyPrefixOf,
  parseBackendUrl,
} from "../../src/engine/backend/backend-url.js";
import { attemptsFor, passwordFor } from "../../src/engine/backend/postgres-access.js";
import {
  postgresSettings,
  type PostgresSettings,
} from "../../src/engine/backend/postgres-settings.js";
import { s3Settings, type S3Settings } from "../../src/engine/backend/s3-settings.js";
import { scratchFolder } from "../support/scratch.js";

function parsed(url: string): BackendUrl {
  const parts = parseBackendUrl(url);
  assert.ok(parts !== undefined, url);
  return parts;
}

describe("what stands before each key", () => {
  const cases: readonly { url: string; want: string }[] = [
    { url: "file:///state/a", want: "" },
    { url: "file:///state?prefix=b/", want: "b/" },
    { url: "postgres://owner:p%40ss@db:5432/states?sslmode=disable", want: "states/" },
    { url: "postgres://", want: "" },
    { url: "s3://bucket", want: "" },
    { url: "s3://bucket/?region=eu-north-1", want: "" },
    { url: "s3://bucket//team/./a%20b/?prefix=x-", want: "x-team/./a b/" },
    { url: "s3://bucket/team#part", want: "team/" },
  ];
  for (const { url, want } of cases) {
    it(`is ${JSON.stringify(want)} in ${url}`, () => assert.equal(keyPrefixOf(parsed(url)), want));
  }
});

function postgresOf(url: string, env: NodeJS.ProcessEnv = {}): PostgresSettings | undefined {
  return postgresSettings(parsed(url), { USER: "me", ...env });
}

describe("a PostgreSQL backend's settings", () => {
  const cases: readonly {
    name: string;
    url: string;
    env?: NodeJS.ProcessEnv;
    want: Partial<PostgresSettings>;
  }[] = [
    {
      name: "are those of the URL",
      url: "postgres://owner:p%40s:s@db.example.com:6543/states?sslmode=verify-full&table=mine",
      env: { PGHOST: "other", PGUSER: "other", PGPASSWORD: "other", PGSSLMODE: "disable" },
      want: {
        host: "db.example.com",
        port: 6543,
        user: "owner",
        password: "p@s:s",
        database: "states",
        sslMode: "verify-full",
        table: "mine",
      },
    },
    {
      name: "are those of the environment where the URL says nothing",
      url: "postgres://",
      env: { PGHOST: "db", PGPORT: "1", PGUSER: "u", PGPASSWORD: "p", PGDATABASE: "d" },
      want: { host: "db", port: 1, user: "u", password: "p", database: "d", sslMode: "require" },
    },
    {
      name: "have the library's defaults, which ask for TLS",
      url: "postgresql://[::1]",
      want: {
        host: "::1",
        port: 5432,
        user: "me",
        database: "me",
        table: "pulumi_state",
        sslMode: "require",
      },
    },
    {
      name: "need no TLS through a Unix socket",
      url: "postgres:///states?host=/run/postgresql&sslmode=require",
      want: { host: "/run/postgresql", database: "states", sslMode: "disable" },
    },
    {
      name: "check the server fully against the system's authorities",
      url: "postgres://db/states?sslrootcert=system",
      want: { rootCert: "system", sslMode: "verify-full" },
    },
    {
      name: "tell the server's own parameters to the session",
      url: "postgres://db/states?search_path=a, b&options=-c geqo%3Doff&connect_timeout=3",
      want: { options: "-c geqo=off -c search_path=a,\\ b", applicationName: "capstan" },
    },
  ];
  for (const { name, url, env, want } of cases) {
    it(name, () => {
      const found = postgresOf(url, env);
      assert.ok(found !== undefined);
      const names = Object.keys(want) as (keyof PostgresSettings)[];
      assert.deepEqual(Object.fromEntries(names.map((one) => [one, found[one]])), want);
    });
  }

  it("are left to Pulumi where the environment asks for more than we can", () => {
    assert.equal(postgresOf("postgres://db/x", { PGSERVICE: "state" }), undefined);
    assert.equal(postgresOf("postgres://db/x?sslrootcert=system&sslmode=require"), undefined);
    assert.ok(postgresOf("postgres://db/x", { PGSERVICE: "" }) !== undefined);
  });
});

describe("a PostgreSQL backend's password", () => {
  const scratch = scratchFolder();
  const file = (text: string, mode = 0o600): string => {
    const path = join(scratch.path, "pgpass");
    writeFileSync(path, text, { mode });
    return path;
  };
  const ask = (url: string, env: NodeJS.ProcessEnv): Promise<string> => {
    const settings = postgresOf(url, env);
    assert.ok(settings !== undefined);
    return passwordFor(settings);
  };
  const lines =
    "# db:5432:states:owner:no\ndb:1:*:*:no\ndb:*:states:owner:a\\:b\\\\c\n*:*:*:*:any\n";

  it("is that of the first line that fits", async () => {
    const PGPASSFILE = file(lines);
    assert.equal(await ask("postgres://owner@db/states", { PGPASSFILE }), "a:b\\c");
    assert.equal(await ask("postgres://owner@db/other", { PGPASSFILE }), "any");
    assert.equal(await ask(`postgres://owner@db/x?passfile=${PGPASSFILE}`, {}), "any");
  });

  it("is not looked for where one is given", async () => {
    const env = { PGPASSFILE: file(lines), PGPASSWORD: "given" };
    assert.equal(await ask("postgres://owner@db/states", env), "given");
    assert.equal(await ask("postgres://owner:named@db/states", env), "named");
  });

  it("is none where its file is missing or open to others", async () => {
    assert.equal(await ask("postgres://owner@db/x", { HOME: scratch.path }), "");
    assert.equal(await ask("postgres://owner@db/x", { PGPASSFILE: file(lines, 0o644) }), "");
  });
});

describe("the ways to a PostgreSQL server", () => {
  const scratch = scratchFolder();
  const fromServer = Object.assign(new Error("no such user"), { severity: "FATAL" });
  const noTls = new Error("The server does not support SSL connections");

  /** Each way in short, and whether it is given up for the next one. */
  const waysOf = async (query: string): Promise<string[]> => {
    const settings = postgresOf(`postgres://db/x?${query}`, { HOME: scratch.path });
    assert.ok(settings !== undefined);
    const attempts = await attemptsFor(settings);
    return attempts.map(({ ssl, mayGoOn }) => {
      const next = `${mayGoOn(noTls) ? " else" : ""}${mayGoOn(fromServer) ? " always" : ""}`;
      if (ssl === false) return `plain${next}`;
      if (ssl.rejectUnauthorized === false) return `unchecked${next}`;
      return `${ssl.checkServerIdentity === undefined ? "full" : "issuer"}${next}`;
    });
  };
  const cases: readonly { query: string; want: string[] }[] = [
    { query: "sslmode=disable", want: ["plain"] },
    { query: "sslmode=allow", want: ["plain else always", "unchecked"] },
    { query: "sslmode=prefer", want: ["unchecked else", "plain"] },
    { query: "sslmode=require", want: ["unchecked"] },
    { query: "sslmode=require&sslrootcert=/nowhere", want: ["unchecked"] },
    { query: "sslmode=verify-ca", want: ["issuer"] },
    { query: "sslmode=verify-full", want: ["full"] },
  ];
  for (const { query, want } of cases) {
    it(`are as in libpq: ${query}`, async () => assert.deepEqual(await waysOf(query), want));
  }

  it("are checked against authorities that are there, even unasked", async () => {
    const rootCert = join(scratch.path, "root.crt");
    writeFileSync(rootCert, "a certificate");
    assert.deepEqual(await waysOf(`sslmode=require&sslrootcert=${rootCert}`), ["issuer"]);
  });

  it("are none without the authorities that are to be checked against", async () => {
    await assert.rejects(waysOf("sslmode=verify-full&sslrootcert=/nowhere"), /ENOENT/);
  });
});

describe("an S3 backend's settings", () => {
  const aws: S3Settings = {
    bucket: "bucket",
    region: undefined,
    profile: undefined,
    keys: undefined,
    endpoint: undefined,
    isPathStyle: false,
    isAccelerated: false,
    isDualStack: false,
    isFips: false,
    fewChecksums: {},
    encryption: undefined,
    kmsKeyId: undefined,
  };
  const keys = { accessKeyId: "id", secretAccessKey: "secret" };
  const keyEnv = { AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "secret" };
  const cases: readonly {
    name: string;
    url: string;
    env?: NodeJS.ProcessEnv;
    want: Partial<S3Settings>;
  }[] = [
    { name: "of AWS are found by the SDK", url: "s3://bucket", want: {} },
    {
      name: "are those of the environment where the URL says nothing",
      url: "s3://bucket/team",
      env: { ...keyEnv, AWS_DEFAULT_REGION: "eu-north-1" },
      want: { region: "eu-north-1", keys },
    },
    {
      name: "take credentials of a profile that is named, whatever the environment has",
      url: "s3://bucket?region=eu-west-1&profile=state&awssdk=v2",
      env: { ...keyEnv, AWS_REGION: "eu-north-1" },
      want: { region: "eu-west-1", profile: "state" },
    },
    {
      name: "are understood as older URLs spell them",
      url: "s3://bucket?endpoint=minio:9000&disableSSL=true&s3ForcePathStyle=true",
      want: {
        endpoint: "http://minio:9000",
        isPathStyle: true,
        fewChecksums: { ofRequests: true },
      },
    },
    {
      name: "are understood as newer URLs spell them",
      url: "s3://bucket?endpoint=https://minio&use_path_style=1&request_checksum_calculation=when_supported&response_checksum_validation=when_required",
      want: {
        endpoint: "https://minio",
        isPathStyle: true,
        fewChecksums: { ofRequests: false, ofResponses: true },
      },
    },
    {
      name: "take TLS for a server that is named without it",
      url: "s3://bucket?endpoint=minio&hostname_immutable=true",
      env: { AWS_REQUEST_CHECKSUM_CALCULATION: "when_supported" },
      want: { endpoint: "https://minio", isPathStyle: true, fewChecksums: { ofRequests: false } },
    },
    {
      name: "say how the server encrypts",
      url: "s3://bucket?ssetype=aws:kms&kmskeyid=key&accelerate=true&dualstack=true&fips=true",
      want: {
        encryption: "aws:kms",
        kmsKeyId: "key",
        isAccelerated: true,
        isDualStack: true,
        isFips: true,
      },
    },
  ];
  for (const { name, url, env = {}, want } of cases) {
    it(name, () => assert.deepEqual(s3Settings(parsed(url), env), { ...aws, ...want }));
  }
});
