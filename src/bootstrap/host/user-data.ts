import { gzipSync } from "node:zlib";
import { isJsonObject } from "../../api/json.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { filledTemplate } from "../../api/user-data-template.js";
import type { UserDataFormat } from "../../provider/port.js";
import type { HostBootstrap } from "./host-bootstrap.js";
import { shellArchive } from "./shell-archive.js";
import { yamlText } from "../kubeadm/yaml-text.js";

const ignitionVersion = "3.4.0";

/** User data that delivers a bootstrap, in the user's own template where there is one. Holds its secrets. Pure. */
export function userDataOf(bootstrap: HostBootstrap, format: UserDataFormat): string {
  const { files, script, template } = bootstrap;
  if (template !== undefined) {
    const archive = packedUserData(shellArchive(files, [`exec '${script}'`]));
    return filledTemplate(template, { bootstrapScript: archive.toString("base64") });
  }
  return format === "ignition" ? ignitionOf(bootstrap) : cloudConfigOf(bootstrap);
}

/** Why nobody on a host would read a text as user data of the format; undefined where it can be read. Pure. */
export function formatFault(text: string, format: UserDataFormat): string | undefined {
  if (format === "ignition") {
    return isJsonText(text) ? undefined : "Ignition reads JSON, and its template is none";
  }
  return /^(#|Content-Type:|MIME-Version:)/i.test(text)
    ? undefined
    : "cloud-init reads what begins with #, such as #cloud-config, and its template does not";
}

function isJsonText(text: string): boolean {
  try {
    return isJsonObject(JSON.parse(text));
  } catch {
    return false;
  }
}

/** Packed, as clouds that limit its size take it: base64 is the cloud's affair. Pure: no time, no name. */
export function packedUserData(text: string): Buffer {
  return gzipSync(text, { level: 9 });
}

function cloudConfigOf({ files, script }: HostBootstrap): string {
  const config = {
    write_files: files.map(({ path, mode, owner = "root:root", content }) => ({
      path,
      owner,
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
      files: files.map(({ path, mode, owner, content }) => ({
        path,
        mode: Number.parseInt(mode, 8),
        ...ignitionOwner(owner),
        overwrite: true,
        contents: { source: `data:;base64,${Buffer.from(content).toString("base64")}` },
      })),
    },
    systemd: { units: [{ name: "capstan-bootstrap.service", enabled: true, contents: unit }] },
  });
}

function ignitionOwner(owner: string | undefined): object {
  const [user, group] = owner?.split(":") ?? [];
  return omitUndefined({
    user: user === undefined ? undefined : { name: user },
    group: group === undefined ? undefined : { name: group },
  });
}
