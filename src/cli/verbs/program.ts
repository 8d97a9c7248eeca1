import { Argument, Command } from "commander";
import { does, looks } from "../execute.js";
import { visible } from "../../api/visible.js";
import { SecretValues } from "../../provider/secret-values.js";
import { exitCodes } from "../exit.js";
import { packageVersion } from "../package.js";
import { addAccessVerbs } from "./access.js";
import { addApiServerVerbs, addMoveVerb, addWatchVerb } from "./api-server.js";
import { addChangingVerbs, addLookingVerbs } from "./clusters.js";
import { addHelp } from "./help.js";
import { addImportVerb } from "./import.js";
import { addLocalVerbs } from "./local.js";
import { addManifestVerbs } from "./manifests.js";
import { withExamples } from "./options.js";
import { addSimVerbs } from "./sim.js";
import { addStateVerbs, addUnlockVerb } from "./state.js";
import { addSweepVerb } from "./sweep.js";

/** Every verb with its options and help. Loads no verb's code. `silent` says no usage error itself. */
export function makeProgram({ silent = false } = {}): Command {
  const { scrub } = new SecretValues(process.env);
  const program = new Command("capstan")
    .description(
      "Kubernetes clusters as objects: planned, applied as one transaction, kept that way",
    )
    .version(packageVersion(), "--version")
    .option("--state <dir>", "folder for state, key file and local cloud (default: .capstan)")
    .option("--backend <url>", "any Pulumi backend instead of the state folder")
    .option("-C, --project <dir>", "work in this Pulumi project of yours, as it is set up")
    .option(
      "-s, --stack <name>",
      "work on this stack of that project (default: of the present one)",
    )
    .option("--json", "JSON lines instead of text")
    .option("--verbose", "say beside the output what is used: Pulumi, backend, code of the project")
    .exitOverride()
    .configureOutput({
      writeErr: (text) => {
        if (!silent) process.stderr.write(visible(scrub(text)));
      },
    })
    .showHelpAfterError("(capstan --help tells more)")
    .addHelpText("after", `\n${exitCodeText}`);
  withExamples(program, [
    ["capstan init demo", "write the manifests of a cluster"],
    ["capstan up -f demo", "make it"],
    ["capstan describe", "look at it"],
  ]);
  program.commandsGroup("Write manifests:");
  addManifestVerbs(program);
  program.commandsGroup("Change clusters:");
  addChangingVerbs(program);
  addImportVerb(program);
  addSweepVerb(program);
  addUnlockVerb(program);
  program.commandsGroup("Look at clusters:");
  addLookingVerbs(program);
  addStateVerbs(program);
  addAccessVerbs(program);
  program.commandsGroup("In an API server:");
  addApiServerVerbs(program);
  addWatchVerb(program);
  addMoveVerb(program);
  program.commandsGroup("More:");
  addLocalVerbs(program.command("local").description("play with the simulated cloud"));
  addSimVerbs(program.command("sim").description("serve simulated clouds to any client of theirs"));
  addOwnVerbs(program);
  addHelp(program);
  return program;
}

const exitCodeText = `Exit codes:
  0    done, or nothing to do
  1    failed; nothing was changed, or everything was taken back
  2    plan: changes are pending; drift: there is some; diff, history diff: they differ; sweep: something was found
  3    taken back, destroyed or swept incompletely: says what is left and what goes on
  4    failed with what exists kept and recorded
  5    somebody else works on the stack, or owns what the cloud holds
  6    what a saved plan was made from has changed
  64   bad usage
  65   bad input: nothing was touched
  130  interrupted; the same command goes on`;

/** The verbs about the program itself. */
function addOwnVerbs(program: Command): void {
  const completion = program
    .command("completion")
    .description("print a script that completes verbs, options, stacks and fields")
    .addArgument(new Argument("<shell>", "which shell").choices(["bash", "zsh", "fish"]));
  withExamples(completion, [
    ["source <(capstan completion bash)", "in ~/.bashrc"],
    ['capstan completion zsh > "$fpath[1]/_capstan"', "once"],
    ["capstan completion fish | source", "in ~/.config/fish/config.fish"],
  ]);
  does(completion, async ({ context }, shell: string) => {
    const { completionCommand } = await import("../commands/completion.js");
    return completionCommand(shell, context);
  });

  does(program.command("version").description("print the version"), ({ context }) => {
    const version = packageVersion();
    if (context.json) context.emit({ type: "version", version });
    else context.terminal.write(`capstan ${version}\n`);
    return exitCodes.done;
  });

  // Called by the completion scripts with the words so far, the last of which is being typed.
  looks(
    program.command("__complete [word...]", { hidden: true }),
    async (call, words: string[]) => {
      const { completeCommand } = await import("../commands/complete.js");
      return completeCommand(words, call.program, call.context);
    },
  );
}
