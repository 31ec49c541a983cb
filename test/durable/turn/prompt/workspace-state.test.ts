/** Tests the state of a workspace on a host of the operator: the host is asked once, and a failure tells nothing. */

import { describe, expect, it } from 'vitest'
import type { ExecOptions } from '#agent/core/backend.ts'
import { createMetadata, type SessionMetadata } from '#durable/storage/session-metadata.ts'
import { readWorkspaceState } from '#durable/turn/prompt/workspace-state.ts'
import type { TurnSession } from '#durable/turn/turn-session.ts'
import { memoryBackend } from '#test/tools/support/memory-backend.ts'

const status = '## main...origin/main [ahead 1]\n M src/a.ts\n?? hunter2.txt\n'

function setUp(answer: (command: string) => string | Error) {
  const commands: string[] = []
  const environments: ExecOptions['env'][] = []
  const memory = memoryBackend({ '.git/HEAD': 'ref: refs/heads/main' })
  let meta: SessionMetadata = createMetadata({ id: 'ses_1', tenantId: 'acme' }, {}, { owner: 'key:admin', now: 5 })
  const exec = async (command: string, { env }: ExecOptions) => {
    commands.push(command)
    environments.push(env)
    const stdout = answer(command)
    if (stdout instanceof Error) throw stdout
    return { exitCode: 0, stdout, stderr: '', truncated: false, timedOut: false, cwd: '/workspace', env: {}, ms: 1 }
  }
  const session = () =>
    ({
      meta,
      updateMeta: (change: Partial<SessionMetadata>) => void (meta = { ...meta, ...change }),
      toolRuntime: {
        backend: { ...memory, kind: 'http', inspect: exec },
        processes: { list: () => [] },
        fileMarks: { all: () => ({ isForeign: true }) },
      },
      store: { contextEntries: () => [] },
      redact: (text: string) => text.replaceAll('hunter2', '[secret]'),
    }) as unknown as TurnSession
  return { read: () => readWorkspaceState(session(), true), commands, environments }
}

const onHost = (command: string) =>
  command.startsWith('git') ? status : 'Linux 6.8.0 x86_64\n/usr/bin/git\n/usr/local/bin/node\n'

describe('the state of a workspace on a host', () => {
  it('has branch, changes and host, masked, with the marks of the files', async () => {
    const { read } = setUp(onHost)
    const state = await read()
    expect(state?.text.split('\n')).toEqual([
      'Branch: main...origin/main [ahead 1]',
      'Changes that are not committed: 2',
      ' M src/a.ts',
      '?? [secret].txt',
      'Host: Linux 6.8.0 x86_64, with git, node',
    ])
    expect(state?.marks).toEqual({ isForeign: true, isPrivate: true })
  })

  it('asks the host once, and lets no setting of the repository run a program', async () => {
    const { read, commands, environments } = setUp(onHost)
    await read()
    expect((await read())?.text).toContain('Host: Linux')
    expect(commands.filter((command) => command.startsWith('uname'))).toHaveLength(1)
    expect(environments[commands.findIndex((command) => command.startsWith('git'))]).toMatchObject({
      GIT_CONFIG_KEY_0: 'core.fsmonitor',
      GIT_CONFIG_VALUE_0: 'false',
    })
  })

  it('tells nothing when the host fails', async () => {
    expect(await setUp(() => new Error('gone')).read()).toBeUndefined()
  })
})
