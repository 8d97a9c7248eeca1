import type { Command } from "commander";
import { adminGroup } from "../../bootstrap/kubeconfig/admin-group.js";
import type { ExportOptions } from "../commands/certificates.js";
import type { RotateOptions } from "../commands/certificates-rotate.js";
import type { KubeconfigOptions } from "../commands/kubeconfig.js";
import type { GlobalOptions } from "../context.js";
import { changes, looks } from "../execute.js";
import { seconds, withDeadline, withExamples, withThaw, withTimeout, withYes } from "./options.js";

/** The first one given takes the place of the default. */
function group(text: string, earlier: readonly string[] | undefined): readonly string[] {
  return earlier === undefined || earlier === defaultGroups ? [text] : [...earlier, text];
}

const defaultGroups: readonly string[] = [adminGroup];

/** The verbs that let people and programs into a cluster: kubeconfig, certificates. */
export function addAccessVerbs(program: Command): void {
  addKubeconfig(program);
  const certificates = program
    .command("certificates")
    .description("the keys of a cluster: until when they count, a backup, and others for them");
  withExamples(certificates, [
    ["capstan certificates show default/prod", "until when they count"],
    ["capstan certificates export default/prod --out keys", "a backup"],
    ["capstan certificates rotate default/prod", "the next of three steps to other keys"],
  ]);
  addShow(certificates);
  addExport(certificates);
  addRotate(certificates);
}

function addKubeconfig(program: Command): void {
  const kubeconfig = program
    .command("kubeconfig")
    .argument("<stack>", "which cluster")
    .description("print what kubectl needs to talk to a cluster")
    .option("--user <name>", "whom the API server takes you for (default: USER@HOST)")
    .option("--group <name>", "a group of that user; may be repeated", group, defaultGroups)
    .option("--ttl <time>", "how long a certificate counts, e.g. 30m or 8h", seconds, 8 * 3_600)
    .option("--server <url>", "where the API server answers (default: as recorded)")
    .option("--exec", "let kubectl ask capstan for a new certificate when it needs one")
    .option("--credential", "print a certificate alone, as kubectl asks a plugin for one")
    .option("--merge", "add it to the kubeconfig of kubectl, or to that of --out")
    .option("--out <file>", "write a file that only you can read");
  withExamples(kubeconfig, [
    ["capstan kubeconfig default/prod --merge --exec", "once; kubectl then renews by itself"],
    ["capstan kubeconfig default/prod --out prod.yaml --ttl 1h", "for an hour"],
    ["capstan kubeconfig default/prod --user ann --group viewers", "for somebody else"],
  ]);
  looks<KubeconfigOptions>(kubeconfig, async ({ options, context }, stack: string) => {
    const { kubeconfigCommand } = await import("../commands/kubeconfig.js");
    return kubeconfigCommand(stack, options, context);
  });
}

const certificateCommands = () => import("../commands/certificates.js");

function addShow(certificates: Command): void {
  const show = certificates
    .command("show")
    .argument("<stack>", "which cluster")
    .description("show a cluster's authorities and until when they count");
  withExamples(show, [["capstan certificates show default/prod", "no secret is shown"]]);
  looks<GlobalOptions>(show, async ({ options, context }, stack: string) =>
    (await certificateCommands()).certificatesShowCommand(stack, options, context),
  );
}

function addExport(certificates: Command): void {
  const exported = certificates
    .command("export")
    .argument("<stack>", "which cluster")
    .description("write all keys of a cluster, private ones too")
    .option("--out <dir>", "a new folder, laid out as kubeadm reads it")
    .option("--secrets", "print Secrets in the layout of Cluster API instead");
  withExamples(exported, [
    ["capstan certificates export default/prod --out keys", "files that only you can read"],
    ["capstan certificates export default/prod --secrets", "for an API server"],
  ]);
  looks<ExportOptions>(exported, async ({ options, context }, stack: string) =>
    (await certificateCommands()).certificatesExportCommand(stack, options, context),
  );
}

function addRotate(certificates: Command): void {
  const rotate = withDeadline(withTimeout(withThaw(withYes(certificates.command("rotate")))))
    .argument("<stack>", "which cluster")
    .option("--to <keys>", 'the keys that hosts are to have: "1+2", then "2+1", then "2"')
    .option("--certificates <dir>", "keys of your own to rotate to, as kubeadm lays them out")
    .description(
      "replace every host by one with the next keys: trusted first, then signing, then alone",
    );
  withExamples(rotate, [
    ["capstan certificates rotate default/prod", "the next step; shows the plan and asks"],
    ["capstan certificates rotate default/prod --to 1+2 --yes", "for scripts"],
  ]);
  changes<RotateOptions>(rotate, async ({ options, context }, stack: string) => {
    const { certificatesRotateCommand } = await import("../commands/certificates-rotate.js");
    return certificatesRotateCommand(stack, options, context);
  });
}
