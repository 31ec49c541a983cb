/** Tests servers that are programs with the reference server as npm ships it, in jobs of this machine. */

import { type ChildProcess, spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { afterAll, describe, expect, it } from 'vitest'
import { provideScheduler } from './scheduler.ts'
import type { Jobs } from '#agent/core/backend.ts'
import { type McpEndpoint, openPeer, request } from '#durable/tenant/mcp/mcp-client.ts'
import { createProgramFetch, type StdioProgram } from '#durable/tenant/mcp/stdio-program.ts'

const everything = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js')
provideScheduler()
const control = { timeoutMs: 30_000 }

type Job = { readonly child: ChildProcess; output: string }
const started = new Map<string, Job>()
afterAll(() => started.forEach(({ child }) => child.kill('SIGKILL')))

/** Jobs as hosts run them: both streams in one output, and an environment of their own. */
const jobs: Jobs = {
  start: async (id, command, { env = {} }) => {
    if (started.has(id)) return undefined
    const child = spawn('bash', ['--norc', '-c', command], { env: { PATH: process.env['PATH'], ...env } })
    const job: Job = { child, output: '' }
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (data: Buffer) => (job.output += data.toString()))
    child.stdin.on('error', () => undefined)
    started.set(id, job)
    return child.pid
  },
  state: async (id) => {
    const job = started.get(id)
    if (!job) return { at: 'lost', reason: 'replaced' }
    const { exitCode, signalCode } = job.child
    return exitCode === null && signalCode === null ? { at: 'running' } : { at: 'exited', exitCode: exitCode ?? 137 }
  },
  output: async (id, from) => {
    const text = started.get(id)?.output.slice(from) ?? ''
    return { text, next: from + text.length }
  },
  write: async (id, text) => void started.get(id)?.child.stdin?.write(text),
  kill: async (id) => void started.get(id)?.child.kill('SIGKILL'),
}

let sessions = 0

function open(program: Partial<StdioProgram>): McpEndpoint {
  const whole = {
    alias: 'files',
    command: process.execPath,
    args: [],
    env: {},
    sessionId: `s${++sessions}`,
    ...program,
  }
  return {
    url: 'stdio:files',
    transport: 'http',
    headers: {},
    isTrustedAddress: false,
    guardedFetch: createProgramFetch(jobs, whole),
  }
}

const callTool = (name: string, input: object) => ({ method: 'tools/call', params: { name, arguments: input } })

describe('a server that is a program', () => {
  it('lists its tools, answers calls with its own environment, and starts again after its end', async () => {
    const endpoint = open({ args: [everything, 'stdio'], env: { GREETING: 'hello from the row' } })
    const { peer } = await openPeer(endpoint, control)
    expect(peer).toMatchObject({ era: 'legacy', version: '2025-11-25' })
    const { tools } = await request(endpoint, peer, { method: 'tools/list' }, control)
    expect((tools as { name: string }[]).map(({ name }) => name)).toContain('get-env')
    const shown = JSON.stringify(await request(endpoint, peer, callTool('get-env', {}), control))
    expect(shown).toContain('hello from the row')
    expect(shown).not.toContain('VITEST')
    const progress: string[] = []
    const long = callTool('trigger-long-running-operation', { duration: 1, steps: 2 })
    await request(endpoint, peer, long, { ...control, onProgress: (text) => progress.push(text) })
    expect(progress).not.toEqual([])
    const [first] = [...started.values()].slice(-1)
    first?.child.kill('SIGKILL')
    await new Promise((resolve) => first?.child.once('exit', resolve))
    const again = await request(endpoint, peer, callTool('echo', { message: 'once more' }), control)
    expect(JSON.stringify(again)).toContain('once more')
  })

  it.each([
    ['there is none', 'no-such-program', /ended: [\s\S]*no-such-program/],
    ['it complains', 'cat /no-such-file', /ended: [\s\S]*no-such-file/],
  ])('says with its last words why it has ended when %s', async (_, line, said) => {
    const [command = '', ...args] = line.split(' ')
    await expect(openPeer(open({ command, args }), control)).rejects.toThrow(said)
  })

  it('that answers nothing is waited for no longer than the call may take', async () => {
    const endpoint = open({ command: 'sleep', args: ['60'] })
    const peer = { era: 'modern', version: '2026-07-28' } as const
    const begun = performance.now()
    await expect(request(endpoint, peer, callTool('a', {}), { timeoutMs: 400 })).rejects.toThrow('in time')
    expect(performance.now() - begun).toBeLessThan(20_000)
  })
})
