import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** What the cloud of the provider below makes up by itself. */
export const madeByCloud = {
  storeKey: "made-by-cloud-store-key-77b1",
  adminToken: "made-by-cloud-admin-token-42c9",
} as const;

/**
 * A provider whose cloud is a folder beside the state, and talks: each of its errors repeats what it was given. Its Stores answer
 * with a key, which hosts take, and hosts with a token.
 */
const source = String.raw`
import fs from "node:fs";
import { join } from "node:path";
import { CapstanError, defineProvider, refTo } from "capstan/provider";

export default ({ env }) => {
  const folder = env.VAULT_CLOUD;
  const idOf = (who) => who.name + "." + who.token.slice(0, 8);
  const fileOf = (id) => join(folder, id + ".json");
  const get = (id) =>
    fs.existsSync(fileOf(id)) ? JSON.parse(fs.readFileSync(fileOf(id), "utf8")) : undefined;
  const put = (one) => {
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(fileOf(one.id), JSON.stringify(one));
    return one;
  };
  const all = () =>
    (fs.existsSync(folder) ? fs.readdirSync(folder) : [])
      .filter((name) => name.endsWith(".json"))
      .map((name) => get(name.slice(0, -5)));
  const complain = (spec) =>
    new CapstanError({
      code: "PERMISSION",
      source: "cloud",
      message: "the cloud does not take " + spec.password + " and " + JSON.stringify(spec),
      hint: "ask for more at vault://admin:" + spec.password + "@host",
    });
  const callsOf = (kind, statusOf) => ({
    async locate(_ctx, who, id = idOf(who)) {
      const resource = get(id);
      return resource === undefined ? { found: "none" } : { found: "one", resource };
    },
    async create(_ctx, who, spec) {
      const id = idOf(who);
      if (spec.note === "refused") throw complain(spec);
      while (spec.note === "hangs") await new Promise((resolve) => setTimeout(resolve, 100));
      return get(id) ?? put({ id, who, phase: "ready", spec, status: statusOf(id) });
    },
    async update(_ctx, current, spec) {
      if (spec.note === "refused") throw complain(spec);
      const failure = { reason: "broken by " + JSON.stringify(spec) };
      const phase = spec.note === "breaks" ? { phase: "failed", failure } : { phase: "ready" };
      return put({ ...current, ...phase, spec });
    },
    async remove(_ctx, current) {
      put({ ...current, phase: "gone" });
    },
    async list() {
      return all().filter(({ who }) => who.kind === kind);
    },
  });
  const text = (description) => ({ type: "string", description });
  return defineProvider({
    name: "vault",
    apiVersion: "vault.example.dev/v1alpha1",
    machineSpec: {
      kind: "VaultMachineProviderSpec",
      schema: {
        properties: {
          password: { ...text("Of the first user."), writeOnly: true },
          note: { ...text("Anything."), default: "" },
        },
      },
    },
    kinds: {
      VaultStore: {
        calls: {
          ...callsOf("VaultStore", () => ({ key: "STORE_KEY", address: "store.example" })),
          secretOutputs: ["key"],
        },
      },
    },
    infrastructure: () => [{ kind: "VaultStore", name: "store", spec: { size: "small" } }],
    rules: {
      note: { kind: "inPlace" },
      password: { kind: "inPlace" },
      nodeAnnotations: { kind: "inPlace" },
    },
    keyInputs: ["password", "note"],
    hostSpec: (machine) => ({
      role: machine.controlPlane ? "controlPlane" : "worker",
      kubelet: machine.spec.versions.kubelet,
      password: machine.providerSpec.password,
      note: machine.providerSpec.note,
      storeKey: refTo("VaultStore", "store", "key"),
      nodeAnnotations: machine.spec.metadata?.annotations ?? {},
      ...(machine.providerSpec.bootstrap && { bootstrap: machine.providerSpec.bootstrap }),
    }),
    machine: {
      ...callsOf("VaultHost", (id) => ({ adminToken: "ADMIN_TOKEN", address: id })),
      secretOutputs: ["adminToken"],
    },
    userData: {
      simulated: true,
      format: "cloud-config",
      software: () => "image",
      containerRuntime: { name: "containerd", version: "2.1.5" },
      commands: { name: "hostname", address: "hostname -I" },
    },
  });
};
`
  .replace("STORE_KEY", madeByCloud.storeKey)
  .replace("ADMIN_TOKEN", madeByCloud.adminToken);

/** Writes the module there; the environment in which commands find it and its cloud. */
export function writeVaultProvider(folder: string): Readonly<Record<string, string>> {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "vault.mjs"), source);
  return {
    CAPSTAN_PROVIDERS: join(folder, "vault.mjs"),
    VAULT_CLOUD: join(folder, "cloud"),
  };
}
