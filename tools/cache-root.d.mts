/** The folder for what can be made again: CAPSTAN_CACHE, else the user's cache folder. Pure. */
export declare function cacheRoot(env: NodeJS.ProcessEnv): string;
