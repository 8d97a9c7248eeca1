import assert from "node:assert/strict";
import { makeProgram } from "../../src/cli/verbs/program.js";
import { withWhereabouts } from "../../src/cli/suggest.js";

describe("commands that a text names", () => {
  const hint = "go on with capstan up -f demo, or take it back with capstan rollback default.demo";
  const cases = [
    { name: "are as they are without --state and --backend", given: {}, text: hint, want: hint },
    {
      name: "work on the same state",
      given: { state: "/tmp/x" },
      text: hint,
      want: "go on with capstan --state /tmp/x up -f demo, or take it back with capstan --state /tmp/x rollback default.demo",
    },
    {
      name: "work on the same backend, quoted for a shell",
      given: { state: "it's here", backend: "s3://a?region=b&x=$1" },
      text: "Next: capstan status -f demo",
      want: "Next: capstan --state 'it'\\''s here' --backend 's3://a?region=b&x=$1' status -f demo",
    },
    {
      name: "work on the same stack of the same project",
      given: { project: "my shop", stack: "dev" },
      text: "capstan rollback default.demo takes it back",
      want: "capstan --project 'my shop' --stack dev rollback default.demo takes it back",
    },
    {
      name: "leave a password to be filled in",
      given: { backend: "postgres://owner:secret@db/states" },
      text: "Next: capstan status -f demo",
      want: "Next: capstan --backend 'postgres://owner:***@db/states' status -f demo",
    },
    {
      name: "need neither where they look at no cluster",
      given: { state: "/tmp/x" },
      text: "capstan explain cluster, capstan init demo, capstan upgrades nothing",
      want: "capstan explain cluster, capstan init demo, capstan upgrades nothing",
    },
  ];
  for (const { name, given, text, want } of cases) {
    it(name, () => assert.equal(withWhereabouts(text, given), want));
  }

  it("are known, but for those that look at no cluster", () => {
    const elsewhere = [
      "init",
      "validate",
      "explain",
      "graph",
      "render",
      "crds",
      "install",
      "completion",
    ].concat("version", "sim", "help");
    const verbs = makeProgram()
      .commands.map((command) => command.name())
      .filter((name) => !name.startsWith("__") && !elsewhere.includes(name));
    for (const verb of verbs) {
      const text = withWhereabouts(`capstan ${verb}`, { state: "x" });
      assert.equal(text, `capstan --state x ${verb}`);
    }
  });
});
