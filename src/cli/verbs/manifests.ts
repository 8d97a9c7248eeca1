import { type Command, Option } from "commander";
import { CapstanError } from "../../api/error.js";
import type { ExplainOptions } from "../commands/explain.js";
import type { GraphOptions } from "../commands/graph.js";
import type { InitOptions } from "../commands/init.js";
import type { InitProviderOptions } from "../commands/init-provider.js";
import type { RenderOptions } from "../commands/render.js";
import type { ValidateOptions } from "../commands/validate.js";
import { does } from "../execute.js";
import {
  kubernetesVersion,
  wholeNumber,
  withExamples,
  withFiles,
  withRecursion,
  withYes,
} from "./options.js";

/** The verbs for writing manifests: init, validate, explain, graph, render, crds. None needs a state. */
export function addManifestVerbs(program: Command): void {
  addInit(program);
  const validate = withRecursion(program.command("validate")).description(
    "check manifests, every mistake at once; exit 0: valid, 65: not",
  );
  withExamples(validate, [
    ["capstan validate -f clusters/prod", "looks at no state and at no cloud"],
    ["capstan validate --json -f 'clusters/*'", "for an editor or a pipeline"],
  ]);
  does<ValidateOptions>(validate, async ({ options, context }) => {
    const { validateCommand } = await import("../commands/validate.js");
    return validateCommand(options, context);
  });

  const explain = program
    .command("explain [kind.field]")
    .description("tell what a kind or a field means")
    .option("--recursive", "all fields below, names and types only")
    .option("--api-version <version>", "an older version of a provider's object");
  withExamples(explain, [
    ["capstan explain", "list the kinds"],
    ["capstan explain machine.spec.versions", "a field and those inside it"],
    ["capstan explain md --recursive", "the whole MachineDeployment at a glance"],
    ["capstan explain LocalMachineProviderSpec.size", "a field of a provider's object"],
  ]);
  does<ExplainOptions>(explain, async ({ options, context }, words: string | undefined) => {
    const { explainCommand } = await import("../commands/explain.js");
    return explainCommand(words, options, context);
  });

  addGraph(program);
  addRender(program);
  const crds = program
    .command("crds")
    .description("print a CustomResourceDefinition for every kind");
  withExamples(crds, [
    ["capstan crds | kubectl apply --server-side -f -", "make the kinds known to an API server"],
  ]);
  does(crds, async ({ context }) => {
    const { crdsCommand } = await import("../commands/crds.js");
    return crdsCommand(context);
  });
}

function addInit(program: Command): void {
  const init = program
    .command("init [dir]")
    .description(
      "write the manifests of a new cluster, or a new provider's package, into a new folder",
    )
    .option("--provider <name>", "who runs the hosts", "local")
    .option("--name <name>", "name of the cluster (default: the folder's)")
    .addOption(
      new Option("--control-planes <n>", "members of the control plane")
        .choices(["1", "3"])
        .default("1"),
    )
    .option("--workers <n>", "number of workers", wholeNumber, 2)
    .addOption(
      new Option(
        "--provider-package <name>",
        "write the package of a provider of your own instead (default dir: its name)",
      ).conflicts(["provider", "name", "controlPlanes", "workers"]),
    );
  withExamples(init, [
    ["capstan init demo", "one control plane, two workers, on the simulated cloud"],
    ["capstan init --control-planes 3 --workers 5 clusters/prod", "a larger one"],
    ["capstan init --provider-package capstan-provider-acme", "a provider for a cloud of yours"],
  ]);
  does<
    Omit<InitOptions, "controlPlanes"> & { controlPlanes: string } & Partial<InitProviderOptions>
  >(init, async ({ options, context }, folder: string | undefined) => {
    const { providerPackage } = options;
    if (providerPackage !== undefined) {
      const { initProviderCommand } = await import("../commands/init-provider.js");
      return initProviderCommand(folder, { ...options, providerPackage }, context);
    }
    if (folder === undefined) throw noFolderNamed();
    const { initCommand } = await import("../commands/init.js");
    const controlPlanes = Number(options.controlPlanes);
    return initCommand(folder, { ...options, controlPlanes }, context);
  });
}

function noFolderNamed(): CapstanError {
  return new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    message: "cannot write manifests: no folder is named",
    hint: "capstan init DIR",
  });
}

function addGraph(program: Command): void {
  const graph = withFiles(program.command("graph"))
    .description("draw what manifests compile to, as if nothing existed yet")
    .addOption(
      new Option("--format <format>", "for Mermaid or for Graphviz")
        .choices(["mermaid", "dot"])
        .default("mermaid"),
    );
  withExamples(graph, [
    ["capstan graph -f clusters/prod", "Mermaid, for Markdown"],
    ["capstan graph --format dot -f clusters/prod | dot -Tsvg > prod.svg", "a picture"],
  ]);
  does<GraphOptions>(graph, async ({ options, context }) => {
    const { graphCommand } = await import("../commands/graph.js");
    return graphCommand(options, context);
  });
}

function addRender(program: Command): void {
  const render = withYes(withFiles(program.command("render <machine-or-set>")))
    .option("--reveal", "show the private keys in the cluster's state, too; asks")
    .description("print what makes a node of a machine's host, without its secrets")
    .addOption(
      new Option("--format <format>", "how, or which part (default: as the host reads it)").choices(
        ["cloud-config", "ignition", "kubeadm", "script"],
      ),
    )
    .addOption(
      new Option(
        "--upgrade-from <version>",
        "of a host that runs this version of Kubernetes: the script that changes it in place",
      )
        .argParser(kubernetesVersion)
        .conflicts(["format", "reveal"]),
    );
  withExamples(render, [
    ["capstan render cp-0 -f clusters/prod", "user data of a member"],
    [
      "capstan render workers -f clusters/prod --format kubeadm",
      "what kubeadm reads on each of them",
    ],
    [
      "capstan render cp-0 -f clusters/prod --upgrade-from 1.33.6",
      "what brings a host that runs 1.33.6 to its manifest's version",
    ],
  ]);
  does<RenderOptions>(render, async ({ options, context }, name: string) => {
    const { renderCommand } = await import("../commands/render.js");
    return renderCommand(name, options, context);
  });
}
