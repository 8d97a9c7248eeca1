import { asVerbatim } from "../../api/leaving-text.js";
import { CapstanError } from "../../api/error.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { providerOf } from "../../api/served-versions.js";
import { clusterNameOf, isControlPlane, stackNameOf } from "../../api/types.js";
import {
  configurationPath,
  hostBootstrap,
  type HostBootstrap,
  type HostSettings,
  scriptPath,
} from "../../bootstrap/host/host-bootstrap.js";
import { type HostSecrets, maskedSecrets, roleWith } from "../../bootstrap/host/host-secrets.js";
import { hostSettings, untoldBy } from "../../bootstrap/host/machine-settings.js";
import { packedUserData, userDataOf } from "../../bootstrap/host/user-data.js";
import { machineToCompile } from "../../compile/compile.js";
import type { MachineToCompile, UserDataFormat, UserDataTerms } from "../../provider/port.js";
import { type CommandContext, type GlobalOptions, loadManifests, noticeTo } from "../context.js";
import { confirm } from "../confirm.js";
import { exitCodes } from "../exit.js";
import { type FoundMachine, machineNamed } from "../machine-named.js";
import { machinesOf } from "../machines-of.js";
import type { ManifestOptions } from "../manifest-options.js";
import { renderUpgrade } from "./render-upgrade.js";
import { accessTo } from "./cluster-access.js";

export interface RenderOptions extends GlobalOptions, ManifestOptions {
  /** Absent: what hosts of the provider read. */
  readonly format?: UserDataFormat | "kubeadm" | "script";
  /** Show the recorded keys of the cluster too. */
  readonly reveal?: boolean;
  /** The version of Kubernetes that a host runs: show what brings it to that of its manifest, in place. */
  readonly upgradeFrom?: string;
  readonly yes?: boolean;
}

/** Where API servers answer, nobody knows before the infrastructure stands. */
const unknownEndpoint = { host: "endpoint.invalid", port: 6443 };

/**
 * capstan render: what the host of one machine would be given, without its secrets. Looks at no state and no cloud,
 * unless it is to reveal the keys in the state.
 */
export async function renderCommand(
  name: string,
  options: RenderOptions,
  context: CommandContext,
): Promise<number> {
  const { clusters } = loadManifests(options, context);
  const found = machineNamed(name, clusters, context.providers.all);
  const machine = machineToCompile(providerIn(found, context), found.machine);
  const terms = termsOf(found, context);
  const secrets =
    options.reveal === true ? await revealedSecrets(found, options, context) : maskedSecrets();
  const members = membersOf(found, context);
  const settings = settingsOf(found, { terms, secrets, machine, members });
  const { upgradeFrom } = options;
  if (upgradeFrom !== undefined) return renderUpgrade(found, settings, upgradeFrom, context);
  const { bootstrap, text, format } = rendered(settings, options.format ?? terms.format);
  tellNotes(machine, context);
  if (!context.json) {
    context.terminal.document(asVerbatim(text));
    return exitCodes.done;
  }
  const { desired, kind } = found;
  const userData = userDataOf(bootstrap, terms.format);
  context.emitVerbatim(
    omitUndefined<Readonly<Record<string, unknown>>>({
      type: "render",
      cluster: clusterNameOf(desired.cluster),
      machine: machine.name,
      does: kind,
      format,
      text,
      files: bootstrap.files,
      bytes: Buffer.byteLength(userData),
      packedBytes: packedUserData(userData).byteLength,
      limit: terms.limit,
    }),
  );
  return exitCodes.done;
}

function membersOf(found: FoundMachine, context: CommandContext): MachineToCompile[] {
  const provider = providerIn(found, context);
  return machinesOf(found.desired, context.providers.all)
    .filter(({ spec }) => isControlPlane(spec))
    .map((member) => machineToCompile(provider, member));
}

function providerIn({ desired }: FoundMachine, { providers }: CommandContext) {
  return providerOf(desired.cluster, providers.all);
}

function termsOf(found: FoundMachine, context: CommandContext): UserDataTerms {
  const { name, userData } = providerIn(found, context);
  if (userData !== undefined) return userData;
  throw new CapstanError({
    code: "INVALID_INPUT",
    source: "user",
    message: `hosts of provider ${name} take no user data`,
    hint: "its provider makes nodes of them in its own way",
  });
}

/** The cluster's own keys, after somebody said that they may be shown. A token is made with a host, and by then another one. */
async function revealedSecrets(
  { desired: { cluster } }: FoundMachine,
  options: RenderOptions,
  context: CommandContext,
): Promise<HostSecrets> {
  const { keys } = await accessTo(stackNameOf(cluster), "reveal the keys of", options, context);
  const question = `Show the private keys of ${clusterNameOf(cluster)}?`;
  await confirm(question, options.yes === true, context);
  return { ...maskedSecrets(keys), keys };
}

function settingsOf(
  { desired, kind }: FoundMachine,
  {
    terms,
    secrets,
    machine,
    members,
  }: {
    readonly terms: UserDataTerms;
    readonly secrets: HostSecrets;
    readonly machine: MachineToCompile;
    readonly members: readonly MachineToCompile[];
  },
): HostSettings {
  return hostSettings({
    cluster: desired.cluster,
    machine,
    members,
    terms,
    endpoint: unknownEndpoint,
    role: roleWith(kind, secrets),
  });
}

function rendered(
  settings: HostSettings,
  format: NonNullable<RenderOptions["format"]>,
): { readonly bootstrap: HostBootstrap; readonly text: string; readonly format: string } {
  const bootstrap = hostBootstrap(settings);
  const contentOf = (path: string) =>
    bootstrap.files.find((file) => file.path === path)?.content ?? "";
  switch (format) {
    case "kubeadm":
      return { bootstrap, format, text: contentOf(configurationPath) };
    case "script":
      return { bootstrap, format, text: contentOf(scriptPath) };
    default:
      return { bootstrap, format, text: userDataOf(bootstrap, format) };
  }
}

function tellNotes(machine: MachineToCompile, context: CommandContext): void {
  const { host, port } = unknownEndpoint;
  const notice = noticeTo(context);
  notice(`${host}:${port} stands for the endpoint, which is known once the infrastructure stands`);
  for (const what of untoldBy(machine)) notice(`user data leaves out ${what}`);
}
