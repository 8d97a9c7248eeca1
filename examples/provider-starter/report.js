// npm run conformance: a report for people; with --json for programs, with --badge for README.md.

import { badgeLine, reportText, runConformance } from "capstan/provider/conformance";
import { subject } from "./world.js";

const progress = ({ name, kind }) => console.error(`${kind}: ${name}`);
const report = await runConformance(subject, { progress });
const [option] = process.argv.slice(2);
if (option === "--json") console.log(JSON.stringify(report, null, 2));
else if (option === "--badge") console.log(badgeLine(report));
else console.log(reportText(report));
process.exitCode = report.failed > 0 ? 1 : 0;
