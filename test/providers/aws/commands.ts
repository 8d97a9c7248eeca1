/** Where a client of the SDK lets others see its commands. */
export interface Stack {
  readonly add: unknown;
}

interface Args {
  readonly input: unknown;
}
type Next = (args: Args) => Promise<{ output: unknown; response: unknown }>;

/** Puts itself between a client and whatever carries its commands out. */
export function onCommands(
  stack: Stack,
  carryOut: (commandName: string, args: Args, next: Next) => ReturnType<Next>,
): void {
  // The commands of a client have no common type.
  const add = stack.add as (
    middleware: (next: Next, context: { commandName?: string }) => Next,
    options: { step: "initialize" },
  ) => void;
  add.call(
    stack,
    (next, { commandName = "" }) =>
      (args) =>
        carryOut(commandName, args, next),
    { step: "initialize" },
  );
}
