/** Where a workspace keeps its stacks, as far as an engine's environment depends on it. */
interface EngineSurroundings {
  /** Whether the backend is that of the state folder: its engines reach no other machine. */
  readonly isOwnBackend: boolean;
}

/**
 * What of a command's environment its engines get: variables of the system, of the network and of Pulumi, and for a backend
 * that is no state folder also those of clouds, PostgreSQL and Vault, which the backend and its secrets provider read. A variable
 * of the user's that none of these reads, such as GITHUB_TOKEN, stays with the command. Pure.
 */
export function engineEnvironment(
  env: NodeJS.ProcessEnv,
  { isOwnBackend }: EngineSurroundings,
): NodeJS.ProcessEnv {
  const wanted = isOwnBackend ? local : [...local, ...remote];
  const isWanted = (name: string) =>
    wanted.some((pattern) => pattern.test(name)) && !(isOwnBackend && name === accessToken);
  return Object.fromEntries(Object.entries(env).filter(([name]) => isWanted(name)));
}

/** Of Pulumi's own service, which a state folder never asks. */
const accessToken = "PULUMI_ACCESS_TOKEN";

const local: readonly RegExp[] = [
  /^(PATH|HOME|USER|LOGNAME|TMPDIR|TEMP|TMP|TZ|LANG|LANGUAGE|LC_[A-Z]+)$/,
  /^XDG_(CACHE|CONFIG|DATA|RUNTIME|STATE)_(HOME|DIR)$/,
  /^(HTTP|HTTPS|ALL|NO)_PROXY$/i,
  /^SSL_CERT_(FILE|DIR)$/,
  /^GO(GC|MEMLIMIT|MAXPROCS|DEBUG|TRACEBACK)$/,
  /^(DY)?LD_LIBRARY_PATH$/,
  /^PULUMI_/,
];

const remote: readonly RegExp[] = [
  /^AWS_/,
  /^(GOOGLE|CLOUDSDK|GCLOUD|GCE)_/,
  // Of managed identities, too.
  /^(AZURE|ARM|MSI|IDENTITY)_/,
  /^PG[A-Z]+$/,
  /^VAULT_/,
];
