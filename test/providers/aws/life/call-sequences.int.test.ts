import assert from "node:assert/strict";
import { steppingClock } from "../../../../src/provider-conformance/index.js";
import { Moto } from "../../../provider/ec2/moto.js";
import { classicElbOf, clientsOf, elbOf, secretsOf } from "../aws-moto.js";
import { WatchedClients } from "../watched-clients.js";
import { differencesBetween, sequencesOf } from "./call-sequences.js";
import { AwsLife } from "./life.js";
import { SimCloud } from "./sim-cloud.js";

/** moto takes ten tags of a target group. */
const tags = { stage: "test" };

/** moto shows no groups of a host whose interface the launch describes, as that of a public one. */
const isPrivate = true;

/** Steps that take other calls on moto, and why: none, since waiting counts once. */
const differences: ReturnType<typeof differencesBetween> = {};

describe("the calls of a life on AWS", () => {
  let moto: Moto;
  before(async () => {
    moto = await Moto.start();
  });
  after(() => moto.stop());

  it("are the same on the simulator and on moto, but for what is listed", async () => {
    const { images } = await moto.account();
    const clock = steppingClock(Date.now());
    const watched = new WatchedClients(moto.connect().ec2, elbOf(moto), clock);
    const clients = {
      ec2: watched.ec2,
      elb: watched.elb,
      classicElb: classicElbOf(moto),
      secrets: secretsOf(moto),
    };
    const onMoto = new AwsLife(
      {
        clients: clientsOf(moto, clients),
        clock,
        controllers: {
          ec2: moto.connect().ec2,
          classicElb: classicElbOf(moto),
          secrets: secretsOf(moto),
        },
      },
      { tags, machine: { image: { id: images[0] }, software: "apt" }, isPrivate },
    );
    const cloud = new SimCloud();
    const { Images = [] } = await cloud.ec2.describeImages({});
    const image = { image: { id: Images[0]?.ImageId ?? "" }, software: "apt" };
    const simulated = await sequencesOf(
      cloud,
      new AwsLife(cloud, { tags, machine: image, isPrivate }),
    );
    const judged = await sequencesOf(clients, onMoto);
    assert.ok(simulated.size > 100, `${simulated.size} steps`);
    assert.deepEqual(differencesBetween(simulated, judged), differences);
  });
});
