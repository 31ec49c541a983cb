/** Tests that patched PDF.js counts its loops and functions and otherwise behaves the same. */

import { describe, expect, it } from 'vitest'
import { counts, limitPdfjs } from '../../scripts/lib/pdfjs.mjs'

/** Runs code that sets `result` with a limit of steps, and returns both. */
function run(code: string, most = 1_000): { readonly result: unknown; readonly steps: number } {
  const given = `let steps = 0; const $step = () => { if (++steps > most) throw new Error('too many steps') }`
  return new Function('most', `${given}; let result; ${counts(code)}; return { result, steps }`)(most)
}

describe('counted code', () => {
  it.each([
    ['a loop', 'result = 0; for (let i = 0; i < 3; i++) result += i', 3, 3],
    [
      'a loop in a loop, without braces',
      'result = ""; for (const a of "ab") for (const b of "cd") result += a + b',
      'acadbcbd',
      6,
    ],
    [
      'else of the right if',
      'result = []; for (const i of [1, 2]) if (i > 1) result.push("big"); else result.push("small")',
      ['small', 'big'],
      2,
    ],
    ['do', 'let i = 0; do i++; while (i < 4); result = i', 4, 4],
    ['an empty loop', 'let i = 0; while (i++ < 4); result = i', 5, 4],
    ['a label', 'result = 0; outer: for (;;) { for (;;) { if (++result > 2) break outer; continue outer } }', 3, 6],
    [
      'functions of all kinds',
      'const a = (n) => n + 1; function b(n) { return a(n) } class C { get c() { return b(1) } }; result = new C().c',
      2,
      2,
    ],
    ['what calls itself', 'const f = (n) => { return n ? n + f(n - 1) : 0 }; result = f(4)', 10, 5],
  ])('means what it meant: %s', (_, code, result, steps) => {
    expect(run(code)).toEqual({ result, steps })
  })

  it.each([
    'for (;;);',
    'while (1) result = 1',
    'do ; while (1)',
    'for (;;) try { for (;;); } catch {}',
    'const f = () => { f() }; f()',
  ])('ends: %s', (code) => {
    expect(() => run(code)).toThrow('too many steps')
  })
})

it('another PDF.js than the one that was looked at stops the build', () => {
  expect(() => limitPdfjs('export const getDocument = () => {}')).toThrow('PDF.js has changed')
})
