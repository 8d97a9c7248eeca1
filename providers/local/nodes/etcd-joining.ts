import { HttpsClient } from "./https-client.js";
import { etcdCredentialsIn } from "./member-keys.js";
import { clientUrlOf, type EtcdStart, type MemberSetup, peerUrlOf } from "./member-programs.js";

/** A member as etcd's JSON gateway lists it. */
interface Member {
  readonly ID: string;
  readonly name?: string;
  readonly peerURLs?: readonly string[];
  readonly isLearner?: boolean;
}

interface MemberList {
  readonly members?: readonly Member[];
}

interface PodList {
  readonly items: readonly {
    readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  }[];
}

/** Where a member's pod says how to reach it. Source: kubeadm's static pod of etcd. */
export const clientUrlAnnotation = "kubeadm.kubernetes.io/etcd.advertise-client-urls";

/**
 * How the etcd of a host begins. One that joins is added as a learner, which counts for no majority until it has caught up, and
 * is found again where that was done already. Throws an Error while the others do not answer.
 * Source: https://etcd.io/docs/v3.6/op-guide/runtime-configuration/
 */
export async function etcdStartOf(
  setup: MemberSetup,
  api: HttpsClient | undefined,
): Promise<EtcdStart> {
  const own = `${setup.node}=${peerUrlOf(setup.ports)}`;
  if (api === undefined) return { state: "new", members: own };
  return besideOwn(setup, api, async (etcd) => {
    const { members = [] } = await etcd.post<MemberList>("/v3/cluster/member/list", {});
    const known = members.some((one) => isOf(one, setup));
    const { members: all = [] } = known
      ? { members }
      : await etcd.post<MemberList>("/v3/cluster/member/add", {
          peerURLs: [peerUrlOf(setup.ports)],
          isLearner: true,
        });
    // One that was added and has never run has no name yet.
    const texts = all.flatMap((one) => {
      const name = isOf(one, setup) ? setup.node : one.name;
      return name ? (one.peerURLs ?? []).map((url) => `${name}=${url}`) : [];
    });
    return { state: "existing", members: texts.join(",") };
  });
}

/** Makes a learner that has caught up a member that counts. Until then it answers no API server. Throws an Error until it has. */
export async function promoteEtcd(setup: MemberSetup, api: HttpsClient): Promise<void> {
  await besideOwn(setup, api, async (etcd) => {
    const { members = [] } = await etcd.post<MemberList>("/v3/cluster/member/list", {});
    const own = members.find((one) => isOf(one, setup));
    if (own === undefined) throw new Error("etcd does not know its own member");
    if (own.isLearner !== true) return;
    await etcd.post("/v3/cluster/member/promote", { ID: own.ID });
  });
}

/**
 * Asks the first member of etcd that answers: a learner answers for nobody, and the pod of a member that is gone is there for as long as
 * its Node. `ask` may be asked again where an answer was lost.
 */
async function besideOwn<T>(
  setup: MemberSetup,
  api: HttpsClient,
  ask: (etcd: HttpsClient) => Promise<T>,
): Promise<T> {
  let failure: unknown = new Error("no member of etcd is to be found");
  for (const server of await othersOf(setup, api)) {
    const etcd = new HttpsClient(server, etcdCredentialsIn(setup.folder));
    try {
      return await ask(etcd);
    } catch (error) {
      failure = error;
    } finally {
      etcd.close();
    }
  }
  throw failure;
}

function isOf({ peerURLs = [] }: Member, { ports }: MemberSetup): boolean {
  return peerURLs.includes(peerUrlOf(ports));
}

/** Addresses of the members that run, as their pods tell them. */
async function othersOf({ ports }: MemberSetup, api: HttpsClient): Promise<string[]> {
  const selector = encodeURIComponent("component=etcd,tier=control-plane");
  const { items } = await api.get<PodList>(
    `/api/v1/namespaces/kube-system/pods?labelSelector=${selector}`,
  );
  return items.flatMap(({ metadata: { annotations = {} } }) => {
    const url = annotations[clientUrlAnnotation];
    return url === undefined || url === clientUrlOf(ports) ? [] : [new URL(url).host];
  });
}
