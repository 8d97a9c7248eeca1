import { asVerbatim } from "../../api/leaving-text.js";
import { existsSync, readdirSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { stringify } from "yaml";
import { CapstanError, messageOf } from "../../api/error.js";
import { authorityFacts, serviceAccountHash } from "../../bootstrap/certificates/authorities.js";
import { keySecrets } from "../../bootstrap/certificates/secrets.js";
import type { HostFile } from "../../bootstrap/host/host-file.js";
import { controlPlaneKeyFiles, keyFolder } from "../../bootstrap/host/key-files.js";
import { numbersIn } from "../../api/key-stage.js";
import { trustedKeys } from "../../bootstrap/certificates/key-ring.js";
import { stageOf } from "../../records/recorded-keys.js";
import { clusterIn } from "../../records/target.js";
import { makeFile, makeFolder } from "../../engine/backend/durable-files.js";
import { accessTo, type ClusterAccess } from "./cluster-access.js";
import type { CommandContext, GlobalOptions } from "../context.js";
import { exitCodes } from "../exit.js";
import { table } from "../table.js";
import { durationText } from "../time-text.js";

/** capstan certificates show: a cluster's authorities, and until when they count. Nothing secret; reads the state alone. */
export async function certificatesShowCommand(
  named: string,
  options: GlobalOptions,
  context: CommandContext,
): Promise<number> {
  const { stack, cluster, keys, state } = await accessTo(
    named,
    "show the keys of",
    options,
    context,
  );
  const stage = stageOf(state.transaction?.target);
  const numbers = numbersIn(stage);
  const sets = trustedKeys(keys).map((one, index) => ({
    keys: numbers[index] ?? 1,
    authorities: authorityFacts(one),
    serviceAccount: serviceAccountHash(one),
  }));
  const { json, emit, terminal, clock } = context;
  const [signing, ...trusted] = sets;
  if (json) {
    emit({ type: "certificates", stack, cluster, stage, ...signing, alsoTrusted: trusted });
    return exitCodes.done;
  }
  const [first = "", ...others] = sets.map((one) => setText(one, clock.now(), terminal.columns));
  const also = others.map(
    (text, index) => `\nAlso trusted: keys ${trusted[index]?.keys ?? 0}\n\n${text}`,
  );
  terminal.write(`Cluster ${cluster}, keys ${stage}\n\n${[first, ...also].join("")}`);
  return exitCodes.done;
}

/** Keys of one number as people read them. */
function setText(
  {
    authorities,
    serviceAccount,
  }: {
    readonly authorities: ReturnType<typeof authorityFacts>;
    readonly serviceAccount: string;
  },
  nowMs: number,
  columns: number | undefined,
): string {
  const rows = authorities.map(({ name, signs, algorithm, expiresAtMs, hash }) => [
    name,
    algorithm,
    new Date(expiresAtMs).toISOString().slice(0, 10),
    leftText(expiresAtMs - nowMs),
    signs,
    hash,
  ]);
  const tokens = ["serviceAccount", "", "never", "", "tokens of service accounts", serviceAccount];
  const head = ["NAME", "KEY", "EXPIRES", "LEFT", "SIGNS", "PUBLIC KEY"];
  return table(head, [...rows, tokens], columns);
}

function leftText(ms: number): string {
  return ms <= 0 ? "expired" : durationText(ms);
}

export interface ExportOptions extends GlobalOptions {
  /** A new folder; absent with `secrets`. */
  readonly out?: string;
  readonly secrets?: boolean;
}

/**
 * capstan certificates export: all keys of a cluster for a backup, as files that kubeadm reads, or as Secrets in
 * Cluster API's layout on standard output.
 */
export async function certificatesExportCommand(
  named: string,
  options: ExportOptions,
  context: CommandContext,
): Promise<number> {
  const { out, secrets = false } = options;
  if (secrets === (out !== undefined)) throw notOneWay();
  const access = await accessTo(named, "export the keys of", options, context);
  if (out === undefined) return printSecrets(access, context);
  const written = writeKeys(out, controlPlaneKeyFiles(access.keys));
  const { json, emit, terminal } = context;
  if (json) emit({ type: "exportedCertificates", cluster: access.cluster, files: written });
  else terminal.write(`${out}: ${written.length} files with the keys of ${access.cluster}\n`);
  return exitCodes.done;
}

function printSecrets({ keys, state }: ClusterAccess, { terminal }: CommandContext): number {
  const { transaction } = state;
  if (transaction === undefined) throw new Error("keys are of a cluster");
  const { namespace, name } = clusterIn(transaction.target).metadata;
  const texts = keySecrets(keys, { namespace, name }).map((one) => stringify(one));
  terminal.document(asVerbatim(texts.join("---\n")));
  return exitCodes.done;
}

function notOneWay(): CapstanError {
  return new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    message: "where to? give either --out DIR or --secrets",
    hint: "--out writes files, --secrets prints objects for an API server",
  });
}

/** Returns the paths. Throws BAD_USAGE for a folder that holds something: keys are nothing to overwrite by mistake. */
function writeKeys(folder: string, files: readonly HostFile[]): string[] {
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    throw cannotWrite(folder, "it is not empty");
  }
  try {
    return files.map(({ path, mode, content }) => {
      const file = join(folder, relative(keyFolder, path));
      makeFolder(dirname(file));
      makeFile(file, content, Number.parseInt(mode, 8));
      return file;
    });
  } catch (error) {
    throw cannotWrite(folder, messageOf(error), error);
  }
}

function cannotWrite(folder: string, reason: string, cause?: unknown): CapstanError {
  return new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    subject: folder,
    message: `cannot export keys to ${folder}: ${reason}`,
    hint: "name a new folder with --out",
    cause,
  });
}
