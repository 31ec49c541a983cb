/** Lists the messaging platforms with all that a connection to each needs, for set-up pages. */

import type { Channel } from '#channels/channel.ts'
import { listPlatforms, loadChannel } from '#channels/channels.ts'

/** Loads the code of every platform. Only set-up pages ask. */
export async function listCatalogue() {
  const channels = await Promise.all(listPlatforms().map(loadChannel))
  return channels.flatMap((channel) => (channel ? [describePlatform(channel)] : []))
}

const describePlatform = ({ platform, name, secrets, needsAddress, ownSettings = [], poll, openSocket }: Channel) => ({
  platform,
  name,
  delivery: ['webhook', ...(poll ? ['polling'] : []), ...(openSocket ? ['socket'] : [])],
  secrets: Object.entries(secrets).map(([key, { hint, isGenerated, for: delivery }]) => ({
    name: key,
    required: !isGenerated && delivery !== 'socket',
    hint,
    ...(delivery && { delivery }),
  })),
  settings: [...(needsAddress ? ['address'] : []), ...ownSettings],
  guide: `/docs/${platform.replaceAll('_', '-')}.html`,
})
