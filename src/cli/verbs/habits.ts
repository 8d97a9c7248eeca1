/** What people type who come from kubectl, terraform or pulumi, and what does it here, or why nothing does. */
const verbs: Readonly<Record<string, string>> = {
  apply: "capstan up plans, asks and applies; capstan up --plan FILE applies what was reviewed",
  preview: "capstan plan shows what up would do",
  get: "capstan status lists machines; capstan describe machine/NAME shows one",
  delete: "capstan destroy deletes clusters; a machine goes when it leaves the manifests",
  create: "capstan up makes what the manifests hold; capstan init DIR writes manifests",
  refresh: "every plan looks at the cloud; capstan drift shows what is no longer as recorded",
  show: "capstan describe shows a cluster; capstan history show N shows a transaction",
  output: "capstan describe --json has addresses and versions",
  rollout: "capstan history lists revisions; capstan rollback --to N goes to one",
  scale: "change replicas in the manifests, then capstan up",
  stack: "capstan status lists the stacks",
  logs: "capstan history show N tells what a transaction did; machines keep their own logs",
};

const options: Readonly<Record<string, string>> = {
  "--dry-run": "capstan plan is the dry run: it changes nothing",
  "--preview-only": "capstan plan is the dry run: it changes nothing",
  "--auto-approve": "--yes does not ask",
  "--target":
    "a change is applied whole or taken back, so no part of it can be left out; give what is to change alone a cluster of its own",
  "--replace": "a new template, or deleting the Machine, gives a new host; update policies say how",
  "--refresh": "every plan looks at the cloud anyway",
};

/** What is answered to a verb or option that is not ours; undefined for one that nobody is used to. Pure. */
export function habitAnswer(message: string): string | undefined {
  const [, verb] = /unknown command '([^']+)'/.exec(message) ?? [];
  const [, option] = /unknown option '(--[^'=]+)/.exec(message) ?? [];
  if (verb !== undefined) return own(verbs, verb);
  return option === undefined ? undefined : own(options, option);
}

function own(answers: Readonly<Record<string, string>>, word: string): string | undefined {
  return Object.hasOwn(answers, word) ? answers[word] : undefined;
}
