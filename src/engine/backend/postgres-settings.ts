import { userInfo } from "node:os";
import { type BackendUrl, decodedPart, parametersOf } from "./backend-url.js";

/** How much a connection is protected. Source: https://www.postgresql.org/docs/current/libpq-ssl.html. */
export type SslMode = "disable" | "allow" | "prefer" | "require" | "verify-ca" | "verify-full";

/** Where a PostgreSQL backend is and who asks, as Pulumi's library finds it out. */
export interface PostgresSettings {
  /** A name, an address, or the folder of a Unix socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  /** Undefined where it may be in the password file. */
  readonly password: string | undefined;
  readonly passwordFile: string | undefined;
  readonly applicationName: string;
  /** What the server is told to set for the session, as its command line would be. */
  readonly options: string | undefined;
  readonly table: string;
  readonly sslMode: SslMode;
  /** PEM files by what they are for; "system" as rootCert for the system's own. */
  readonly rootCert: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
  /** Where the library looks for files that nobody has named. */
  readonly home: string | undefined;
}

/**
 * What a URL and the environment say; the URL counts. Undefined for what only Pulumi's library can do (several
 * hosts, services, Kerberos) or refuses. Source: https://github.com/lib/pq/blob/v1.12.3/connector.go;
 * https://github.com/pulumi/pulumi/blob/v3.259.0/pkg/backend/diy/postgres/bucket.go.
 */
export function postgresSettings(
  url: BackendUrl,
  env: NodeJS.ProcessEnv,
): PostgresSettings | undefined {
  const parameters = parametersOf(url);
  const place = placeIn(url);
  if (place === undefined || isBeyondUs(parameters, env)) return undefined;
  const given = (name: string, variable: string, written?: string): string | undefined =>
    parameters.get(name) ?? orNone(written) ?? orNone(env[variable]);
  const rootCert = given("sslrootcert", "PGSSLROOTCERT");
  const host = given("host", "PGHOST", place.host) ?? "localhost";
  const port = Number(given("port", "PGPORT", place.port) ?? "5432");
  const user = given("user", "PGUSER", place.user) ?? accountIn(env);
  const sslMode = sslModeOf(given("sslmode", "PGSSLMODE"), { host, rootCert });
  const table = parameters.get("table") ?? "pulumi_state";
  // The name stands in statements as it is, and an index is called after it.
  const isUsable = isOneHost(host) && isPort(port) && /^[\p{L}_][\p{L}\p{N}_$]*$/u.test(table);
  if (!isUsable || sslMode === undefined) return undefined;
  return {
    host,
    port,
    user,
    database: given("dbname", "PGDATABASE", place.database) ?? user,
    password: given("password", "PGPASSWORD", place.password),
    passwordFile: given("passfile", "PGPASSFILE"),
    applicationName:
      given("application_name", "PGAPPNAME") ??
      parameters.get("fallback_application_name") ??
      "capstan",
    options: sessionOptions(given("options", "PGOPTIONS"), parameters),
    table,
    sslMode,
    rootCert,
    cert: given("sslcert", "PGSSLCERT"),
    key: given("sslkey", "PGSSLKEY"),
    home: orNone(env["HOME"]),
  };
}

/** Whose process this is; "" for an account without a name, which the server then refuses. */
function accountIn(env: NodeJS.ProcessEnv): string {
  const named = orNone(env["USER"]);
  if (named !== undefined) return named;
  try {
    return userInfo().username;
  } catch {
    return "";
  }
}

/** What stands in a URL before its parameters; empty where it says nothing. */
interface UrlPlace {
  readonly user: string;
  readonly password: string;
  readonly host: string;
  readonly port: string;
  readonly database: string;
}

function placeIn({ authority, path }: BackendUrl): UrlPlace | undefined {
  const parts = /^(?:([^:]*)(?::(.*))?@)?(\[[^\]@]*\]|[^:@]*)(?::(\d*))?$/.exec(authority);
  if (parts === null) return undefined;
  const [user, password, host] = [parts[1], parts[2], parts[3]].map((part = "") =>
    decodedPart(part),
  );
  if (user === undefined || password === undefined || host === undefined) return undefined;
  return {
    user,
    password,
    host: host.replace(/^\[(.*)\]$/, "$1"),
    port: parts[4] ?? "",
    database: path.slice(1),
  };
}

/** Parameters that this client has no counterpart for, with their variables, if they have one. */
const beyondUs: Readonly<Record<string, string | undefined>> = {
  hostaddr: "PGHOSTADDR",
  krbspn: undefined,
  krbsrvname: "PGKRBSRVNAME",
  max_protocol_version: "PGMAXPROTOCOLVERSION",
  min_protocol_version: "PGMINPROTOCOLVERSION",
  service: "PGSERVICE",
  ssl_max_protocol_version: "SSLPGMAXPROTOCOLVERSION",
  ssl_min_protocol_version: "SSLPGMINPROTOCOLVERSION",
  sslinline: undefined,
  sslnegotiation: "PGSSLNEGOTIATION",
  target_session_attrs: "PGTARGETSESSIONATTRS",
};

function isBeyondUs(parameters: ReadonlyMap<string, string>, env: NodeJS.ProcessEnv): boolean {
  return Object.entries(beyondUs).some(
    ([name, variable]) =>
      parameters.has(name) || (variable !== undefined && orNone(env[variable]) !== undefined),
  );
}

function isOneHost(host: string): boolean {
  return !host.includes(",") && !host.startsWith("@");
}

function isPort(port: number): boolean {
  return Number.isInteger(port) && port > 0 && port < 65_536;
}

const sslModes: readonly SslMode[] = ["disable", "allow", "prefer", "require"];
const checkingModes: readonly SslMode[] = ["verify-ca", "verify-full"];

/** Without a word it is `require`, unlike in libpq. A Unix socket has no use for any. */
function sslModeOf(
  said: string | undefined,
  { host, rootCert }: { readonly host: string; readonly rootCert: string | undefined },
): SslMode | undefined {
  const mode = said ?? (rootCert === "system" ? "verify-full" : "require");
  const known = [...sslModes, ...checkingModes].find((one) => one === mode);
  if (rootCert === "system" && known !== "verify-full") return undefined;
  return known !== undefined && host.startsWith("/") ? "disable" : known;
}

/** Parameters that are for the client, not for the session. */
const ofTheClient: ReadonlySet<string> = new Set(
  ["application_name", "binary_parameters", "client_encoding", "connect_timeout", "datestyle"]
    .concat(["dbname", "disable_prepared_binary_result", "fallback_application_name", "host"])
    .concat(["load_balance_hosts", "options", "passfile", "password", "port", "prefix"])
    .concat(["sslcert", "sslkey", "sslmode", "sslrootcert", "sslsni", "table", "user"]),
);

/** Any other parameter is one of the server's, e.g. `search_path`, which says where the table is. */
function sessionOptions(
  given: string | undefined,
  parameters: ReadonlyMap<string, string>,
): string | undefined {
  const settings = [...parameters]
    .filter(([name]) => !ofTheClient.has(name))
    .map(([name, value]) => `-c ${name}=${value.replace(/[\\\s]/g, "\\$&")}`);
  const options = [...(given === undefined ? [] : [given]), ...settings];
  return options.length === 0 ? undefined : options.join(" ");
}

function orNone(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
