import type { PutObjectCommandInput, S3, S3ClientConfig } from "@aws-sdk/client-s3";
import { omitUndefined } from "../../api/omit-undefined.js";
import { plainPermits } from "./backend-permits.js";
import { s3Key, unescapedKey } from "./object-keys.js";
import type { S3Settings } from "./s3-settings.js";

/** The objects of a bucket that speaks the S3 protocol. */
export class S3Objects {
  readonly advice =
    "see that the bucket is reachable and the credentials may list, read and write there (docs/state.md#what-capstan-reads-by-itself); the same command then goes on";
  readonly permits = plainPermits(this);
  private opened: Promise<S3> | undefined;

  constructor(private readonly settings: S3Settings) {}

  async list(folder: string, abortSignal: AbortSignal): Promise<string[]> {
    const s3 = await this.client();
    const keys: string[] = [];
    const page = { Bucket: this.settings.bucket, Prefix: s3Key(`${folder}/`), Delimiter: "/" };
    for (let token: string | undefined, isEnd = false; !isEnd; isEnd = token === undefined) {
      const next = token === undefined ? page : { ...page, ContinuationToken: token };
      const { Contents = [], NextContinuationToken } = await s3.listObjectsV2(next, {
        abortSignal,
      });
      keys.push(...Contents.map(({ Key = "" }) => unescapedKey(Key)));
      token = NextContinuationToken;
    }
    // What consoles of clouds make of an empty folder is an object that is called like it.
    return keys.filter((key) => !key.endsWith("/"));
  }

  async read(key: string, abortSignal: AbortSignal): Promise<string | undefined> {
    const s3 = await this.client();
    try {
      const { Body } = await s3.getObject(this.at(key), { abortSignal });
      return await Body?.transformToString("utf8");
    } catch (error) {
      if (error instanceof Error && error.name === "NoSuchKey") return undefined;
      throw error;
    }
  }

  async write(key: string, text: string, abortSignal: AbortSignal): Promise<void> {
    const s3 = await this.client();
    const { encryption, kmsKeyId } = this.settings;
    const wanted = omitUndefined<PutObjectCommandInput>({
      ...this.at(key),
      Body: text,
      ServerSideEncryption: encryption as PutObjectCommandInput["ServerSideEncryption"],
      SSEKMSKeyId: kmsKeyId,
    });
    await s3.putObject(wanted, { abortSignal });
  }

  async remove(key: string, abortSignal: AbortSignal): Promise<void> {
    const s3 = await this.client();
    await s3.deleteObject(this.at(key), { abortSignal });
  }

  async close(): Promise<void> {
    const { opened } = this;
    this.opened = undefined;
    (await opened)?.destroy();
  }

  private at(key: string): { Bucket: string; Key: string } {
    return { Bucket: this.settings.bucket, Key: s3Key(key) };
  }

  private client(): Promise<S3> {
    this.opened ??= open(this.settings);
    return this.opened;
  }
}

async function open(settings: S3Settings): Promise<S3> {
  const { S3 } = await import("@aws-sdk/client-s3");
  const { region, profile, endpoint, fewChecksums } = settings;
  const { ofRequests, ofResponses } = fewChecksums;
  return new S3(
    omitUndefined<S3ClientConfig>({
      region,
      profile,
      endpoint,
      credentials: settings.keys ?? (await foundCredentials(profile)),
      forcePathStyle: settings.isPathStyle,
      useAccelerateEndpoint: settings.isAccelerated,
      useDualstackEndpoint: settings.isDualStack,
      useFipsEndpoint: settings.isFips,
      requestChecksumCalculation: ofRequests === undefined ? undefined : checksums(ofRequests),
      responseChecksumValidation: ofResponses === undefined ? undefined : checksums(ofResponses),
    }),
  );
}

/** Where all tools of AWS look: environment, profile, web identity, container, instance. */
async function foundCredentials(
  profile: string | undefined,
): Promise<NonNullable<S3ClientConfig["credentials"]>> {
  const { defaultProvider } = await import("@aws-sdk/credential-provider-node");
  return defaultProvider(profile === undefined ? {} : { profile });
}

function checksums(isFew: boolean): "WHEN_REQUIRED" | "WHEN_SUPPORTED" {
  return isFew ? "WHEN_REQUIRED" : "WHEN_SUPPORTED";
}
