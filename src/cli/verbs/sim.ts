import type { Command } from "commander";
import type { SimAwsOptions } from "../commands/sim-aws.js";
import type { GlobalOptions } from "../context.js";
import { looks } from "../execute.js";
import { wholeNumber, withExamples } from "./options.js";

/** The verbs that start simulated clouds of others. */
export function addSimVerbs(sim: Command): void {
  withExamples(sim, [["capstan sim aws", "then try things without an account"]]);
  const aws = sim
    .command("aws")
    .description("serve a simulated AWS until interrupted: EC2, ELB, STS and more on one address")
    .option("--port <n>", "where it listens; any free port unless given", wholeNumber)
    .option("--host <address>", "on which address; loopback unless given", "127.0.0.1")
    .option("--region <name>", "region of the variables that it prints", "eu-north-1")
    .option("--file <path>", "JSON file that keeps its accounts; in memory unless given")
    .option("--speed <n>", "how much faster its time goes than yours", wholeNumber, 10)
    .option("--lag <ms>", "how far its Describe calls lag behind", wholeNumber, 0)
    .option("--throttle", "limit calls as AWS does");
  withExamples(aws, [
    [
      "capstan sim aws --port 4510",
      "then aws ec2 describe-vpcs, with the variables that it prints",
    ],
    ["capstan sim aws --file aws.json", "what is made is there again the next time"],
  ]);
  looks<SimAwsOptions & GlobalOptions>(aws, async ({ options, context }) => {
    const { simAws } = await import("../commands/sim-aws.js");
    return simAws(options, context);
  });
}
