import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { ConnectionOptions } from "node:tls";
import { omitUndefined } from "../../api/omit-undefined.js";
import type { PostgresSettings, SslMode } from "./postgres-settings.js";

/**
 * The password: of the URL, the environment, or the first fitting line of the password file, which counts only
 * while nobody else can read it. "" where there is none. Source:
 * https://github.com/lib/pq/blob/v1.12.3/internal/pgpass/pgpass.go.
 */
export async function passwordFor(settings: PostgresSettings): Promise<string> {
  const { password, home } = settings;
  if (password !== undefined) return password;
  const file = settings.passwordFile ?? (home === undefined ? undefined : join(home, ".pgpass"));
  if (file === undefined) return "";
  try {
    const { mode } = await stat(file);
    if ((mode & 0o077) !== 0) return "";
    return passwordIn(await readFile(file, "utf8"), settings) ?? "";
  } catch {
    return ""; // The server says that one is missing.
  }
}

function passwordIn(text: string, settings: PostgresSettings): string | undefined {
  const { host, port, database, user } = settings;
  const asked = [host, String(port), database, user];
  const lines = text.split(/\r?\n/).filter((line) => !line.startsWith("#"));
  return lines
    .map(fieldsOf)
    .filter(({ length }) => length === asked.length + 1)
    .find((fields) => asked.every((one, at) => fits(fields[at], one)))?.[asked.length];
}

function fits(field: string | undefined, asked: string): boolean {
  const isSocket = asked.startsWith("/");
  return field === "*" || field === asked || (isSocket && field === "localhost");
}

/** A backslash takes the next character as it is. */
function fieldsOf(line: string): string[] {
  const fields = [""];
  for (const [, character = "", separator] of line.matchAll(/\\(.)|([^])/g)) {
    if (separator === ":") fields.push("");
    else fields.push(`${fields.pop() ?? ""}${separator ?? character}`);
  }
  return fields;
}

/** One way to connect: TLS as Node takes it, or none. */
interface Attempt {
  readonly ssl: ConnectionOptions | false;
  /** Whether the next one is tried after this error. */
  readonly mayGoOn: (error: unknown) => boolean;
}

/**
 * The ways to connect in their order. Source: https://github.com/lib/pq/blob/v1.12.3/conn.go, open, and ssl.go.
 * `prefer` goes on only where no TLS came about: what the server answers through it counts.
 */
export async function attemptsFor(settings: PostgresSettings): Promise<readonly Attempt[]> {
  const never = () => false;
  const plain: Attempt = { ssl: false, mayGoOn: never };
  const { sslMode } = settings;
  switch (sslMode) {
    case "disable":
      return [plain];
    case "allow": {
      const safe = await tlsFor(settings, "require");
      return [
        { ssl: false, mayGoOn: () => true },
        { ssl: safe, mayGoOn: never },
      ];
    }
    case "prefer": {
      const safe = await tlsFor(settings, "require");
      return [{ ssl: safe, mayGoOn: (error) => !isFromServer(error) }, plain];
    }
    default:
      return [{ ssl: await tlsFor(settings, sslMode), mayGoOn: never }];
  }
}

/** Whether the server has said it, by the field that each of its errors has. */
function isFromServer(error: unknown): boolean {
  return typeof error === "object" && error !== null && "severity" in error;
}

async function tlsFor(settings: PostgresSettings, mode: SslMode): Promise<ConnectionOptions> {
  const { rootCert, home } = settings;
  const folder = home === undefined ? undefined : join(home, ".postgresql");
  const ca = await authorities(rootCert ?? (await existing(folder, "root.crt")), mode);
  const certFile = settings.cert ?? (await existing(folder, "postgresql.crt"));
  const keyFile = settings.key ?? (await existing(folder, "postgresql.key"));
  const own = omitUndefined<ConnectionOptions>({
    cert: certFile === undefined ? undefined : await readFile(certFile, "utf8"),
    key: certFile === undefined || keyFile === undefined ? undefined : await readFile(keyFile),
  });
  if (ca === undefined) return { ...own, rejectUnauthorized: false };
  if (mode === "verify-full") return { ...own, ca };
  return { ...own, ca, checkServerIdentity: () => undefined };
}

/**
 * Whom to believe about the server; undefined for anybody. With a file of authorities `require` checks as
 * `verify-ca` does; a named one that is not there it passes over.
 */
async function authorities(file: string | undefined, mode: SslMode): Promise<string[] | undefined> {
  if (file === undefined || file === "system") {
    if (mode === "require") return undefined;
    const { getCACertificates } = await import("node:tls");
    return [...getCACertificates("default"), ...getCACertificates("system")];
  }
  if (mode === "require" && !(await isThere(file))) return undefined;
  return [await readFile(file, "utf8")];
}

async function existing(folder: string | undefined, name: string): Promise<string | undefined> {
  if (folder === undefined) return undefined;
  const file = join(folder, name);
  return (await isThere(file)) ? file : undefined;
}

function isThere(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}
