import { expect, it } from 'vitest'
import { describeRule } from '#agent/core/permission/approval.ts'

it.each([
  ['terminal', 'git push', 'every command "git push …"'],
  ['write_file', '/workspace/.env', 'every call of write_file for "/workspace/.env"'],
  ['execute_code', '*', 'every call of execute_code'],
])('describes the rule of %s: %s', (tool, rule, described) => {
  expect(describeRule(tool, rule)).toBe(described)
})
