/** Tests the status of sessions in lists. */

import { expect, it } from 'vitest'
import { getStatuses } from '#worker/sessions.ts'
import { ownerAuthority } from '../support/authority.ts'

it('a session without a status does not affect the others', async () => {
  const sessions = Array.from({ length: 30 }, (_, i) => ({ id: `ses_${i}` }))
  const getByName = (name: string) => ({
    info: {
      status: async () => {
        if (name.endsWith('/ses_0')) throw new Error('The object was reset.')
        // Later than the one that fails at once.
        await scheduler.wait(1)
        return 'running'
      },
    },
  })
  const statuses = await getStatuses(
    { env: { SESSION: { getByName } } as unknown as Env, authority: ownerAuthority() },
    sessions,
  )
  expect(sessions.filter(({ id }) => statuses.get(id) !== 'running')).toEqual([{ id: 'ses_0' }])
})
