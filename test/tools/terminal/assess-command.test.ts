import { describe, expect, it } from 'vitest'
import { shellPolicy } from '#agent/shell-policy/shell-policy.ts'
import type { BackendKind, BackendCapabilities } from '#agent/core/backend.ts'
import { assessCommand } from '#tools/terminal/assess-command.ts'
import { memoryBackend } from '../support/memory-backend.ts'

const shell = { read: () => ({ cwd: '/workspace', env: {} }), write: () => {}, policy: async () => shellPolicy }

type Said = Partial<Pick<BackendCapabilities, 'network' | 'isolated'>>

async function verdict(command: string, kind: BackendKind, said: Said) {
  const backend = memoryBackend()
  const machine = { ...backend, kind, capabilities: { ...backend.capabilities, ...said } }
  return (await assessCommand(command, '/workspace', { backend: machine, shell })).verdict
}

describe('assessCommand', () => {
  it.each([
    ['virtual', 'none', ['allow', 'allow', 'allow']],
    ['virtual', 'full', ['allow', 'ask', 'ask']],
    ['cloudflare', 'allowlist', ['allow', 'ask', 'ask']],
    ['daytona', 'full', ['allow', 'ask', 'ask']],
    ['vercel', 'none', ['allow', 'allow', 'allow']],
    ['http', 'none', ['allow', 'ask', 'ask']],
  ] as const)('on %s with the network %s: list, fetch, run project code → %j', async (kind, network, verdicts) => {
    const commands = ['ls -la', 'curl -s https://example.org/', 'bash build.sh']
    expect(await Promise.all(commands.map((command) => verdict(command, kind, { network })))).toEqual(verdicts)
  })

  it.each([
    [{ isolated: true, network: 'none' }, ['allow', 'allow']],
    [{ isolated: true, network: 'full' }, ['ask', 'ask']],
    [{ isolated: false, network: 'none' }, ['ask', 'ask']],
  ] as const)('on a server that reports %j: fetch, run project code → %j', async (said, verdicts) => {
    const commands = ['curl -s https://example.org/', 'bash build.sh']
    expect(await Promise.all(commands.map((command) => verdict(command, 'http', said)))).toEqual(verdicts)
  })
})
