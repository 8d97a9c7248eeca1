import { isCapstanError } from "../../../src/api/error.js";
import type { CallContext } from "../../../src/provider/port.js";
import type { AskEc2 } from "./ec2-kind.js";

/** So much of the end of what an instance has printed is of use, characters. */
const mostCharacters = 8_192;

/** The last lines that an instance printed: as they are now where its type can tell, or as EC2 kept them after a boot. */
export async function consoleOf(
  ask: AskEc2,
  ctx: CallContext,
  InstanceId: string,
): Promise<string> {
  const output = async (Latest: boolean) => {
    const { Output = "" } = await ask(ctx, "GetConsoleOutput", (ec2, options) =>
      ec2.getConsoleOutput({ InstanceId, Latest }, options),
    );
    return Buffer.from(Output, "base64").toString("utf8").slice(-mostCharacters);
  };
  try {
    return await output(true);
  } catch (error) {
    if (!isCapstanError(error) || error.code !== "INVALID_INPUT") throw error;
    return output(false);
  }
}
