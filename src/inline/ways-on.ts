import { shellWord } from "../report/shell-word.js";

/** The stack of the running program, and what a person has to type to reach it. */
export interface ProgramStack {
  /** The folder of its Pulumi.yaml. */
  readonly root: string;
  /** What Pulumi calls the stack. */
  readonly stack: string;
  /** The manifests, absolute. */
  readonly files: readonly string[];
  /** It holds more than a cluster: capstan's own verbs change no such stack. */
  readonly isShared: boolean;
}

/** What to type next. Each is a command, or says why there is none. */
export interface WaysOn {
  /** Does what one pass cannot. */
  readonly up: string;
  readonly takeBack: string;
  /** Clears what a killed engine left behind. */
  readonly recover: string;
}

/** The commands that reach a stack from any folder, in the environment that this program runs in. Pure. */
export function waysOn({ root, stack, files, isShared }: ProgramStack): WaysOn {
  const capstan = `capstan --project ${shellWord(root)} --stack ${shellWord(stack)}`;
  const up = `${capstan} up${files.map((file) => ` -f ${shellWord(file)}`).join("")}`;
  if (!isShared) {
    return { up: `run ${up}`, takeBack: `${capstan} rollback`, recover: `run ${up}` };
  }
  const alone = `only capstan up does that, in a stack that holds nothing else: take the other resources out of it (pulumi state move), then run ${up}`;
  return {
    up: alone,
    takeBack: "pulumi up with the manifests of the last revision",
    recover: `run pulumi -C ${shellWord(root)} refresh --clear-pending-creates --stack ${shellWord(stack)}, then pulumi up with the same manifests`,
  };
}
