import { gzipSync } from "node:zlib";
import type { UserDataFormat } from "../../provider/port.js";
import type { HostBootstrap } from "./host-bootstrap.js";
import { yamlText } from "./yaml-text.js";

const ignitionVersion = "3.4.0";

/** User data that delivers a bootstrap. Holds its secrets. Pure. */
export function userDataOf(bootstrap: HostBootstrap, format: UserDataFormat): string {
  return format === "ignition" ? ignitionOf(bootstrap) : cloudConfigOf(bootstrap);
}

/** Packed, as clouds that limit its size take it: base64 is the cloud's affair. Pure: no time, no name. */
export function packedUserData(text: string): Buffer {
  return gzipSync(text, { level: 9 });
}

function cloudConfigOf({ files, script }: HostBootstrap): string {
  const config = {
    write_files: files.map(({ path, mode, content }) => ({
      path,
      owner: "root:root",
      permissions: mode,
      content,
    })),
    runcmd: [[script]],
  };
  return `#cloud-config\n${yamlText(config)}`;
}

function ignitionOf({ files, script }: HostBootstrap): string {
  const unit = [
    "[Unit]",
    "Description=Makes a Kubernetes node of this host",
    "Wants=network-online.target",
    "After=network-online.target",
    "",
    "[Service]",
    "Type=oneshot",
    `ExecStart=${script}`,
    "RemainAfterExit=yes",
    "",
    "[Install]",
    "WantedBy=multi-user.target",
    "",
  ].join("\n");
  return JSON.stringify({
    ignition: { version: ignitionVersion },
    storage: {
      files: files.map(({ path, mode, content }) => ({
        path,
        mode: Number.parseInt(mode, 8),
        overwrite: true,
        contents: { source: `data:;base64,${Buffer.from(content).toString("base64")}` },
      })),
    },
    systemd: { units: [{ name: "capstan-bootstrap.service", enabled: true, contents: unit }] },
  });
}
