/** States how a Matrix homeserver is called, and what its failures mean. */

import { BoundedMap } from '#agent/core/bounded-map.ts'
import type { FailedOutcome } from '../call-api.ts'
import type { ChannelConnection } from '../channel.ts'
import { defineApi } from '../kit/api.ts'
import { pickNumber, pickText } from '../kit/pick.ts'

export const authorizationOf = ({ secrets }: ChannelConnection) => ({
  authorization: `Bearer ${secrets['access_token'] ?? ''}`,
})

export const callMatrix = defineApi({
  prefix: () => '_matrix/',
  headers: authorizationOf,
  readFailure: (body) => ({
    code: pickText(body, 'errcode'),
    message: pickText(body, 'error'),
    waitSeconds: (pickNumber(body, 'retry_after_ms') ?? Number.NaN) / 1_000,
  }),
  outcomes: [
    { codes: ['M_TOO_LARGE'], is: 'too_long' },
    {
      codes: ['M_FORBIDDEN', 'M_UNKNOWN_TOKEN', 'M_MISSING_TOKEN', 'M_NOT_FOUND', 'M_USER_DEACTIVATED'],
      is: 'forbidden',
    },
  ],
})

export const room = (id: string, path: string): string => `client/v3/rooms/${encodeURIComponent(id)}/${path}`

const ownIds = new BoundedMap<string, string>(500)

/** The user to whom the access token belongs. */
export async function getOwnId(
  connection: ChannelConnection,
): Promise<{ readonly id: string } | { readonly outcome: FailedOutcome; readonly code?: string | number }> {
  const key = `${connection.apiBase} ${connection.secrets['access_token'] ?? ''}`
  const known = ownIds.get(key)
  if (known !== undefined) return { id: known }
  const answer = await callMatrix(connection, { method: 'GET', path: 'client/v3/account/whoami' })
  if (answer.kind === 'failed') return answer
  const id = pickText(answer.result, 'user_id') ?? ''
  ownIds.set(key, id)
  return { id }
}
