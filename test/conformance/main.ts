import { counted } from "../../src/api/counted.js";
import { conform } from "./run.js";

const files = process.argv.slice(2);
if (files.length === 0) {
  process.stderr.write("usage: npm run conformance -- FILE...\n");
  process.exitCode = 64;
} else {
  const { failures, passed, deviations } = await conform(files);
  for (const failure of failures) process.stdout.write(`${failure}\n`);
  for (const { reason, cases } of deviations) {
    process.stdout.write(`deviates in ${counted(cases, "case")}: ${reason}\n`);
  }
  process.stdout.write(`${passed} passed, ${failures.length} failed\n`);
  process.exitCode = failures.length > 0 ? 1 : 0;
}
