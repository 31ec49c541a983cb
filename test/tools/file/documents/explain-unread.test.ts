import { describe, expect, it } from 'vitest'
import { detectDocument } from '#tools/file/documents/detect-document.ts'
import { explainBinary, explainUnread } from '#tools/file/documents/explain-unread.ts'

const bytesOf = (latin: string) => Uint8Array.from(latin, (char) => char.charCodeAt(0))
const wide = (text: string) => [...text].map((char) => `${char}\0`).join('')
/** A compound file with the entries of its directory. */
const compound = (...streams: readonly string[]) =>
  bytesOf(`\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1${'\0'.repeat(504)}${wide('Root Entry')}${streams.map(wide).join('\0\0')}`)

type Entry = { readonly name: string; readonly flags?: number; readonly method?: number; readonly data?: string }
const number = (value: number, bytes: number) =>
  Array.from({ length: bytes }, (_, n) => String.fromCharCode((value >> (8 * n)) & 0xff)).join('')
const archive = (...entries: readonly Entry[]) =>
  bytesOf(
    [
      ...entries.map(
        ({ name, flags = 0, method = 8, data = '' }) =>
          `PK\x03\x04${number(20, 2)}${number(flags, 2)}${number(method, 2)}${'\0'.repeat(16)}${number(name.length, 2)}\0\0${name}${data}`,
      ),
      ...entries.map(
        ({ name, flags = 0, method = 8 }) =>
          `PK\x01\x02${number(20, 2)}${number(20, 2)}${number(flags, 2)}${number(method, 2)}${'\0'.repeat(16)}${number(name.length, 2)}${'\0'.repeat(16)}${name}`,
      ),
    ].join(''),
  )
const openDocument = (kind: string): Entry => ({
  name: 'mimetype',
  method: 0,
  data: `application/vnd.oasis.opendocument.${kind}`,
})

describe('explainUnread', () => {
  it.each([
    ['a protected .docx, .xlsx or .pptx', compound('EncryptionInfo', 'EncryptedPackage')],
    ['a protected .ppt', compound('PowerPoint Document', 'EncryptedSummary')],
    ['an archive whose files are encrypted', archive({ name: 'folder/' }, { name: 'a.txt', flags: 1 })],
    ['a protected .odt', archive(openDocument('text'), { name: 'content.xml', method: 0 })],
    ['a protected .ods of newer programs', archive(openDocument('spreadsheet'), { name: 'encrypted-package' })],
  ])('says that %s is protected by a password', (_, bytes) => {
    expect(explainUnread(bytes)).toMatch(/protected by a password.*copy without one/)
  })

  it.each([
    ['.doc', compound('1Table', 'WordDocument'), /Old Word files.*\.docx/],
    ['.xls', compound('Workbook'), /Old Excel files.*\.xlsx/],
    ['.ppt', compound('PowerPoint Document'), /Old presentations.*\.pptx/],
    ['.odt', archive(openDocument('text'), { name: 'content.xml' }), /OpenDocument.*\.docx/],
  ])('says what to ask for instead of %s', (_, bytes, reason) => {
    expect(explainUnread(bytes)).toMatch(reason)
  })

  it.each([
    ['an archive', archive({ name: 'a.txt' }, { name: 'content.xml', method: 0 })],
    ['another compound file', compound('__properties_version1.0')],
    ['text', bytesOf('EncryptedPackage')],
    ['nothing', new Uint8Array()],
  ])('says nothing about %s', (_, bytes) => {
    expect(explainUnread(bytes)).toBeUndefined()
  })
})

describe('explainBinary', () => {
  const tar = bytesOf(`a.txt${'\0'.repeat(252)}ustar\x0000`)
  it.each([
    [
      'an archive by its entries',
      archive({ name: 'a.txt' }, { name: 'b\n/c.csv' }),
      /2 entries: a\.txt, b\?\/c\.csv\. .*unzip/,
    ],
    [
      'many entries by the first',
      archive(...Array.from({ length: 50 }, (_, n) => ({ name: `f${n}` }))),
      /f39, and 10 more/,
    ],
    ['a part of an archive', archive({ name: 'a.txt' }).subarray(0, 30), /only a part.*again/],
    ['a protected archive', archive({ name: 'a.txt', flags: 1 }), /protected by a password/],
    ['a tar archive', tar, /tar -xf/],
    ['a gzip archive', bytesOf('\x1f\x8b\x08\0'), /tar -xzf/],
    ['a 7z archive', bytesOf('7z\xbc\xaf\x27\x1c\0\x04'), /7z archive.*\.zip/],
    ['a RAR archive', bytesOf('Rar!\x1a\x07\x01\0'), /RAR archive.*\.zip/],
    ['an xz archive', bytesOf('\xfd7zXZ\0\0'), /xz archive.*\.zip/],
    ['an old document', compound('Workbook'), /Old Excel files/],
    ['nothing', new Uint8Array(), /is empty/],
    ['sound', bytesOf('ID3\x04\0\0'), /recording of the type audio\/mpeg.*with a message/],
    [
      'a picture without an ending',
      bytesOf('\x89PNG\r\n\x1a\n\0'),
      /picture of the type image\/png\. Copy it to .*\.png/,
    ],
    ['other bytes', bytesOf('\0\x01\x02'), /binary.*as text/],
  ])('says what can be done with %s', (_, bytes, reason) => {
    expect(explainBinary(bytes)).toMatch(reason)
  })
})

describe('detectDocument', () => {
  const office = (folder: string) => archive({ name: '[Content_Types].xml' }, { name: `${folder}main.xml` })
  it.each([
    ['pdf', bytesOf('\n\n%PDF-1.7')],
    ['docx', office('word/')],
    ['xlsx', office('xl/')],
    ['pptx', office('ppt/')],
    [undefined, archive({ name: 'word/main.xml' })],
    [undefined, office('other/')],
    [undefined, bytesOf('word/ xl/')],
  ])('is %s by the bytes', (format, bytes) => {
    expect(detectDocument(bytes)).toBe(format)
  })
})
