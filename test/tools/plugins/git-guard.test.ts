/** Tests the guard of pushes: what it refuses, what it has a person look at, and what it lets pass. */

import { expect, it } from 'vitest'
import gitGuard from '#tools/plugins/git-guard.plugin.ts'
import type { BuiltInHook } from '#tools/plugins/define-plugin.ts'

const hook: BuiltInHook = gitGuard.createHooks().pre_tool_call
const decide = (args: object) => (hook.run({ tool_name: 'terminal', args }) as { action: string } | undefined)?.action

it.each([
  ['git push --force origin topic', 'block'],
  ['git push -uf origin topic', 'block'],
  ['git push --force-with-lease', 'block'],
  ['git push origin +topic', 'block'],
  ['git push origin :topic', 'block'],
  ['git push origin HEAD:refs/heads/main', 'block'],
  ['cd x && git -C . push origin "main"', 'block'],
  ['/usr/bin/git \\\n push origin master', 'block'],
  ['git push', 'approve'],
  ['git push origin topic/main', 'approve'],
  ['git fetch; (git push origin topic)', 'approve'],
  ['git stash push', undefined],
  ['git log; echo push', undefined],
  ['npm run push', undefined],
])('%s: %s', (command, action) => {
  expect(decide({ command })).toBe(action)
})

it('reads programs and lists of commands', () => {
  expect(decide({ code: "subprocess.run(['git', 'push', 'origin', 'main'])" })).toBe('block')
  expect(decide({ command: ['git status', 'git push'] })).toBe('approve')
  expect(decide({})).toBeUndefined()
})
