/** Lists the messaging platforms. */

import type { Channel } from './channel.ts'
import { telegram } from './telegram/telegram.ts'

const platforms: readonly Channel[] = [telegram]
let current = platforms

export const listChannels = (): readonly Channel[] => current

export const findChannel = (platform: string): Channel | undefined =>
  current.find((channel) => channel.platform === platform)

/** For tests: replaces the list in this isolate; without an argument the platforms above are used again. */
export function replaceChannels(channels: readonly Channel[] = platforms): void {
  current = channels
}
