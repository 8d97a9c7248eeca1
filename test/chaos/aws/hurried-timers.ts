// Preloaded by the commands of a campaign (`node --import`): the simulator's time goes sixty times as fast, so the long waits of a command may
// be over sooner as well. They stay longer, in the simulator's time, than what they wait for.

/** Pauses between two looks are short already. */
const longMs = 3_000;
const speed = 20;

const usual = globalThis.setTimeout;

globalThis.setTimeout = Object.assign(
  (work: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) =>
    usual(work, ms >= longMs ? ms / speed : ms, ...args),
  usual,
);
