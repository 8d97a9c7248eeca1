import { connect, createServer, type Server, type Socket } from "node:net";
import { freePorts } from "./free-ports.js";

/** A way to a server of loopback that can be lost without either end being told. */
export class TcpRelay {
  private readonly pairs = new Set<readonly [Socket, Socket]>();

  private constructor(
    private readonly server: Server,
    readonly port: number,
  ) {}

  static async to(target: number): Promise<TcpRelay> {
    const [port = 0] = await freePorts(1);
    const server = createServer((near) => {
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
      for (const one of [near, far]) one.resume();
    }
    this.pairs.clear();
    return size;
  }

  stop(): void {
    for (const [near, far] of this.pairs) {
      near.destroy();
      far.destroy();
    }
    this.server.close();
  }
}
