import assert from "node:assert/strict";
import { fencedApi } from "../../src/controller/fenced-api.js";

type Api = Parameters<typeof fencedApi>[0];

describe("an API server, to which only who leads writes", () => {
  it("reads at any time, and refuses each write from the loss on", async () => {
    const called: string[] = [];
    const note = (name: string) => () => {
      called.push(name);
      return Promise.resolve(undefined);
    };
    const names = ["read", "readSecret", "write", "writeSecret"] as const;
    const api = Object.fromEntries(names.map((name) => [name, note(name)])) as unknown as Api;
    let leads = true;
    const fenced = fencedApi(api, () => {
      if (!leads) throw new Error("leads no more");
    });
    const all = async () => {
      const ended: string[] = [];
      for (const name of names) {
        const call = fenced[name] as unknown as () => Promise<unknown>;
        await call().catch(() => ended.push(name));
      }
      return ended;
    };
    assert.deepEqual(await all(), []);
    leads = false;
    assert.deepEqual(await all(), ["write", "writeSecret"]);
    assert.deepEqual(called, [...names, "read", "readSecret"]);
  });
});
