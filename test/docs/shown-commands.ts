import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { repository } from "../scenario/sandbox.js";
import { shownBlocks, type ShownCommand } from "./console.js";

export const examplesFolder = join(repository, "examples");

/** The document that shows the commands of an example, as examples.int.test.ts and node-examples.int.test.ts run them. */
export const shownIn = {
  "provider-minimal": "examples/provider-minimal/README.md",
  "provider-ec2": "examples/provider-ec2/README.md",
  "provider-starter": "examples/provider-starter/README.md",
  "pulumi-program": "examples/pulumi-program/README.md",
  "pulumi-aws": "examples/pulumi-aws/README.md",
  overlays: "docs/environments.md",
  quickstart: "docs/local-cloud.md",
  laptop: "docs/local-cloud.md",
  kubeadm: "docs/local-cloud.md",
} as const;

export type ShownExample = keyof typeof shownIn;

/** The examples whose hosts are programs of this machine. */
export type NodeExample = "laptop" | "kubeadm";

/** Commands on examples that no test runs as they stand, by document and command, with the reason. */
export const notRun: Readonly<Record<string, string>> = {
  "README.md: npm start":
    "it sets up the clone in which the tests run, and makes examples/quickstart as readme.int.test.ts does",
  "README.md: kubectl apply -f examples/quickstart":
    "its block needs a cluster of kind: test/controller/watch.int.test.ts has an API server",
};

/** Examples that a document links to and no command names, with their test. */
export const withoutCommands: Readonly<Record<string, string>> = {
  aws: "test/providers/aws/simulator.int.test.ts",
};

/** The documents of users that may show commands. */
export function documents(): string[] {
  const inFolder = (folder: string) =>
    readdirSync(join(repository, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".md") && !file.includes("node_modules"))
      .map((file) => `${folder}/${file}`);
  return ["README.md", ...inFolder("docs"), ...inFolder("examples")].sort();
}

/** The commands of a document, block by block. */
export function blocksOf(document: string): ShownCommand[][] {
  return shownBlocks(readFileSync(join(repository, document), "utf8"));
}

/** The name of the example that a command, or its comment, has the path of. */
export function exampleIn({ command }: ShownCommand): string | undefined {
  return /\bexamples\/([\w-]+)/.exec(command)?.[1];
}

/** All commands of an example: those of its README, or those of the blocks of another document that name it. */
export function commandsOf(example: ShownExample): ShownCommand[] {
  const document = shownIn[example];
  const blocks = blocksOf(document);
  if (document.startsWith("examples/")) return blocks.flat();
  return blocks.filter((block) => block.some((one) => exampleIn(one) === example)).flat();
}
