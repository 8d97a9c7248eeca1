import type { CallContext, CreateContext, Identity, UserData } from "../provider/port.js";
import type { HostBootstrapper } from "./host-bootstrapper.js";
import { noUserData } from "./resource-refusals.js";

/** What a create is given. A call that is repeated with its token has to say the same again, so user data is made once. */
export function createContextOf(
  context: CallContext,
  bootstrap: HostBootstrapper | undefined,
  who: Identity,
): CreateContext {
  let made: Promise<UserData> | undefined;
  return {
    ...context,
    userData: async () => {
      if (bootstrap === undefined) throw noUserData(who.kind, who);
      made ??= bootstrap.userDataFor(context, who).catch((error: unknown) => {
        made = undefined;
        throw error;
      });
      return made;
    },
  };
}
