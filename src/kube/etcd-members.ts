import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { Duplex, PassThrough } from "node:stream";
import { connect, type TLSSocket } from "node:tls";
import { type CoreV1Api, type KubeConfig, PortForward, type V1Pod } from "@kubernetes/client-node";
import { issueCertificate } from "../bootstrap/certificates/certificate.js";
import { clockSkewMs } from "../bootstrap/certificates/cluster-keys.js";
import { type HostKeys, trustedKeys, trustedPem } from "../bootstrap/certificates/key-ring.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { messageOf } from "../api/error.js";
import { timeText } from "../api/time-text.js";
import { mapBounded } from "../provider/bounded.js";
import type { EtcdAnswer, EtcdReport } from "../workload/etcd/etcd-report.js";
import { type EtcdMember, memberOf, type MemberNode } from "./etcd-member.js";
import { until } from "./requests.js";
import { type TimeLimit, timeLimit } from "./time-limit.js";

const namespace = "kube-system";
const clientPort = 2379;
const accessTtlMs = 10 * 60_000;
/** How long one member is asked how it is: one that is well tells that at once. */
const statusWithinMs = 5_000;
/** As many as an API server connects at once without asking to slow down. */
const asksAtATime = 8;

/** Who asks, and by what etcd knows it. */
interface EtcdAccess {
  readonly config: KubeConfig;
  readonly api: CoreV1Api;
  readonly keys: HostKeys;
  readonly nowMs: number;
  /** Of all calls together. */
  readonly limit: TimeLimit;
}

/**
 * Takes a member out of the etcd that runs in a cluster's own pods, so that the others have a majority without it. Asks
 * a pod on another node, through the API server; etcd itself refuses what would leave it without a majority.
 * Success also when there is none. Throws an Error with what kept it from that.
 * Source: https://etcd.io/docs/v3.6/op-guide/runtime-configuration/
 */
export async function removeEtcdMember(node: MemberNode, access: EtcdAccess): Promise<void> {
  const pod = await podBeside(node, access);
  const { members = [] } = await asked<{ members?: readonly EtcdMember[] }>(
    pod,
    "/v3/cluster/member/list",
    {},
    access,
  );
  const member = memberOf(members, node);
  if (member === undefined) return;
  await asked(pod, "/v3/cluster/member/remove", { ID: member.ID }, access);
}

/** A host, and the Node by which its member of etcd is known. */
interface HostNode {
  readonly host: string;
  readonly node: MemberNode;
}

/** What a member says of itself. Source: https://etcd.io/docs/v3.6/dev-guide/api_reference_v3/, StatusResponse. */
interface StatusAnswer {
  readonly header: { readonly member_id: string };
  readonly leader?: string;
  readonly errors?: readonly string[];
}

interface AlarmAnswer {
  readonly alarms?: readonly { readonly memberID: string; readonly alarm: string }[];
}

/** One of etcd's pods, and what its member answered; `id` is that of the member. */
interface AskedPod {
  readonly pod: V1Pod;
  readonly id?: string;
  readonly answer: EtcdAnswer;
}

/**
 * What the etcd in a cluster's own pods says of itself: its members by the word of one that answers, and each of them by its own. Undefined
 * where the cluster has no pod of etcd. Throws an Error where no member answers.
 */
export async function reportOfEtcd(
  hosts: readonly HostNode[],
  access: EtcdAccess,
): Promise<EtcdReport | undefined> {
  const pods = await etcdPods(access);
  if (pods.length === 0) return undefined;
  const asking = await mapBounded(pods, asksAtATime, (pod) => askedHowItIs(pod, access));
  const teller = asking.find(({ answer }) => answer.kind === "answered");
  if (teller === undefined) {
    const [silent] = asking.flatMap(({ answer }) => (answer.kind === "silent" ? [answer] : []));
    throw new Error(`no member of etcd answers: ${silent?.because ?? ""}`);
  }
  const { members = [] } = await asked<{ members?: readonly EtcdMember[] }>(
    teller.pod,
    "/v3/cluster/member/list",
    {},
    access,
  );
  const { alarms = [] } = await asked<AlarmAnswer>(
    teller.pod,
    "/v3/maintenance/alarm",
    { action: "GET" },
    access,
  );
  const hostOf = new Map(hosts.map(({ host, node }) => [memberOf(members, node)?.ID, host]));
  return {
    members: members.map((member) =>
      omitUndefined({
        id: member.ID,
        name: member.name === "" ? undefined : member.name,
        host: hostOf.get(member.ID),
        isLearner: member.isLearner === true,
        answer: answerAmong(asking, member),
      }),
    ),
    alarms: alarms.map(({ memberID: member, alarm }) => ({ member, alarm })),
  };
}

