/** Tests that no document blocks the sessions of a process, with an isolate for its reader and without one. */

import { describe, expect, it } from 'vitest'
import type { OfficeAnswer, OfficeFormat } from '#agent/core/media/document.ts'
import { openOffice } from '#backends/office/office.ts'
import { bindings, inWorkspace } from '../support/workspace.ts'
import { zip } from '../support/zip.ts'
import { firstRows, itInTurn } from '#test/support/long.ts'

await import('#backends/office/inside/in-process.ts')

const workbook = (sheets: string) => `<workbook><sheets>${sheets}</sheets></workbook>`
const relations =
  '<Relationships><Relationship Id="r1" Target="worksheets/s.xml"/><Relationship Id="r2" Target="worksheets/t.xml"/></Relationships>'
const cell = (text: string, column = 'A') => `<c r="${column}1" t="inlineStr"><is><t>${text}</t></is></c>`

/** Reads while another session works, and returns the answer and the longest wait of the other. */
async function readBeside(loader: WorkerLoader | undefined, bytes: Uint8Array, format: OfficeFormat) {
  let answer: OfficeAnswer | undefined
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
  await inWorkspace({}, async () => {
    answer = await openOffice(loader, 'test')(bytes, format, new AbortController().signal)
  }).finally(() => (state.isOver = true))
  await other
  return { answer, longestMs }
}

const read = async (
  loader: WorkerLoader | undefined,
  files: Readonly<Record<string, string>>,
  format: OfficeFormat,
) => {
  const archive = await zip(files)
  return { size: archive.byteLength, ...(await readBeside(loader, archive, format)) }
}

/** What another session may wait, in ms. On a quiet machine it is below a second. */
const maxWaitMs = 3_000

/** The shortest of up to three longest waits: other processes of the machine can only make one longer. */
async function shortestWait(first: number, again: () => Promise<{ readonly longestMs: number }>) {
  let shortest = first
  for (let tries = 1; tries < 3 && shortest >= maxWaitMs; tries++)
    shortest = Math.min(shortest, (await again()).longestMs)
  return shortest
}

const textOf = (answer: OfficeAnswer | undefined) => (answer && 'text' in answer ? answer.text : '')

const ways = [
  ['in an isolate', bindings.LOADER],
  ['without a loader', undefined],
] as const

describe.each(firstRows(1, ways))('a document %s', { timeout: 90_000 }, (_, loader) => {
  it('that names one sheet 200 times is read once', async () => {
    const rows = `<row>${cell('x')}</row>`.repeat(4_000)
    const { answer, longestMs, size } = await read(
      loader,
      {
        'xl/workbook.xml': workbook('<sheet name="S" r:id="r1"/>'.repeat(200)),
        'xl/_rels/workbook.xml.rels': relations,
        'xl/worksheets/s.xml': `<worksheet>${rows}</worksheet>`,
      },
      'xlsx',
    )
    expect(size).toBeLessThan(3_000)
    expect(textOf(answer).match(/^x$/gm)).toHaveLength(4_000)
    expect(textOf(answer).match(/\[the same as sheet S\]/g)).toHaveLength(199)
    expect(longestMs).toBeLessThan(maxWaitMs)
  })

  itInTurn('with an endless number of sheets and cells ends at the limit of its text', async () => {
    const row = `<row>${cell('y'.repeat(1_000), 'IV')}</row>`
    const { answer, longestMs } = await read(
      loader,
      {
        'xl/workbook.xml': workbook('<sheet name="A" r:id="r1"/><sheet name="B" r:id="r2"/>'),
        'xl/_rels/workbook.xml.rels': relations,
        'xl/worksheets/s.xml': `<worksheet>${row.repeat(4_900)}</worksheet>`,
        'xl/worksheets/t.xml': `<worksheet>${row.repeat(4_900)}</worksheet>`,
      },
      'xlsx',
    )
    expect(textOf(answer)).toContain('[the text of this file is longer than is shown]')
    expect(textOf(answer).length).toBeLessThan(2_001_000)
    expect(longestMs).toBeLessThan(maxWaitMs)
  })

  const bombs: readonly (readonly [string, OfficeFormat, string, () => string])[] = [
    ['a bomb', 'docx', 'word/document.xml', () => 'a'.repeat(70 * 1024 * 1024)],
    ['millions of tags', 'docx', 'word/document.xml', () => '<w:p></w:p>'.repeat(1_500_000)],
    ['open tags', 'docx', 'word/document.xml', () => '<w:t '.repeat(2_000_000)],
  ]
  it.each(firstRows(0, bombs, 1))('that unpacks to %s blocks nobody', async (_what, format, name, content) => {
    const again = () => read(loader, { [name]: content() }, format)
    const { answer, longestMs } = await again()
    expect(answer).toBeDefined()
    expect(await shortestWait(longestMs, again)).toBeLessThan(maxWaitMs)
  })

  it('that is damaged is refused', async () => {
    expect((await readBeside(loader, new Uint8Array(100), 'docx')).answer).toEqual({ refused: 'damaged' })
    expect((await readBeside(loader, new TextEncoder().encode('no'), 'ipynb')).answer).toEqual({ refused: 'damaged' })
  })
})

it('without a loader a large document is refused', async () => {
  const answer = await openOffice(undefined, 'test')(new Uint8Array(9_000_000), 'docx', new AbortController().signal)
  expect(answer).toEqual({ refused: 'size' })
})
