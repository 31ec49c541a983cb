/** Lists the clients of the HTTP API that say who they are when they create a session. */

/** `web` is the page, `acp` a code editor. */
export const clientSources = ['api', 'cli', 'acp', 'web'] as const

export const isClientSource = (source: string): boolean => clientSources.some((one) => one === source)
