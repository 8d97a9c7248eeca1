/**
 * Requests that change records and ownership tags alone. forget: `state forget` of a worker, whose host `import` then gives to another
 * Machine. forgetAmiss: `state forget` after an accident. import: of a host that bears no tags, also after an accident.
 */
export const requestVerbs = ["forget", "forgetAmiss", "import"] as const;
export type RequestVerb = (typeof requestVerbs)[number];

export function isRequest(command: string): command is RequestVerb {
  return requestVerbs.some((one) => one === command);
}
