import { type CaseDefinition, caseDefinitions } from "../../../src/provider-conformance/cases.js";
import { Rig } from "../../../src/provider-conformance/rig.js";
import { NoVerdict } from "../../../src/provider-conformance/subject.js";
import { createProtocols } from "../../../providers/aws/kinds/protocols.js";
import { Moto } from "../../provider/ec2/moto.js";
import { creationCases } from "../../support/creation-cases.js";
import { AwsSubject } from "./aws-subject.js";

// The whole suite runs for hosts: for all kinds it takes a quarter of an hour.
const hostKind = "AwsInstance";

/** Cases without a verdict: what the provider does without, and what would take moto too long. */
const withoutVerdict = [
  "tells what became of what its cloud has accepted, or makes at once",
  "lists a thousand resources, and finds each of them",
  "keeps what its secret fields hold out of all else that it shows",
  "reports a forgotten operation as over",
  "reports a removal that the cloud refuses after it has accepted it",
  "does not take an incomplete answer for a complete one",
  "loses no change to a concurrent one",
  // Instances have no names.
  "leaves another owner's resource of the same name alone",
];

/** Of targets, whose marks are tags of their group: moto takes ten of them, and this makes more. calls.test.ts has the order of its calls. */
const killed = "leaves nothing that nobody finds, whenever it is killed";

describe("the provider of AWS conforms, as far as moto can tell", () => {
  let moto: Moto;
  before(async () => {
    moto = await Moto.start();
  });
  after(() => moto.stop());

  const run = async ({ name, work }: CaseDefinition, kind: string) => {
    try {
      await Rig.use(new AwsSubject(moto), { kind, timeoutMs: 120_000 }, work);
    } catch (error) {
      if (error instanceof NoVerdict && withoutVerdict.includes(name)) return;
      throw error;
    }
  };

  for (const definition of caseDefinitions) {
    it(`an instance ${definition.name}`, () => run(definition, hostKind));
  }

  const others = Object.entries(createProtocols).filter(([kind]) => kind !== hostKind);
  for (const [kind, { by }] of others) {
    const asked = caseDefinitions.filter(
      ({ name }) => creationCases.includes(name) && !(kind === "AwsTarget" && name === killed),
    );
    for (const definition of asked) {
      it(`${kind}, by ${by}, ${definition.name}`, () => run(definition, kind));
    }
  }
});