async function askedHowItIs(pod: V1Pod, access: EtcdAccess): Promise<AskedPod> {
  try {
    const { answer: told, certificateUntilMs } = await called(
      pod,
      "/v3/maintenance/status",
      {},
      { ...access, limit: timeLimit(statusWithinMs, access.limit.signal) },
    );
    const { header, leader, errors } = told as StatusAnswer;
    const answer: EtcdAnswer = omitUndefined({
      kind: "answered",
      leader: leader === "0" ? undefined : leader,
      troubles: errors ?? [],
      certificateUntilMs,
    });
    return { pod, id: header.member_id, answer };
  } catch (error) {
    const certificateUntilMs = error instanceof ExpiredCertificate ? error.untilMs : undefined;
    const because = messageOf(error);
    return { pod, answer: omitUndefined({ kind: "silent", because, certificateUntilMs }) };
  }
}

/** A member that shows a certificate of its cluster's, which counts no more: its host is known, and says nothing that may be heard. */
class ExpiredCertificate extends Error {
  constructor(readonly untilMs: number) {
    super(`its certificate has expired on ${timeText(untilMs)}`);
  }
}

/** By the id that a member itself tells; of one that tells nothing, what kept its pod from it. */
function answerAmong(asking: readonly AskedPod[], { ID, name }: EtcdMember): EtcdAnswer {
  const own =
    asking.find(({ id }) => id === ID) ??
    asking.find(({ id, pod }) => id === undefined && pod.spec?.nodeName === name);
  return own?.answer ?? { kind: "silent", because: "no pod of it is there" };
}

async function etcdPods({ api, limit }: EtcdAccess): Promise<V1Pod[]> {
  const labelSelector = "component=etcd,tier=control-plane";
  const { items } = await api.listNamespacedPod({ namespace, labelSelector }, until(limit.signal));
  return items;
}

async function podBeside({ name }: MemberNode, access: EtcdAccess): Promise<V1Pod> {
  const items = await etcdPods(access);
  const isReady = ({ status }: V1Pod) =>
    status?.conditions?.some((one) => one.type === "Ready" && one.status === "True") === true;
  const pod = items.find((one) => one.spec?.nodeName !== name && isReady(one));
  if (pod === undefined) throw new Error(`no member of etcd beside ${name} is ready`);
  return pod;
}

/** One call of etcd's JSON gateway. */
async function asked<T>(pod: V1Pod, path: string, body: object, access: EtcdAccess): Promise<T> {
  return (await called(pod, path, body, access)).answer as T;
}

interface Called {
  readonly answer: unknown;
  /** Until when the certificate counts that the member has shown, milliseconds since the epoch. */
  readonly certificateUntilMs: number;
}

/** The same, and what the connection has shown. */
async function called(pod: V1Pod, path: string, body: object, access: EtcdAccess): Promise<Called> {
  const { limit } = access;
  const [output, input] = [new PassThrough(), new PassThrough()];
  const forward = new PortForward(access.config);
  const name = pod.metadata?.name ?? "";
  const opening = forward.portForward(namespace, name, [clientPort], output, null, input);
  const channel = await inTime(opening, limit);
  const closed = new AbortController();
  try {
    whenClosed(channel, () => {
      closed.abort();
      output.end();
    });
    const socket = connect({
      socket: Duplex.from({ readable: output, writable: input }),
      servername: "localhost",
      ca: trustedPem(access.keys, "etcd"),
      // Judged below, before a word is said: of a socket that is refused Node.js does not tell what was shown.
      rejectUnauthorized: false,
      ...(await credentials(access)),
    });
    // Its channel is closed under it in the end, of which perhaps nobody waits to be told.
    socket.on("error", () => undefined);
    const certificateUntilMs = await trusted(socket, access);
    const answer = await answerOf(socket, path, body, limit);
    return { answer, certificateUntilMs };
  } catch (error) {
    if (!closed.signal.aborted) throw error;
    throw new Error("its connection was closed", { cause: error });
  } finally {
    closeChannel(channel);
  }
}

