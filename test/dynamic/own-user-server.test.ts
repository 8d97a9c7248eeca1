import assert from "node:assert/strict";
import * as grpc from "@grpc/grpc-js";
import {
  isOfUser,
  type Listening,
  listenToOwnUser,
  ownerOf,
} from "../../src/dynamic/own-user-server.js";

describe("the user behind a connection", () => {
  const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     7        0 624 1 0 100 0 0 10 0
   1: 0100007F:C408 0100007F:1F90 06 00000000:00000000 03:00000FC5 00000000     0        0 0 3 0
   2: 0100007F:C409 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 625 1 0
   3: 0100007F:1F90 0100007F:C409 01 00000000:00000000 00:00000000 00000000     7        0 626 1 0
   4: 0200007F:C40A 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 627 1 0
   5: 7F000001:C40B 7F000001:1F90 01 00000000:00000000 00:00000000 00000000  1002        0 628 1 0
`;
  const mapped = `   0: 0000000000000000FFFF00000100007F:C409 0000000000000000FFFF00000100007F:1F90 01 00000000:00000000 00:00000000 00000000  1003        0 625 1 0`;
  const home = "127.0.0.1";
  const cases = [
    { name: "is who made it, not who serves it", port: 0xc409, want: 1000 },
    { name: "is nobody's of one that has ended", port: 0xc408, want: undefined },
    { name: "is told by the whole address", port: 0xc40a, want: undefined },
    {
      name: "is told for another address of this machine",
      from: "127.0.0.2",
      port: 0xc40a,
      want: 1001,
    },
    { name: "is told on machines of the other byte order", port: 0xc40b, want: 1002 },
    { name: "is told where IPv4 travels as IPv6", table: mapped, port: 0xc409, want: 1003 },
    { name: "is nobody's of what is not in the table", port: 1, want: undefined },
  ];
  for (const { name, from = home, port, want, ...given } of cases) {
    it(name, () => {
      const ends = { from, fromPort: port, to: home, toPort: 0x1f90 };
      assert.equal(ownerOf(given.table ?? table, ends), want);
    });
  }

  const ours = { from: home, fromPort: 0xc409, to: home, toPort: 0x1f90 };
  const looks = [
    { name: "is found in a table", tables: [table], want: true },
    {
      name: "is looked for again where a table has missed it",
      tables: ["", "", table],
      want: true,
    },
    { name: "is another's than who is not found twice", tables: ["", "", "", ""], want: false },
    { name: "is trusted where there are no tables", tables: [undefined, undefined], want: true },
  ];
  for (const { name, tables, want } of looks) {
    it(name, () => {
      const left = [...tables];
      assert.equal(
        isOfUser(1000, ours, () => left.shift()),
        want,
      );
      assert.deepEqual(left, []);
    });
  }
});

describe("a server for our own user", () => {
  let listening: Listening;
  let served: number;
  afterEach(() => listening.close());

  /** Calls the one method that the server has. */
  const call = async (isWelcome?: () => boolean): Promise<unknown> => {
    const asIs = (bytes: Buffer) => bytes;
    const echo: grpc.MethodDefinition<Buffer, Buffer> = {
      path: "/test.Echo/Say",
      requestStream: false,
      responseStream: false,
      requestSerialize: asIs,
      requestDeserialize: asIs,
      responseSerialize: asIs,
      responseDeserialize: asIs,
    };
    served = 0;
    const server = new grpc.Server();
    server.addService(
      { say: echo },
      {
        say: (
          { request }: grpc.ServerUnaryCall<Buffer, Buffer>,
          answer: grpc.sendUnaryData<Buffer>,
        ) => {
          served += 1;
          answer(null, request);
        },
      },
    );
    listening = await listenToOwnUser(server, isWelcome);
    const client = new grpc.Client(
      `127.0.0.1:${listening.port}`,
      grpc.credentials.createInsecure(),
    );
    try {
      return await new Promise((resolve, reject) => {
        client.makeUnaryRequest(echo.path, asIs, asIs, Buffer.from("hello"), (error, answer) =>
          error === null ? resolve(answer?.toString()) : reject(error),
        );
      });
    } finally {
      client.close();
    }
  };

  it("serves us", async () => {
    assert.equal(await call(), "hello");
    assert.equal(served, 1);
  });

  it("hears nothing of what anybody else says", async () => {
    await assert.rejects(
      call(() => false),
      (error: grpc.ServiceError) => error.code === grpc.status.UNAVAILABLE,
    );
    assert.equal(served, 0);
  });
});
