import { digestOf } from "../../api/digest.js";
import { runtimeFiles, patchFiles } from "../host/host-bootstrap.js";
import type { HostFile } from "../host/host-file.js";
import { shellArchive } from "../host/shell-archive.js";
import { upgradeScript, upgradeSentinel, waitingRuntimeFile } from "./upgrade-script.js";
import type { HostSetup, UpgradeStep } from "./upgrade-steps.js";

/** What changes a host in place, whatever delivers it. Holds no secret. */
export interface UpgradeBundle {
  readonly files: readonly HostFile[];
  /** Path of the script, which the unit runs. */
  readonly script: string;
  /** Of systemd: it goes on when whoever has started it is cut off, and after a boot. */
  readonly unit: string;
  /** Path of a file that holds `id` once all of it is done. */
  readonly sentinel: string;
  readonly id: string;
}

const unit = "capstan-upgrade.service";
const script = "/usr/local/sbin/capstan-upgrade";
const idDigits = 16;

/** Steps as files for a host that is to be `to`. Pure: the same give the same bytes. */
export function upgradeBundle(steps: readonly UpgradeStep[], to: HostSetup): UpgradeBundle {
  const isRuntimeNew = steps.some(({ kind }) => kind === "containerRuntime");
  const waiting = isRuntimeNew ? runtimeFiles(to) : [];
  const data = [
    ...patchFiles(to.node),
    ...waiting.map((file) => ({ ...file, path: waitingRuntimeFile })),
  ];
  const id = digestOf([steps, data], idDigits);
  const content = upgradeScript({ id, steps, to, unit });
  return {
    id,
    script,
    unit,
    sentinel: upgradeSentinel,
    files: [
      ...data,
      { path: script, mode: "0700", content },
      { path: `/etc/systemd/system/${unit}`, mode: "0644", content: unitText },
    ],
  };
}

/**
 * One script for sh that brings a bundle to its host and waits for its end, as a provider may run it there by ssh or
 * by an agent. Run again after it was cut off, it goes on where it was. Pure.
 */
export function upgradeCommand({ files }: UpgradeBundle): string {
  return shellArchive(files, [
    "systemctl daemon-reload",
    `systemctl enable ${unit}`,
    `systemctl start ${unit}`,
  ]);
}

const unitText = [
  "[Unit]",
  "Description=Changes this Kubernetes node in place",
  "Wants=network-online.target",
  "After=network-online.target containerd.service crio.service",
  "",
  "[Service]",
  "Type=oneshot",
  `ExecStart=${script}`,
  "",
  "[Install]",
  "WantedBy=multi-user.target",
  "",
].join("\n");
