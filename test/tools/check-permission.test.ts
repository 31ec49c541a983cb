/** Tests that rules match all paths that a call touches, in every spelling. */

import { describe, expect, it } from 'vitest'
import { shellPolicy } from '#agent/shell-policy/shell-policy.ts'
import type { Tool } from '#agent/core/tool.ts'
import { checkPermission } from '#tools/check-permission.ts'
import patch from '#tools/file/patch.tool.ts'
import readFile from '#tools/file/read-file.tool.ts'
import writeFile from '#tools/file/write-file.tool.ts'
import { memoryBackend } from './support/memory-backend.ts'

const permitted = async (tool: Tool, input: object) => {
  const call = { id: 'c1', name: tool.name, input, effect: tool.effect, state: 'planned' } as const
  const shell = {
    read: () => ({ cwd: '/workspace/sub', env: {} }),
    write: () => undefined,
    policy: async () => shellPolicy,
  }
  const rules = [{ do: 'deny', tool: '*', match: '/workspace/prod.env' }] as const
  const found = await checkPermission(call, tool, {
    services: { backend: memoryBackend(), shell },
    policy: () => ({ mode: 'off', rules, grants: [], decisions: [] }),
    describeLocation: () => 'here',
    judge: async () => 'escalate',
    now: () => 0,
  })
  return found.do
}

const patchOf = (...lines: string[]) => ({
  mode: 'patch',
  patch: ['*** Begin Patch', ...lines, '*** End Patch'].join('\n'),
})
const replacing = (path: string) => ({ mode: 'replace', path, old_string: 'a', new_string: 'b' })

describe('a path that a rule denies', () => {
  it.each([
    [patch, replacing('prod.env')],
    [patch, patchOf('*** Delete File: prod.env')],
    [patch, patchOf('*** Update File: ./prod.env', '-a', '+b')],
    [patch, patchOf('*** Add File: a.txt', '+a', '*** Update File: sub/../prod.env', '-a', '+b')],
    [patch, patchOf('*** Update File: a.txt', '*** Move to: prod.env')],
    [patch, patchOf('*** Add File: a.txt', `+${'a'.repeat(3_000)}`, '*** Delete File: prod.env')],
    [writeFile, { path: 'prod.env', content: 'a' }],
    [writeFile, { path: `${'./'.repeat(1_100)}prod.env`, content: 'a' }],
    [readFile, { path: '/workspace//prod.env' }],
  ] as const)('is refused: %#', async (tool, input) => {
    expect(await permitted(tool, input)).toBe('refuse')
  })

  it.each([
    [patch, replacing('sub/prod.env')],
    [patch, patchOf('*** Add File: notes.md', '+/workspace/prod.env')],
    [writeFile, { path: 'sub/prod.env', content: 'a' }],
  ] as const)('does not affect other paths: %#', async (tool, input) => {
    expect(await permitted(tool, input)).toBe('run')
  })
})
