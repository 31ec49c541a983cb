import { expect, it } from 'vitest'
import { tokens } from '../../../src/tools/file/documents/xml.ts'

it('reads tags and text in their order', () => {
  expect([...tokens('<w:p a="1">x<br/></w:p>')]).toEqual([
    { is: 'open', name: 'w:p', attributes: ' a="1"', empty: false },
    { is: 'text', text: 'x' },
    { is: 'open', name: 'br', attributes: '', empty: true },
    { is: 'close', name: 'w:p', attributes: '', empty: false },
  ])
})

it.each(['a', 'a ', 'a/', '<a', '<'])('comes to an end where "%s" is repeated and no tag ends', (piece) => {
  expect([...tokens(`<${piece.repeat(1_000_000)}`)].every(({ is }) => is === 'text')).toBe(true)
})
