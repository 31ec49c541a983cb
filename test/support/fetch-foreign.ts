/** Creates the `fetchForeign` of connections: the guarded fetch, which trusts the stand-ins. */

import type { ChannelConnection } from '#channels/channel.ts'
import { createGuardedFetch } from '#durable/platform/guarded-fetch.ts'

const guardedFetch = createGuardedFetch({} as Env)

export const fetchForeign: ChannelConnection['fetchForeign'] = async (request) =>
  (await guardedFetch({ ...request, isTrusted: true, follow: true })).response
