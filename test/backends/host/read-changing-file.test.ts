import { expect, it } from 'vitest'
import { readChangingFile } from '#backends/host/read-changing-file.ts'

/** Plays a file by its sizes and by what reading it returns, in turn. */
function play(sizes: readonly (number | undefined)[], reads: readonly (number | Error)[]) {
  const [left, answers] = [[...sizes], [...reads]]
  const read = async () => {
    const answer = answers.shift()
    if (typeof answer === 'number') return new Uint8Array(answer)
    throw answer ?? new Error('nothing more is read')
  }
  return readChangingFile('/w/a', async () => left.shift(), read)
}

it.each([
  ['stays', [5], [5], 5],
  ['grows while it is read', [5], [9], 9],
  ['has become shorter, and arrived so', [5, 3], [3], 3],
  ['is shorter again when it is read', [5, 4, 4], [2, 4], 4],
  ['becomes shorter while the host sends it', [5, 3], [new Error('cut'), 3], 3],
  ['is empty while it is written again', [5, 5], [0, 5], 5],
  ['is gone', [undefined], [], undefined],
  ['goes away', [5, undefined], [new Error('missing')], undefined],
] as const)('a file that %s is read', async (_, sizes, reads, bytes) => {
  expect((await play(sizes, reads))?.byteLength).toBe(bytes)
})

it('a file that always changes is an error that says so', async () => {
  await expect(play([9, 8, 7, 6], [1, 1, 1])).rejects.toMatchObject({
    code: 'invalid',
    message: 'The file changes while it is read: /w/a',
  })
})

it('a host that fails, or sends only a part of a file that does not change, is to blame', async () => {
  await expect(play([5, 5], [new Error('broken')])).rejects.toThrow('broken')
  await expect(play([5, 5, 5, 5], [2, 2, 2])).rejects.toMatchObject({
    code: 'unavailable',
    message: 'Only a part of /w/a arrived.',
  })
})

it('a file that is too large is not read', async () => {
  await expect(play([40_000_000], [])).rejects.toMatchObject({ code: 'unsupported' })
})
