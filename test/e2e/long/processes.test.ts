/** Tests that background processes on a real host survive killed servers, and start once. `npm run chaos` runs it. */

import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { hasBubblewrap } from '../../sandbox/bubblewrap.mjs'
import { type SandboxServer, startSandbox, token } from '../../sandbox/server.mjs'
import { startModelServer } from '../../support/model-server/server.ts'
import { createClient, eventually } from '../support/client.ts'
import { deleteState, newState, type Server, startServer } from '../support/server.ts'
import { modelSettings } from '../support/shared.ts'

/** A process that is not young any more is looked at every half minute. */
const patienceMs = 60_000

/** Processes of this computer with such a command line. */
const runningLike = (words: string): number =>
  readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim() === words
    } catch {
      return false
    }
  }).length

describe.skipIf(!hasBubblewrap)('background processes on the http backend (needs bubblewrap)', async () => {
  const state = newState()
  const model = await startModelServer()
  let sandbox: SandboxServer | undefined
  let server: Server | undefined
  afterAll(async () => {
    await server?.kill()
    await sandbox?.stop()
    await model.close()
    deleteState(state)
  })

  const start = async (env: Readonly<Record<string, string>> = {}) => {
    sandbox ??= await startSandbox()
    const backend = { SANDBOX_HTTP_URL: sandbox.url, SANDBOX_HTTP_TOKEN: token, SANDBOX_BACKEND: 'http' }
    server = await startServer({ state, env: { ...modelSettings(model.url), ...backend, ...env } })
    return { server, client: createClient(server.url, server.key) }
  }
  const terminal = (input: object) => `[[call terminal ${JSON.stringify({ background: true, ...input })} then say ok]]`
  const newsIn = async (client: ReturnType<typeof createClient>, session: string) =>
    (await client.messages(session)).filter((message) => (message as { source?: string }).source === 'process')

  it('survive the server, are reported once, and end with their session', async () => {
    const first = await start()
    const session = await first.client.newSession()
    const wait = 'while [ ! -e go ]; do sleep 0.1; done'
    const command = `echo started >> count; ${wait}; echo finished; exit 3`
    const run = await first.client.chat(session, terminal({ command, notify_on_complete: true }))
    expect(run.json.output).toBe('ok')
    await first.client.chat(session, terminal({ command: 'sleep 98765' }))
    await eventually(() => runningLike('sleep 98765'), Boolean)
    await first.server.kill()

    const second = await start()
    const file = (name: string) => `/api/sessions/${session}/files/${name}`
    expect((await second.client.send('PUT', file('go'), { raw: 'x' })).status).toBeLessThan(300)
    const [news] = await eventually(
      () => newsIn(second.client, session),
      (found) => found.length > 0,
      patienceMs,
    )
    expect(String(news?.content)).toContain('exited with code 3')
    expect(String(news?.content)).toContain('| finished')
    expect((await second.client.get(file('count'))).text).toBe('started\n')
    await second.server.kill()

    const third = await start()
    const again = await third.client.chat(session, '[[call process {"action":"list"} then say ok]]')
    expect(again.json.output).toBe('ok')
    const messages = await third.client.messages(session)
    const list = JSON.parse(String(messages.findLast(({ role }) => role === 'tool')?.content)) as {
      processes: { status: string; exit_code?: number }[]
    }
    expect(list.processes.map(({ status, exit_code: code }) => [status, code])).toEqual([
      ['exited', 3],
      ['running', undefined],
    ])
    expect(await newsIn(third.client, session)).toHaveLength(1)
    expect((await third.client.send('DELETE', `/api/sessions/${session}`)).status).toBeLessThan(300)
    await eventually(
      () => runningLike('sleep 98765'),
      (count) => count === 0,
    )
    await third.server.kill()
  }, 240_000)

  it('are started once when the server is killed during the start', async () => {
    const first = await start({ FAILPOINTS: 'during-tool=hang@1' })
    const session = await first.client.newSession()
    const input = terminal({ command: 'echo started >> count; sleep 98764' })
    await first.client.post(`/api/sessions/${session}/steer`, { input })
    await first.server.printed('FP:during-tool')
    await eventually(() => runningLike('sleep 98764'), Boolean)
    await first.server.kill()

    const { client } = await start()
    const messages = await eventually(
      () => client.messages(session),
      (found) => found.at(-1)?.role === 'assistant' && found.at(-1)?.content === 'ok',
      patienceMs,
    )
    const result = messages.find(({ role }) => role === 'tool')?.content
    expect(JSON.parse(String(result))).toMatchObject({ session_id: expect.stringMatching(/^proc_/), exit_code: 0 })
    expect((await client.get(`/api/sessions/${session}/files/count`)).text).toBe('started\n')
    expect(runningLike('sleep 98764')).toBe(1)
    await client.send('DELETE', `/api/sessions/${session}`)
    await eventually(
      () => runningLike('sleep 98764'),
      (count) => count === 0,
    )
  }, 240_000)
})
