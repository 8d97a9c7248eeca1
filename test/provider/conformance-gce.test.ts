import assert from "node:assert/strict";
import { CapstanError } from "../../src/api/error.js";
import {
  conformanceCases,
  ConformanceFailure,
  reportText,
  runConformance,
  type World,
} from "../../src/provider-conformance/index.js";
import type { ComputeOperation } from "./gce/compute.js";
import { gceDefects } from "./gce/defects.js";
import { ownGceDefects } from "./gce/own-defects.js";
import { asked, handleOf, notYet, placeOf } from "./gce/hosts.js";
import { type GceDefect, gceSubject } from "./gce/world.js";

/** What the provider of hosts does without. */
const notOffered = [
  "lets go of what it made, or cannot",
  "puts marks on what bears none, and nothing else, or cannot",
  "keeps what its secret fields hold out of all else that it shows",
  "makes another host where there is no room for the one that is asked for, or cannot",
  "looks up the same as long as nothing changes, and only reads",
  "converts what is written in its older versions",
  "says what its hosts take at their first start, or nothing",
];

/** What the port allows, and may not be called a defect. The good provider has `find` alone, refuses updates for now, and leaves zones to Capstan. */
const sound: Readonly<
  Record<string, { readonly provider: GceDefect; readonly changed?: (world: World) => World }>
> = {
  "stops an instance before it removes it, and says meanwhile that it is in use": {
    provider: (good, compute) => ({
      remove: async (ctx, current) => {
        const { zone, number } = placeOf(current.id);
        const instance = await good.look(ctx, zone, number);
        if (instance?.status === "RUNNING") {
          await asked(compute.stop(zone, number, ctx.signal));
        }
        if (instance === undefined || instance.status === "TERMINATED") {
          return good.remove(ctx, current);
        }
        throw new CapstanError({ code: "IN_USE", source: "cloud", message: "it still runs" });
      },
    }),
  },
  "makes a change of several calls in one, beside instances with boot disks": {
    provider: (good, compute) => ({
      towardType: async (ctx, { zone, number }, machineType) => {
        const alive = async () => {
          ctx.signal.throwIfAborted();
          await ctx.assertEngineAlive();
        };
        const done = async (operation: ComputeOperation) => {
          while ((await good.poll(ctx, handleOf(operation))).state === "running") {
            await ctx.clock.sleep(500, ctx.signal);
          }
          await alive();
        };
        const instance = await good.look(ctx, zone, number);
        if (instance?.status === "RUNNING") {
          await done(await asked(compute.stop(zone, number, ctx.signal)));
        }
        await done(await asked(compute.setMachineType(zone, number, machineType, ctx.signal)));
        await asked(compute.start(zone, number, ctx.signal));
        throw notYet("it starts");
      },
    }),
    // It waits in its call, which that would show.
    changed: ({ holdOperations: _none, ...world }) => world,
  },
};

describe("conformance on a cloud of names and operations", () => {
  it("passes a provider that does what it must, in all cases", async () => {
    const report = await runConformance(gceSubject());
    const namesOf = (outcome: string) =>
      report.cases.filter((one) => one.outcome === outcome).map(({ name }) => name);
    assert.deepEqual(namesOf("failed"), [], reportText(report));
    assert.deepEqual(namesOf("notChecked"), []);
    assert.deepEqual(namesOf("notOffered"), notOffered);
  });

  for (const [name, { provider, changed }] of Object.entries(sound)) {
    it(`passes a provider that ${name}`, async () => {
      const report = await runConformance(gceSubject(provider, changed));
      assert.equal(report.failed, 0, reportText(report));
      assert.ok(report.passed > 40, reportText(report));
    });
  }

  for (const [name, [fails, defect]] of Object.entries({ ...gceDefects, ...ownGceDefects })) {
    it(`finds ${name}`, async () => {
      const found = conformanceCases(gceSubject(defect)).find((one) => one.name === fails);
      assert.ok(found, `there is no case "${fails}"`);
      await assert.rejects(found.run(), (error) => {
        assert.ok(error instanceof ConformanceFailure, String(error));
        assert.match(error.message, /^a provider must .+: .+/);
        return true;
      });
    });
  }

  it("by the 27 defects of the trial", () => {
    assert.equal(Object.keys(gceDefects).length, 27);
  });
});
