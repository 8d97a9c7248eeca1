import { withoutPasswords } from "../engine/backend/project.js";
import { shellWord } from "../report/shell-word.js";

/** Where the clusters are that a command was told to work on. */
interface Whereabouts {
  readonly state?: string;
  readonly backend?: string;
  readonly project?: string;
  readonly stack?: string;
}

/** Verbs that find other clusters with another state folder or backend. */
const lookingVerbs =
  "plan|up|import|rollback|destroy|status|describe|history|drift|diff|sweep|unlock|watch|move|state|env|local|kubeconfig|certificates";
const namedCommand = new RegExp(`\\bcapstan (?=(?:${lookingVerbs})\\b)`, "g");

/**
 * A text for people in which the commands that it names work on the same clusters as the one that says
 * it: what this one was given by --state, --backend, --project and --stack, they have to be given too. A
 * password in the backend's URL is left out. Pure.
 */
export function withWhereabouts(
  text: string,
  { state, backend, project, stack }: Whereabouts,
): string {
  const options = [
    ...(state === undefined ? [] : [`--state ${shellWord(state)}`]),
    ...(backend === undefined ? [] : [`--backend ${shellWord(withoutPasswords(backend))}`]),
    ...(project === undefined ? [] : [`--project ${shellWord(project)}`]),
    ...(stack === undefined ? [] : [`--stack ${shellWord(stack)}`]),
  ];
  if (options.length === 0) return text;
  return text.replace(namedCommand, () => `capstan ${options.join(" ")} `);
}
