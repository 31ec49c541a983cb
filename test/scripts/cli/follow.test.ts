/** Tests how the command line follows a run that waits for a person. */

import { describe, expect, it } from 'vitest'
import { ApiError } from '../../../cli/client.mjs'
import { exits } from '../../../cli/exits.mjs'
import { followRun, withInterrupt } from '../../../cli/follow.mjs'

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

describe('Ctrl-C', () => {
  /** The run ends when it is stopped. */
  const interruptTimes = async (times: number) => {
    const requests: string[] = []
    let end = () => {}
    const stopped = new Promise<void>((resolve) => (end = resolve))
    const client = {
      call: async (_method: string, path: string) => {
        requests.push(path)
        end()
      },
    }
    const work = async (signal: AbortSignal) => {
      for (let n = 0; n < times; n++) process.emit('SIGINT')
      const left = new Promise((resolve) => signal.addEventListener('abort', resolve))
      if (!signal.aborted) await Promise.race([stopped, left])
      return signal.aborted
    }
    const isLeft = await withInterrupt(client, { session: 'ses_1', run: 'run_1' }, work)
    return { isLeft, requests }
  }

  it('stops the run', async () =>
    expect(await interruptTimes(1)).toEqual({ isLeft: false, requests: ['/api/sessions/ses_1/stop'] }))

  it('leaves the run running when it is pressed twice', async () =>
    expect(await interruptTimes(2)).toEqual({ isLeft: true, requests: [] }))
})
