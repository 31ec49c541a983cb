/** Names the sign with which people begin a command on a platform. Slack keeps messages with `/` for its own commands. */

const prefixes = new Map([['slack', '!']])

export const commandPrefixOf = (platform: string): string => prefixes.get(platform) ?? '/'
