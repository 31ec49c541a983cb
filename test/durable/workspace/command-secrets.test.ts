/** Tests which secrets of a tenant reach commands, and that nothing of them stays for the next command. */

import { expect, it } from 'vitest'
import type { ExecOptions, ExecResult } from '#agent/core/backend.ts'
import { secretName } from '#agent/core/secrets/secret-name.ts'
import { execWithSecrets, grantedSecrets } from '#durable/workspace/command-secrets.ts'

const all = new Map([
  ['A', 'value-of-a'],
  ['B', 'value-of-b'],
])

it('only secrets that the settings name are granted', () => {
  expect(grantedSecrets({}, all)).toEqual({})
  expect(grantedSecrets({ terminal: { secrets: [] } }, all)).toEqual({})
  expect(grantedSecrets({ terminal: { secrets: ['B', 'MISSING'] } }, all)).toEqual({ B: 'value-of-b' })
})

it('a command gets the secrets, and the next one nothing of what it did with them', async () => {
  const secrets = { env: { A: 'value-of-a' }, isIn: (text: string) => text.includes('value-of-a') }
  const options = { cwd: '/workspace', env: { A: 'mine', PAGER: 'cat' }, timeoutMs: 1 }
  const result: ExecResult = {
    exitCode: 0,
    stdout: '',
    stderr: '',
    truncated: false,
    timedOut: false,
    cwd: '/workspace/value-of-a',
    env: { A: 'changed', COPY: 'Bearer value-of-a', OTHER: '1' },
    ms: 1,
  }
  const received: ExecOptions['env'][] = []
  const backend = {
    exec: async (_command: string, { env }: ExecOptions) => {
      received.push(env)
      return result
    },
  }
  const after = await execWithSecrets(backend, 'run', options, secrets)
  expect(after).toMatchObject({ cwd: '/workspace' })
  expect(after.env).toEqual({ OTHER: '1' })
  expect(await execWithSecrets(backend, 'run', options, { ...secrets, env: {} })).toBe(result)
  expect(received).toEqual([{ A: 'value-of-a', PAGER: 'cat' }, options.env])
})

it.each([
  'PATH',
  'LD_PRELOAD',
  'BASH_ENV',
  'IFS',
  'NODE_OPTIONS',
  'GIT_SSH_COMMAND',
  'HTTPS_PROXY',
  'a',
  '1A',
  'A-B',
  '',
])('a secret cannot have the name %j', (name) => {
  expect(secretName.safeParse(name).success).toBe(false)
})

it.each(['GITHUB_TOKEN', 'GIT_TOKEN', 'NODE_AUTH_TOKEN', 'NPM_TOKEN', '_A', 'A'.repeat(64)])(
  'a secret can have the name %s',
  (name) => {
    expect(secretName.safeParse(name).success).toBe(true)
  },
)
