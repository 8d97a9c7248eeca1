import assert from "node:assert/strict";
import { withoutPasswords } from "../../src/engine/backend/project.js";

describe("a text for people", () => {
  const cases: readonly { name: string; given: string; want: string }[] = [
    {
      name: "shows whose password it was, and where",
      given: 'cannot open "postgres://owner:p%40ss@db:5432/states?sslmode=disable": refused',
      want: 'cannot open "postgres://owner:***@db:5432/states?sslmode=disable": refused',
    },
    {
      name: "has none of several passwords",
      given: "postgres://a:one@db/x postgres://db/y?user=b&password=two&sslmode=disable",
      want: "postgres://a:***@db/x postgres://db/y?user=b&password=***&sslmode=disable",
    },
    {
      name: "keeps ports, times and names",
      given: "https://127.0.0.1:16443/a@b, file:///state?metadata=skip, ops@host 12:30",
      want: "https://127.0.0.1:16443/a@b, file:///state?metadata=skip, ops@host 12:30",
    },
  ];
  for (const { name, given, want } of cases) {
    it(name, () => assert.equal(withoutPasswords(given), want));
  }
});
