import { asVerbatim } from "../../api/leaving-text.js";
import { CapstanError } from "../../api/error.js";
import { clusterNameOf } from "../../api/types.js";
import type { HostSettings } from "../../bootstrap/host/host-bootstrap.js";
import type { BootstrapKind } from "../../bootstrap/host/member-role.js";
import { upgradeBundle, upgradeCommand } from "../../bootstrap/upgrade/upgrade-bundle.js";
import {
  type HostSetup,
  upgradeOf,
  type UpgradeRole,
} from "../../bootstrap/upgrade/upgrade-steps.js";
import { type CommandContext, noticeTo } from "../context.js";
import { exitCodes } from "../exit.js";
import type { FoundMachine } from "../machine-named.js";

const roles: Readonly<Record<BootstrapKind, UpgradeRole>> = {
  init: "firstMember",
  joinControlPlane: "member",
  joinWorker: "worker",
};

/**
 * Prints what changes a host in place that runs `version` of Kubernetes, and has everything else as its manifest
 * says. Throws UNSUPPORTED_CHANGE where it cannot be changed in place.
 */
export function renderUpgrade(
  { desired, machine, kind }: FoundMachine,
  to: HostSettings,
  version: string,
  context: CommandContext,
): number {
  const role = roles[kind];
  const from: HostSetup = {
    ...to,
    node: { ...to.node, kubernetesVersion: version, kubeletVersion: version },
  };
  const upgrade = upgradeOf(from, to, role);
  if (upgrade.kind === "refused") {
    throw new CapstanError({
      code: "UNSUPPORTED_CHANGE",
      source: "user",
      message: `cannot change the host of Machine ${machine.name} in place from ${version}: ${upgrade.reasons.join("; ")}`,
      hint: "capstan plan shows what becomes of it instead",
    });
  }
  const steps = upgrade.kind === "none" ? [] : upgrade.steps;
  const bundle = upgradeBundle(steps, to);
  const script = bundle.files.find(({ path }) => path === bundle.script)?.content ?? "";
  if (context.json) {
    const names = { cluster: clusterNameOf(desired.cluster), machine: machine.name };
    const command = upgradeCommand(bundle);
    const about = { type: "render", ...names, does: "upgrade", role, steps };
    context.emitVerbatim({ ...about, ...bundle, command });
  } else if (steps.length === 0) {
    noticeTo(context)(`the host of Machine ${machine.name} runs what its manifest says`);
  } else {
    context.terminal.document(asVerbatim(script));
  }
  return exitCodes.done;
}
