import { readFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import * as grpc from "@grpc/grpc-js";

export interface Listening {
  readonly port: number;
  /** Ends what is under way, too. */
  readonly close: () => void;
}

/**
 * Serves a gRPC server on a free port of the loopback interface to processes of our own user. Pulumi finds
 * its plugins by a port and has no word for a secret, so a connection is judged by who made it: another
 * user of the machine could have resources created and deleted with our credentials.
 */
export function listenToOwnUser(
  server: grpc.Server,
  isWelcome: (peer: Socket) => boolean = isOfOwnUser,
): Promise<Listening> {
  const injector = server.createConnectionInjector(grpc.ServerCredentials.createInsecure());
  const door = createServer((peer) => {
    if (isWelcome(peer)) injector.injectConnection(peer);
    else peer.destroy();
  });
  return new Promise((resolve, reject) => {
    door.once("error", reject);
    door.listen(0, "127.0.0.1", () => {
      const { port } = door.address() as AddressInfo;
      const close = () => {
        door.close();
        server.forceShutdown();
      };
      resolve({ port, close });
    });
  });
}

function isOfOwnUser(peer: Socket): boolean {
  const uid = process.getuid?.();
  return uid === undefined || isOfUser(uid, endsOf(peer), connectionTable);
}

/**
 * Whether a connection is a user's by the kernel's tables, of which `read` gives the text. Where the kernel does not tell
 * whose a connection is, everybody of the machine is trusted. A table is written piece by piece while connections come and
 * go, so that one may be missed: nobody is turned away before a second look.
 */
export function isOfUser(
  uid: number,
  ends: ConnectionEnds,
  read: (file: string) => string | undefined,
): boolean {
  return isSeenAs(uid, ends, read) || isSeenAs(uid, ends, read);
}

/** The kernel takes long to write a table: the second one is read for what is not in the first. */
function isSeenAs(...[uid, ends, read]: Parameters<typeof isOfUser>): boolean {
  let isTold = false;
  for (const file of ["/proc/net/tcp", "/proc/net/tcp6"]) {
    const table = read(file);
    if (table === undefined) continue;
    if (ownerOf(table, ends) === uid) return true;
    isTold = true;
  }
  return !isTold;
}

function connectionTable(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

/** Both ends of a connection, as the one who made it sees them. */
interface ConnectionEnds {
  readonly from: string;
  readonly fromPort: number;
  readonly to: string;
  readonly toPort: number;
}

function endsOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): ConnectionEnds {
  return {
    from: remoteAddress ?? "",
    fromPort: remotePort ?? 0,
    to: localAddress ?? "",
    toPort: localPort ?? 0,
  };
}

const established = "01";

/**
 * The user id of whoever made a connection, from the kernel's table of connections (proc_net_tcp.rst);
 * undefined when it is not in there. Pure.
 */
export function ownerOf(
  table: string,
  { from, fromPort, to, toPort }: ConnectionEnds,
): number | undefined {
  const isMeant = (row: readonly string[]) =>
    row[3] === established && isEnd(row[1], from, fromPort) && isEnd(row[2], to, toPort);
  // A busy machine has thousands of rows: those of other ports are not taken apart.
  const port = `:${fromPort.toString(16).toUpperCase().padStart(4, "0")} `;
  const row = table
    .split("\n")
    .filter((line) => line.includes(port))
    .map((line) => line.trim().split(/\s+/))
    .find(isMeant);
  return row === undefined ? undefined : Number(row[7]);
}

/** "0100007F:1F90": an address in the machine's byte order, IPv4 in IPv6 too, and a port. */
function isEnd(text = "", address: string, port: number): boolean {
  const bytes = address.split(".").map((byte) => Number(byte).toString(16).padStart(2, "0"));
  const [host = "", hexPort = ""] = text.toLowerCase().split(":");
  const spelled = [bytes.join(""), bytes.toReversed().join("")];
  return parseInt(hexPort, 16) === port && spelled.some((one) => host.endsWith(one));
}
