/** Tests background processes on a real host, also behind a server that is killed during their start. */

import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { hasBubblewrap } from '../sandbox/bubblewrap.mjs'
import { type SandboxServer, startSandbox, token } from '../sandbox/server.mjs'
import { startModelServer } from '../support/model-server/server.ts'
import { createClient, eventually } from './support/client.ts'
import { deleteState, newState, type Server, startServer } from './support/server.ts'
import { modelSettings } from './support/shared.ts'

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

  it('have a number, a terminal and an input that ends; what is built there is run', async () => {
    const { server: started, client } = await start()
    const session = await client.newSession()
    const asked = async (tool: string, input: object) => {
      await client.chat(session, `[[call ${tool} ${JSON.stringify(input)} then say ok]]`)
      const messages = await client.messages(session)
      return JSON.parse(String(messages.findLast(({ role }) => role === 'tool')?.content)) as Record<string, unknown>
    }
    expect(await asked('terminal', { command: '[ -t 1 ] && echo screen', pty: true })).toMatchObject({
      output: 'screen',
      exit_code: 0,
    })
    // The server says that it keeps commands away from the machine: code of the project runs unasked.
    const build = 'echo "echo built" > build.sh && bash build.sh'
    expect(await asked('terminal', { command: build })).toMatchObject({ output: 'built', exit_code: 0 })
    const { session_id, pid } = await asked('terminal', { command: 'cat; echo over', pty: true, background: true })
    expect(pid).toBeGreaterThan(1)
    expect(await asked('process', { action: 'close', session_id })).toMatchObject({ status: 'ok' })
    const ended = await asked('process', { action: 'wait', session_id, timeout: 60 })
    expect(ended).toMatchObject({ status: 'exited', exit_code: 0, pid, output: expect.stringContaining('over') })
    await started.kill()
  }, 120_000)

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
