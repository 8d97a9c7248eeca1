import { connect, createServer, type Server, type Socket } from "node:net";
import { freePorts } from "./free-ports.js";

/** A way to a server of loopback that can be lost without either end being told. */
export class TcpRelay {
  private readonly pairs = new Set<readonly [Socket, Socket]>();
  /** What carries nothing any more, and does not know. */
  private readonly lost = new Set<Socket>();
  private isCut = false;

  private constructor(
    private readonly server: Server,
    readonly port: number,
  ) {}

  static async to(target: number): Promise<TcpRelay> {
    const [port = 0] = await freePorts(1);
    const server = createServer((near) => {
      if (relay.isCut) return relay.keepOut(near);
      const far = connect(target, "127.0.0.1");
      relay.pairs.add([near, far]);
      for (const one of [near, far]) {
        one.on("error", () => undefined);
        one.on("close", () => {
          near.destroy();
          far.destroy();
        });
      }
      near.pipe(far).pipe(near);
    });
    const relay = new TcpRelay(server, port);
    await new Promise<void>((listening) => server.listen(port, "127.0.0.1", listening));
    return relay;
  }

  /** Connections that are open now stay so, and carry nothing any more; new ones do. */
  lose(): number {
    const { size } = this.pairs;
    for (const [near, far] of this.pairs) {
      near.unpipe(far);
      far.unpipe(near);
      for (const one of [near, far]) this.keepOut(one);
    }
    this.pairs.clear();
    return size;
  }

  /** Nothing is carried any more, by no connection that is open or will be. */
  cut(): void {
    this.isCut = true;
    this.lose();
  }

  /** Connections that were lost break at last; new ones carry again. */
  mend(): void {
    this.isCut = false;
    for (const one of this.lost) one.destroy();
    this.lost.clear();
  }

  private keepOut(socket: Socket): void {
    this.lost.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => this.lost.delete(socket));
    socket.resume();
  }

  stop(): void {
    for (const [near, far] of this.pairs) {
      near.destroy();
      far.destroy();
    }
    for (const one of this.lost) one.destroy();
    this.server.close();
  }
}
