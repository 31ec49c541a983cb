/** Tests that no pattern of a model blocks the sessions of a process, with an isolate for the search and without one. */

import { describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import type { FileSearchResult } from '#agent/core/backend.ts'
import { createMatchLines } from '#backends/search/inside/match-lines.ts'
import { bindings, inWorkspace } from '../support/workspace.ts'

const bytes = (text: string) => new TextEncoder().encode(text)

/** Searches while another session works, and returns the result and the longest wait of the other. */
async function searchBeside(loader: WorkerLoader | undefined, content: string, pattern: string) {
  let result: FileSearchResult | { readonly error: string } | undefined
  let longestMs = 0
  const state = { isOver: false }
  const other = inWorkspace({}, async ({ backend }) => {
    while (!state.isOver) {
      const start = performance.now()
      await backend.files.write('ping', new Uint8Array(1))
      await new Promise((resolve) => setTimeout(resolve, 5))
      longestMs = Math.max(longestMs, performance.now() - start)
    }
  })
  await inWorkspace({ loader }, async ({ backend }) => {
    await backend.files.write('hostile.txt', bytes(content))
    result = await backend.files
      .search({ target: 'content', pattern, limit: 10, offset: 0 })
      .catch((error: Error) => ({ error: error.message }))
  }).finally(() => (state.isOver = true))
  await other
  return { result, longestMs }
}

const hostileText = `${'a'.repeat(2_000)}\n`.repeat(250)

describe.each([
  ['in an isolate', bindings.LOADER],
  ['without a loader', undefined],
])('a search %s', (_, loader) => {
  it.each([
    '.*.*.*[=]',
    '(a+)+$x',
    '(a|a)*=',
    '(.*)(.*)(.*)(.*)(.*)=',
    '\\w*\\w*\\w*\\b=',
    '(a?){900}a{90}=',
    '.{999}=',
  ])('with the pattern %s blocks nobody', async (pattern) => {
    const { result, longestMs } = await searchBeside(loader, hostileText, pattern)
    expect(result).toEqual({ hits: [], total: 0, truncated: false })
    // On a quiet machine it is below a second.
    expect(longestMs).toBeLessThan(3_000)
  })

  it.each([
    ['(?=a)b', /invalid or unsupported|\(\?=/],
    ['(a)\\1', /escape/],
    ['((a{900}){9}){9}', /repe|large/],
    ['[z-a]', /range/],
  ])('refuses the pattern %s', async (pattern, reason) => {
    const { result } = await searchBeside(loader, 'a\n', pattern)
    expect(result).toEqual({ error: expect.stringMatching(reason) })
  })

  it('finds lines with the syntax that models write', async () => {
    await inWorkspace({ loader }, async ({ backend }) => {
      const text = 'const a = 1\r\nfunction  Über(x) {\n  // TODO: é "q" /p/\n}\n'
      await backend.files.write('src/a.ts', bytes(text))
      const find = async (pattern: string) =>
        (await backend.files.search({ target: 'content', pattern, limit: 10, offset: 0 })).hits.map(({ line }) => line)
      expect(await find('^const \\w+ = \\d$')).toEqual([1])
      expect(await find('(?i)FUNCTION\\s+\\S+\\(')).toEqual([2])
      expect(await find('\\bTODO\\b.*\\u00e9|^\\}$')).toEqual([3, 4])
      expect(await find('\\/p\\/')).toEqual([3])
      expect(await find('[^\\s\\w]{2} TODO')).toEqual([3])
    })
  })

  itInTurn('reads a file that is larger than one message, and numbers its lines', { timeout: 90_000 }, async () => {
    await inWorkspace({ loader }, async ({ backend }) => {
      const text = Array.from({ length: 400_000 }, (_each, i) => `line ${i + 1}`).join('\n')
      await backend.files.write('long.txt', bytes(text))
      const query = { target: 'content', pattern: '(1|2|3)99999$', limit: 2, offset: 1, context: 1 } as const
      expect(await backend.files.search(query)).toEqual({
        total: 3,
        truncated: false,
        hits: [
          {
            path: '/workspace/long.txt',
            line: 299_999,
            text: 'line 299999',
            before: ['line 299998'],
            after: ['line 300000'],
          },
          {
            path: '/workspace/long.txt',
            line: 399_999,
            text: 'line 399999',
            before: ['line 399998'],
            after: ['line 400000'],
          },
        ],
      })
    })
  })
})

it('the matcher yields in proportion to the size of the pattern, and ends at its time limit', async () => {
  let pauses = 0
  const match = createMatchLines({ now: () => pauses, yieldThread: async () => void pauses++ })
  const texts = [`${'a'.repeat(1_000)}\n`.repeat(1_000)]
  expect(await match('b', texts, 1_000)).toEqual({ lines: [[]] })
  expect(pauses).toBe(4)
  expect(await match('.{999}=', texts, 20)).toEqual({ stopped: true })
})
