import { createHash } from "node:crypto";
import { Duplex } from "node:stream";

// A pod's port, forwarded as an API server does it: a WebSocket whose messages begin with the number of a channel. Source: RFC 6455, and
// https://kubernetes.io/docs/tasks/access-application-cluster/port-forward-access-application-cluster/

const protocol = "v4.channel.k8s.io";
const magic = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const dataChannel = 0;
const errorChannel = 1;

/** Accepts the WebSocket that a client asks for on a socket, and answers what it forwards of one port. */
export function acceptPortForward(socket: Duplex, key: string, port: number): Duplex {
  const accept = createHash("sha1").update(`${key}${magic}`).digest("base64");
  socket.write(
    [
      "HTTP/1.1 101 Switching Protocols",
      "Upgrade: websocket",
      "Connection: Upgrade",
      `Sec-WebSocket-Accept: ${accept}`,
      `Sec-WebSocket-Protocol: ${protocol}`,
      "",
      "",
    ].join("\r\n"),
  );
  const number = Buffer.alloc(2);
  number.writeUInt16LE(port);
  // Each channel begins with the number of its port.
  for (const channel of [dataChannel, errorChannel]) {
    socket.write(frame(Buffer.concat([Buffer.from([channel]), number])));
  }
  return new Forwarded(socket);
}

/** What goes through the data channel. */
class Forwarded extends Duplex {
  private pending = Buffer.alloc(0);

  constructor(private readonly socket: Duplex) {
    super();
    socket.on("data", (chunk: Buffer) => {
      this.pending = Buffer.concat([this.pending, chunk]);
      this.takeFrames();
    });
    socket.on("end", () => this.push(null));
    socket.on("error", (error) => this.destroy(error));
    socket.on("close", () => this.destroy());
  }

  override _read(): void {
    // What comes is pushed as it comes.
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.socket.write(frame(Buffer.concat([Buffer.from([dataChannel]), chunk])), done);
  }

  override _final(done: () => void): void {
    this.socket.end(done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.socket.destroy();
    done(error);
  }

  private takeFrames(): void {
    for (;;) {
      const taken = firstFrame(this.pending);
      if (taken === undefined) return;
      this.pending = taken.rest;
      const [channel] = taken.payload;
      if (taken.opcode === opcodes.close) this.push(null);
      else if (channel === dataChannel && taken.payload.length > 1) {
        this.push(taken.payload.subarray(1));
      }
    }
  }
}

const opcodes = { binary: 2, close: 8 };

/** A message of a server, which masks nothing. */
function frame(payload: Buffer): Buffer {
  const { length } = payload;
  const first = 0x80 | opcodes.binary;
  if (length < 126) return Buffer.concat([Buffer.from([first, length]), payload]);
  const header = Buffer.alloc(4);
  header.writeUInt8(first, 0);
  if (length > 0xffff) return Buffer.concat([longHeader(first, length), payload]);
  header.writeUInt8(126, 1);
  header.writeUInt16BE(length, 2);
  return Buffer.concat([header, payload]);
}

function longHeader(first: number, length: number): Buffer {
  const header = Buffer.alloc(10);
  header.writeUInt8(first, 0);
  header.writeUInt8(127, 1);
  header.writeBigUInt64BE(BigInt(length), 2);
  return header;
}

interface Frame {
  readonly opcode: number;
  readonly payload: Buffer<ArrayBuffer>;
  readonly rest: Buffer<ArrayBuffer>;
}

/** The first message of a client, which masks all; undefined while not all of it has come. */
function firstFrame(bytes: Buffer<ArrayBuffer>): Frame | undefined {
  if (bytes.length < 2) return undefined;
  const [first = 0, second = 0] = bytes;
  const short = second & 0x7f;
  const sizeBytes = short === 126 ? 2 : short === 127 ? 8 : 0;
  const begin = 2 + sizeBytes + 4;
  if (bytes.length < begin) return undefined;
  const length =
    short === 126
      ? bytes.readUInt16BE(2)
      : short === 127
        ? Number(bytes.readBigUInt64BE(2))
        : short;
  if (bytes.length < begin + length) return undefined;
  const mask = bytes.subarray(begin - 4, begin);
  const payload = Buffer.from(bytes.subarray(begin, begin + length));
  payload.forEach((byte, index) => (payload[index] = byte ^ (mask[index % 4] ?? 0)));
  return { opcode: first & 0x0f, payload, rest: bytes.subarray(begin + length) };
}
