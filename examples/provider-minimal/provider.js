// A whole provider: its cloud is a folder, and each machine a file in it.

import fs from "node:fs";
import { join } from "node:path";
import { defineProvider } from "capstan/provider";

/** The cloud: one file for each machine that there ever was, so that no id is used twice. */
export class FolderCloud {
  constructor(folder) {
    this.folder = folder;
  }

  get(id) {
    const file = join(this.folder, `${id}.json`);
    return fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, "utf8")) : undefined;
  }

  put(machine) {
    fs.mkdirSync(this.folder, { recursive: true });
    const file = join(this.folder, `${machine.id}.json`);
    fs.writeFileSync(`${file}.new`, JSON.stringify(machine, null, 2));
    fs.renameSync(`${file}.new`, file);
    return machine;
  }

  list() {
    const files = fs.existsSync(this.folder) ? fs.readdirSync(this.folder) : [];
    return files.filter((file) => /\.json$/.test(file)).map((file) => this.get(file.slice(0, -5)));
  }
}

export function folderProvider(cloud) {
  // The token is the resource's own, for ever: whoever creates it again comes upon the same file.
  const idOf = (who) => `${who.name}.${who.token.slice(0, 8)}`;
  const cpus = { type: "integer", minimum: 1, default: 2, description: "Processors." };
  const note = { type: "string", default: "", description: "Anything about the machine." };
  return defineProvider({
    name: "folder",
    apiVersion: "folder.example.dev/v1alpha1",
    machineSpec: { kind: "FolderMachineProviderSpec", schema: { properties: { cpus, note } } },
    machine: {
      async locate(_ctx, who, id = idOf(who)) {
        const resource = cloud.get(id);
        return resource === undefined ? { found: "none" } : { found: "one", resource };
      },
      async create(_ctx, who, spec) {
        const id = idOf(who);
        return cloud.get(id) ?? cloud.put({ id, who, phase: "ready", spec, status: {} });
      },
      async remove(_ctx, current) {
        cloud.put({ ...current, phase: "gone" });
      },
      async list() {
        return cloud.list();
      },
    },
  });
}

export default ({ stateDir }) => folderProvider(new FolderCloud(join(stateDir, "machines")));
