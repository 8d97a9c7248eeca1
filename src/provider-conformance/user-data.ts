import { bootstrapFieldName } from "../api/host-additions.js";
import { type JsonObject, sameJson } from "../api/json.js";
import { kubeadmFieldName } from "../api/kubeadm-patch.js";
import { providerValue } from "../api/types.js";
import { missingUserDataFields, userDataFieldNames } from "../api/user-data-fields.js";
import { misfitOf } from "../bootstrap/host/fitting.js";
import type { MachineToCompile, SecretStore, UserDataTerms } from "../provider/port.js";
import type { Rig } from "./rig.js";
import { offered, must } from "./subject.js";

/** "says what its hosts take at their first start, or nothing" */
export async function userDataTerms(rig: Rig): Promise<void> {
  const { userData, machineSpec } = rig.provider;
  offered(userData !== undefined, "its hosts take no user data");
  const missing = missingUserDataFields(machineSpec.schema);
  const fields = userDataFieldNames.join(" and ");
  must(
    missing.length === 0,
    `have the fields ${fields} in its machineSpec (userDataFields)`,
    `it has no ${missing.join(" and no ")}`,
  );
  settingsNeedNewHost(rig);
  commandsAreLines(userData);
  sampleFits(rig, userData);
  if (userData.secrets !== undefined) await secretsAreKept(rig, userData.secrets);
  await secretsStayOut(rig);
}

function settingsNeedNewHost(rig: Rig): void {
  const { provider } = rig;
  const { cluster } = rig.desired({});
  const settings: Readonly<Record<string, JsonObject>> = {
    [kubeadmFieldName]: { nodeRegistration: { kubeletExtraArgs: { v: "4" } } },
    [bootstrapFieldName]: { preKubeadmCommands: ["true"] },
  };
  const hostOf = (machine: MachineToCompile) =>
    provider.compile(cluster, providerValue(cluster.spec), [machine]).hosts.get(machine.name) ?? {};
  const machine = rig.sampleMachine();
  const { providerSpec } = machine;
  for (const [field, value] of Object.entries(settings)) {
    const changed = { ...machine, providerSpec: { ...providerSpec, [field]: value } };
    const { kind } = provider.verdict(provider.hostKind, hostOf(machine), hostOf(changed));
    must(kind === "replace", `make a new host for a change of ${field}`, kind);
  }
}

function commandsAreLines({ commands }: UserDataTerms): void {
  for (const [what, command] of Object.entries(commands) as [string, string][]) {
    const isLine = command.trim() !== "" && !command.includes("\n");
    must(isLine, `print the ${what} of a host by a command of one line`, JSON.stringify(command));
  }
}

function sampleFits(rig: Rig, terms: UserDataTerms): void {
  const { cluster } = rig.desired({});
  const worker = rig.sampleMachine();
  const { versions } = worker.spec;
  const member: MachineToCompile = {
    ...worker,
    controlPlane: true,
    spec: { ...worker.spec, versions: { ...versions, controlPlane: versions.kubelet } },
  };
  for (const machine of [worker, member]) {
    const clusterSpec = providerValue(cluster.spec);
    const sources = [0, 1].map(() => terms.software(machine, clusterSpec));
    must(sources[0] === sources[1], "say the same of one machine's software", sources.join(", "));
    const misfit = misfitOf(cluster, machine, terms);
    must(misfit === undefined, "take the user data of its own sample", misfit?.reason ?? "");
  }
}

async function secretsAreKept(rig: Rig, store: SecretStore): Promise<void> {
  const { context, provider } = rig;
  const who = {
    cluster: "default/conformance",
    clusterUid: "conformance",
    kind: provider.hostKind,
    name: "web",
    token: "0".repeat(32),
  };
  const name = "capstan-conformance";
  const seen = async () => (await store.kept?.(context))?.filter((one) => one.name === name);
  for (const content of ["first", "second"]) {
    const bytes = new TextEncoder().encode(content);
    await store.put(context, name, bytes, { who, controlPlane: false });
  }
  const command = store.fetchCommand(name);
  must(command.includes(name), "fetch a secret by its name", command);
  if (store.kept !== undefined) {
    const [one, ...others] = (await seen()) ?? [];
    const is = one !== undefined && others.length === 0 && sameJson(one.who, who);
    must(is, "list what it keeps with the host that it is for", JSON.stringify(one ?? "nothing"));
    const other = { ...who, clusterUid: `other than ${who.clusterUid}` };
    const isRefused = await store.delete(context, name, other).then(
      () => false,
      () => true,
    );
    must(isRefused, "refuse to delete what it keeps for another host", "it was deleted");
  }
  for (let times = 0; times < 2; times += 1) await store.delete(context, name, who);
  const left = (await seen()) ?? [];
  must(left.length === 0, "list nothing that it has deleted", JSON.stringify(left));
}

/** What a host is given is a secret, and everything observed is recorded. */
async function secretsStayOut(rig: Rig): Promise<void> {
  const inputs = await rig.prepare();
  const made = await rig.resource().create(inputs);
  const { text, packed } = await rig.context.userData();
  const recorded = JSON.stringify(made.outs);
  const encoded = [text, packed].map((content) => Buffer.from(content).toString("base64"));
  const found = [text, JSON.stringify(text).slice(1, -1), ...encoded].find((one) =>
    recorded.includes(one),
  );
  must(found === undefined, "leave user data out of spec and status", "it is there");
}
