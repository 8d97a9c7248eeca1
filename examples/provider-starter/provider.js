// Capstan's calls in the words of the cloud: docs/providers.md of the package capstan tells of each.

import { join } from "node:path";
import { CapstanError, defineProvider } from "capstan/provider";
import { CloudClient } from "./cloud.js";

const phases = { booting: "pending", running: "ready", stopped: "failed", deleted: "gone" };

/** Errors of the cloud that say that nothing has happened. Any other may have taken effect. */
const refusals = { 403: "PERMISSION", 409: "QUOTA", 429: "CLOUD_THROTTLED" };

async function asked(request) {
  try {
    return await request;
  } catch (error) {
    const code = refusals[error.status];
    if (code === undefined) throw error;
    const { message, status } = error;
    throw new CapstanError({ code, source: "cloud", message, retryable: status === 429 });
  }
}

/** What the cloud does not show, such as the kubelet, comes from a tag; what it does show, from the cloud. */
function observed({ id, tags, state, size, note, createdMs }) {
  const { spec, ...who } = tags;
  return {
    id,
    who,
    phase: phases[state],
    spec: { ...JSON.parse(spec), size, note },
    status: { providerId: `acme:///${id}` },
    createdAtMs: createdMs,
  };
}

const tagsOf = (who, spec) => ({ ...who, spec: JSON.stringify(spec) });

const presenceOf = (server) =>
  server === undefined ? { found: "none" } : { found: "one", resource: observed(server) };

export function providerOf(cloud) {
  async function everyPage(tags, signal) {
    const servers = [];
    for (let from = 0; from !== undefined;) {
      const page = await asked(cloud.list({ tags, from }, signal));
      servers.push(...page.servers);
      from = page.next;
    }
    return servers;
  }

  return defineProvider({
    name: "acme",
    apiVersion: "acme.example.dev/v1alpha1",
    machineSpec: {
      kind: "AcmeMachineProviderSpec",
      schema: {
        properties: {
          size: { enum: ["small", "large"], default: "small", description: "How large it is." },
          note: { type: "string", default: "", description: "Anything about the machine." },
        },
      },
    },
    keyInputs: ["size"],
    rules: { note: { kind: "inPlace" } },
    identity: async () => ({ account: cloud.account() }),
    machine: {
      async locate({ signal }, who, id) {
        if (id !== undefined) return presenceOf(await asked(cloud.get({ id }, signal)));
        const marked = await everyPage({ clusterUid: who.clusterUid, token: who.token }, signal);
        const alive = marked.filter(({ state }) => state !== "deleted");
        if (alive.length > 1) return { found: "many", ids: alive.map((server) => server.id) };
        return presenceOf(alive[0] ?? (await asked(cloud.get({ token: who.token }, signal))));
      },
      async create({ signal }, who, spec) {
        const { size, note } = spec;
        const wanted = { token: who.token, tags: tagsOf(who, spec), size, note };
        return observed(await asked(cloud.create(wanted, signal)));
      },
      async update({ signal }, { id, who }, spec) {
        const { note } = spec;
        return observed(await asked(cloud.update(id, { note, tags: tagsOf(who, spec) }, signal)));
      },
      async remove({ signal }, { id }) {
        await asked(cloud.delete(id, signal));
      },
      async list({ signal }, scope = {}) {
        return (await everyPage(scope, signal)).map(observed);
      },
    },
  });
}

export default ({ stateDir, clock }) =>
  providerOf(new CloudClient(join(stateDir, "acme-servers.json"), clock));
