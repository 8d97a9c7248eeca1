import assert from "node:assert/strict";
import { CapstanError } from "../../src/api/error.js";
import {
  type StorageFailure,
  storageFailureOf,
  toldAsStorage,
} from "../../src/api/storage-failure.js";
import { failsWith } from "../support/errors.js";

const system = (code: string) =>
  Object.assign(new Error(`${code}: write`), { code, syscall: "write", path: "/state/file" });
const sqlite = (errcode: number) =>
  Object.assign(new Error("from SQLite"), { code: "ERR_SQLITE_ERROR", errcode });

const cases: { name: string; error: unknown; want: StorageFailure | undefined }[] = [
  { name: "ENOSPC", error: system("ENOSPC"), want: "full" },
  { name: "EDQUOT", error: system("EDQUOT"), want: "full" },
  { name: "SQLITE_FULL", error: sqlite(13), want: "full" },
  { name: "SQLITE_IOERR_SHMSIZE", error: sqlite(4_874), want: "full" },
  { name: "SQLITE_BUSY", error: sqlite(5), want: "busy" },
  { name: "SQLITE_BUSY_SNAPSHOT", error: sqlite(517), want: "busy" },
  { name: "SQLITE_LOCKED", error: sqlite(6), want: "busy" },
  { name: "EROFS", error: system("EROFS"), want: "refused" },
  { name: "EACCES", error: system("EACCES"), want: "refused" },
  { name: "SQLITE_READONLY_DBMOVED", error: sqlite(1_032), want: "refused" },
  { name: "SQLITE_IOERR_WRITE", error: sqlite(778), want: "broken" },
  { name: "EIO", error: system("EIO"), want: "broken" },
  { name: "SQLITE_CORRUPT", error: sqlite(11), want: undefined },
  { name: "ENOENT", error: system("ENOENT"), want: undefined },
  {
    name: "a code of nobody's",
    error: Object.assign(new Error(), { code: "ENOSPC" }),
    want: undefined,
  },
  {
    name: "an error of ours",
    error: new CapstanError({ code: "LOCKED", source: "user", message: "" }),
    want: undefined,
  },
  { name: "a text", error: "ENOSPC", want: undefined },
];

describe("what a disk or a database failed with", () => {
  for (const { name, error, want } of cases) {
    it(`is ${want ?? "something else"}: ${name}`, () => {
      assert.equal(storageFailureOf(error), want);
      if (want === undefined) assert.equal(toldAsStorage(error), error);
    });
  }

  it("is told with the file and what to do", () => {
    assert.throws(
      () => {
        throw toldAsStorage(system("ENOSPC"));
      },
      failsWith("NO_SPACE", /^cannot use \/state\/file: no room is left on its disk/),
    );
    assert.throws(
      () => {
        throw toldAsStorage(sqlite(5), "/state/locks.db");
      },
      failsWith("LOCKED", /^cannot use \/state\/locks\.db: another process keeps it locked/),
    );
  });
});
