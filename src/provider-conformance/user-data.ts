import { bootstrapFieldName } from "../api/host-additions.js";
import type { JsonObject } from "../api/json.js";
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
    const sources = [terms.software(machine), terms.software(machine)];
    must(sources[0] === sources[1], "say the same of one machine's software", sources.join(", "));
    const misfit = misfitOf(cluster, machine, terms);
    must(misfit === undefined, "take the user data of its own sample", misfit?.reason ?? "");
  }
}

async function secretsAreKept({ context }: Rig, store: SecretStore): Promise<void> {
  const name = "capstan-conformance";
  for (const content of ["first", "second"]) {
    await store.put(context, name, new TextEncoder().encode(content));
  }
  const command = store.fetchCommand(name);
  must(command.includes(name), "fetch a secret by its name", command);
  for (let times = 0; times < 2; times += 1) await store.delete(context, name);
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
