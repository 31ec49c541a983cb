import { expect, it } from 'vitest'
import { isReadOnly } from '#agent/shell-policy/shell-policy.ts'

it.each([
  'ls -la',
  'cat a.txt | grep x | wc -l',
  'cd d && pwd; head -n 3 b',
  'rg -n "a b" src',
  'if [ -f a ]; then cat a; fi',
])('%s is read-only', (command) => {
  expect(isReadOnly(command)).toBe(true)
})

it.each([
  'echo x > a',
  'cat a | tee b',
  'ls; rm a',
  'cat "$(touch a)"',
  'eval ls',
  'bash -c ls',
  'sed -i s/a/b/ a',
  'sort -o a a',
  'uniq a b',
  'find . -delete',
  'X=1 make',
  'cat <<E | sh\nls\nE',
  'git status',
  '',
  'ls |',
])('%s may change a file', (command) => {
  expect(isReadOnly(command)).toBe(false)
})
