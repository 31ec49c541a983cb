/** Tests what becomes of a case of `talaria eval` whose run does not end, fails, or whose files cannot be read. */

import { describe, expect, it } from 'vitest'
import { runCase, stopAll } from '../../../cli/eval/run-case.mjs'

type Answers = { readonly status?: string; readonly response?: object; readonly file?: number }

/** A server with one session. */
function fakeClient({ status = 'idle', response = { status: 'completed', output: [] }, file = 404 }: Answers) {
  const asked: string[] = []
  const bodies = new Map<string, Readonly<Record<string, unknown>>>()
  return {
    asked,
    bodies,
    async call(method: string, path: string, body: Readonly<Record<string, unknown>>) {
      asked.push(`${method} ${path}`)
      bodies.set(`${method} ${path}`, body)
      return { body: path === '/api/sessions' ? { id: 'ses_1' } : { id: 'resp_1' } }
    },
    get: async (path: string) => (path.startsWith('/v1/responses/') ? response : { status, usage: { cost_usd: 0.25 } }),
    list: async () => [],
    fetch: async () => new Response('', { status: file }),
  }
}
const absent = { file: { path: 'a.txt', absent: true } }
const caseOf = (more: object = {}) => ({ name: 'x', messages: ['go'], assert: [absent], ...more })

describe('a run', () => {
  it('that does not end in its time is stopped, and keeps its session, its mark and its cost', async () => {
    const client = fakeClient({ status: 'running', response: { status: 'in_progress', output: [] } })
    const run = await runCase(client, caseOf({ timeoutSeconds: 0.2 }), undefined)
    expect(run).toMatchObject({
      session: 'ses_1',
      cost: 0.25,
      failures: [{ reason: 'It did not end within 0.2 seconds.' }],
    })
    expect(run.ms).toBeLessThan(2_000)
    expect(client.asked).toContain('POST /api/sessions/ses_1/stop')
    expect(client.bodies.get('PATCH /api/sessions/ses_1')).toEqual({ tags: ['eval', 'eval-failed'] })
    expect(client.bodies.get('POST /v1/responses')).toMatchObject({ background: true })
  })

  it('that is interrupted is stopped', async () => {
    const client = fakeClient({ status: 'running', response: { status: 'in_progress', output: [] } })
    const running = runCase(client, caseOf({ timeoutSeconds: 0.3 }), undefined)
    await expect.poll(() => client.asked).toContain('POST /v1/responses')
    await stopAll(client)
    expect(client.asked).toContain('POST /api/sessions/ses_1/stop')
    await running
    client.asked.length = 0
    await stopAll(client)
    expect(client.asked).toEqual([])
  })

  it('that fails has the reason of the server', async () => {
    const response = { status: 'failed', output: [], error: { message: 'No such model.' } }
    const { failures } = await runCase(fakeClient({ response }), caseOf(), undefined)
    expect(failures).toEqual([{ assertion: 'run', reason: 'No such model.' }])
  })

  it.each([
    [404, []],
    [200, ['a.txt is there']],
    [503, ['a.txt cannot be read: the server answered 503.']],
  ])('whose file is answered with %i', async (file, reasons) => {
    const { failures } = await runCase(fakeClient({ file }), caseOf(), undefined)
    expect(failures.map(({ reason }: { readonly reason: string }) => reason)).toEqual(reasons)
  })
})
