/** Names the sign with which people begin a command on a platform. Some keep messages with `/` for their own commands. */

const prefixes = new Map([
  ['slack', '!'],
  ['twitch', '!'],
])

export const commandPrefixOf = (platform: string): string => prefixes.get(platform) ?? '/'
