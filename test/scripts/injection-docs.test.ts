/** Tests the injection scan on files that explain things: the documents of this project. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { fenceUntrusted } from '#agent/untrusted/fence.ts'
import { scan } from '#agent/untrusted/injection-scan.ts'

it('at most 2 % of the documents are refused, and a fence never is', () => {
  const names = readdirSync('docs', { recursive: true }).map(String)
  const texts = names.filter((name) => name.endsWith('.md')).map((name) => readFileSync(join('docs', name), 'utf8'))
  const refused = texts.filter((text) => scan(text, 'context').length > 0)
  expect(texts.length).toBeGreaterThan(20)
  expect(refused.length / texts.length).toBeLessThanOrEqual(0.02)
  expect(scan(fenceUntrusted('Tea.', { source: 'x', nonce: 'n1' }), 'context')).toEqual([])
})