/** Until when the certificate counts that the other side has shown, milliseconds since the epoch. Throws where it counts for nothing. */
async function trusted(socket: TLSSocket, { limit, keys }: EtcdAccess): Promise<number> {
  try {
    await once(socket, "secureConnect", { signal: limit.signal });
  } catch (error) {
    throw limit.signal.aborted ? noAnswer(limit, error) : error;
  }
  const shown = socket.getPeerCertificate();
  const untilMs = Date.parse(shown.valid_to);
  if (socket.authorized) return untilMs;
  const reason = String(socket.authorizationError);
  // Of several things that are wrong only the last one is told: an expired one may be a stranger's as well.
  throw reason === "CERT_HAS_EXPIRED" && isSigned(shown.raw, keys)
    ? new ExpiredCertificate(untilMs)
    : new Error(`its certificate is refused (${reason})`);
}

/** Whether an authority that a cluster trusts for its etcd has signed a certificate. */
function isSigned(certificate: Buffer, keys: HostKeys): boolean {
  const own = new X509Certificate(certificate);
  return trustedKeys(keys).some(({ etcd }) =>
    own.verify(new X509Certificate(etcd.certificatePem).publicKey),
  );
}

/** The client has no deadline for a connection that nobody takes; one that comes late is closed. */
async function inTime(opening: Promise<unknown>, { signal, seconds }: TimeLimit): Promise<unknown> {
  const ended = new AbortController();
  const over = signal.aborted ? Promise.resolve() : once(signal, "abort", { signal: ended.signal });
  const late = over.then(() => {
    throw new Error(`no connection within ${seconds} s`);
  });
  try {
    return await Promise.race([opening, late]);
  } catch (error) {
    void opening.then(closeChannel, () => undefined);
    // What the client throws for a refused connection is no Error.
    throw error instanceof Error ? error : new Error("its connection is refused", { cause: error });
  } finally {
    ended.abort();
  }
}

function closeChannel(channel: unknown): void {
  if (isChannel(channel)) channel.close();
}

/** The client's type of it is that of a package that it does not bring along. */
type Channel = Pick<WebSocket, "readyState" | "close" | "addEventListener">;

function isChannel(channel: unknown): channel is Channel {
  return typeof channel === "object" && channel !== null && "close" in channel;
}

/** The client tells those who read a channel nothing of its end: they would wait for as long as they may. */
function whenClosed(channel: unknown, act: () => void): void {
  if (!isChannel(channel)) return;
  if (channel.readyState >= WebSocket.CLOSING) act();
  else channel.addEventListener("close", act);
}

async function credentials({ keys, nowMs }: EtcdAccess) {
  const { certificatePem, privateKeyPem } = await issueCertificate(keys.etcd, {
    commonName: "capstan",
    organizations: ["system:masters"],
    algorithm: "ECDSA-P256",
    usages: ["client"],
    validity: { fromMs: nowMs - clockSkewMs, untilMs: nowMs + accessTtlMs },
  });
  return { cert: certificatePem, key: privateKeyPem };
}

function noAnswer({ seconds }: TimeLimit, cause: unknown): Error {
  return new Error(`no answer within ${seconds} s`, { cause });
}

function answerOf(
  socket: TLSSocket,
  path: string,
  body: object,
  limit: TimeLimit,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const failed = (error: Error) => reject(limit.signal.aborted ? noAnswer(limit, error) : error);
    const options = { method: "POST", path, host: "localhost", signal: limit.signal };
    const request = httpRequest({ ...options, createConnection: () => socket }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        if (response.statusCode === 200) resolve(JSON.parse(text));
        else reject(new Error(`etcd answered ${response.statusCode ?? 0}: ${text.slice(0, 500)}`));
      });
      response.on("error", failed);
    });
    request.on("error", failed);
    request.end(JSON.stringify(body));
  });
}
