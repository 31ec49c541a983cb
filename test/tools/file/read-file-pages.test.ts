import { expect, it } from 'vitest'
import readFile from '#tools/file/read-file.tool.ts'
import { call } from '../support/call.ts'
import { memoryBackend } from '../support/memory-backend.ts'

it('a page of a file is as long as a result may be in the window of the model', async () => {
  const text = Array.from({ length: 500 }, (_, i) => `line ${i} ${'x'.repeat(80)}`).join('\n')
  const backend = memoryBackend({ a: text })
  const page = async (maxResultChars?: number) => {
    const more = maxResultChars === undefined ? {} : { maxResultChars }
    const { result } = await call(readFile, { path: 'a' }, { backend }, { ...more, callId: `call ${maxResultChars}` })
    return result as { content: string; next_offset?: number }
  }
  const small = await page(8_000)
  expect(small.content.length).toBeLessThanOrEqual(8_000)
  expect(small.content.length).toBeGreaterThan(7_500)
  expect(small.next_offset).toBe(small.content.split('\n').length + 1)
  expect((await page()).next_offset).toBe(undefined)
})
