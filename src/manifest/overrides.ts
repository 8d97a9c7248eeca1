import type { Setting } from "./override-forms.js";
import type { GivenBy, Variables } from "./variables.js";

/** What a command says beside its manifests. Part of what they say from then on, so also of every digest. */
export interface Overrides {
  /** Absent: `${NAME}` stands for itself. */
  readonly variables?: Variables;
  /** Who gives the variables; absent: options of the command. */
  readonly givenBy?: GivenBy;
  /** In the order of the command: the last one of a path counts. */
  readonly settings: readonly Setting[];
}

export const noOverrides: Overrides = { settings: [] };
