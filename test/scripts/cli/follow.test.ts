/** Tests how the command line follows a run that waits for a person. */

import { describe, expect, it } from 'vitest'
import { ApiError } from '../../../cli/client.mjs'
import { exits } from '../../../cli/exits.mjs'
import { followRun } from '../../../cli/follow.mjs'

const request = { type: 'approval.request', run_id: 'run_1', approval_id: 'app_1', tool: 'terminal', input: {} }
const end = { type: 'run.completed', run_id: 'run_1', output: '' }
const client = {
  async *events() {
    yield request
    yield end
  },
}
const follow = (ask?: () => Promise<unknown>): Promise<number> =>
  followRun(client, { session: 'ses_1', run: 'run_1', after: 0, show: 'final', ask })

describe('a run that waits for a person', () => {
  it.each([
    ['that nobody is asked', undefined, exits.waits],
    ['that was left without an answer', async () => false, exits.waits],
    ['that was answered', async () => true, exits.done],
    ['that is left to others', async () => undefined, exits.done],
    [
      'that somebody else has answered',
      async () => {
        throw new ApiError('Decided.', { status: 409 })
      },
      exits.done,
    ],
  ])('ends the command for a request %s with the right code', async (_request, ask, code) =>
    expect(await follow(ask)).toBe(code),
  )
})
