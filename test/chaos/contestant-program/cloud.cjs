// Opens the simulated cloud for one call, with a token for it.

const { randomUUID } = require("node:crypto");
const { setTimeout: sleep } = require("node:timers/promises");

module.exports = () => {
  const { LocalCloud } = require(process.env.CONTESTANT_CLOUD_MODULE);
  const clock = { now: Date.now, sleep: (ms) => sleep(ms) };
  return { cloud: new LocalCloud(process.env.CONTESTANT_CLOUD_FILE, clock), token: randomUUID() };
};
