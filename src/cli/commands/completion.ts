import { asVerbatim } from "../../api/leaving-text.js";
import { completionScripts, type Shell } from "../completion-scripts.js";
import type { CommandContext } from "../context.js";
import { exitCodes } from "../exit.js";

/** capstan completion: the script of a shell, one of those that the program lists. */
export function completionCommand(shell: string, { json, emit, terminal }: CommandContext): number {
  const script = completionScripts[shell as Shell];
  if (json) emit({ type: "completion", shell, script });
  else terminal.document(asVerbatim(script));
  return exitCodes.done;
}
