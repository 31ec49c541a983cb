/** The platforms there are. */

import type { Channel } from './channel.ts'
import { telegram } from './telegram/telegram.ts'

export const channels: readonly Channel[] = [telegram]

export const channelOf = (platform: string): Channel | undefined =>
  channels.find((channel) => channel.platform === platform)
