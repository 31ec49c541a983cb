/**
 * Reads what Outlook hides in a file named winmail.dat: the text of a mail and its files, in the Transport Neutral
 * Encapsulation Format (MS-OXTNEF). Mails are untrusted: what does not fit is left out.
 */

export type TnefFile = { readonly name: string; readonly mimeType?: string; readonly bytes: Uint8Array<ArrayBuffer> }
export type TnefContent = { readonly text?: string; readonly html?: string; readonly files: readonly TnefFile[] }

const signature = 0x223e9f78
const maxFiles = 100
const maxProperties = 2_000

/** The attributes that are read, by their numbers without the type. */
const attribute = { body: 0x800c, message: 0x9003, newFile: 0x9002, title: 0x8010, data: 0x800f, file: 0x9005 } as const
const property = { body: 0x1000, html: 0x1013, fileName: 0x3704, longName: 0x3707, mimeTag: 0x370e } as const
const textType = 0x1e
const wideTextType = 0x1f
const binaryTypes: ReadonlySet<number> = new Set([0x0d, 0x102, textType, wideTextType])
/** Bytes of values that have a fixed length, as they are stored. */
const fixedBytes: Readonly<Record<number, number>> = {
  0x02: 4,
  0x03: 4,
  0x04: 4,
  0x05: 8,
  0x06: 8,
  0x07: 8,
  0x0a: 4,
  0x0b: 4,
  0x14: 8,
  0x40: 8,
  0x48: 16,
}
const manyFlag = 0x1000
const firstNamedId = 0x8000

export const isTnef = (name: string | null | undefined, mimeType: string): boolean =>
  /^application\/(?:vnd\.)?ms-tnef$/i.test(mimeType) || /^winmail\.dat$/i.test(name ?? '')

/** Undefined for bytes that are none of this format. */
export function parseTnef(bytes: Uint8Array): TnefContent | undefined {
  const reader = new Reader(bytes)
  if (reader.left < 6 || reader.number(4) !== signature) return undefined
  reader.skip(2)
  const files: { name: string; mimeType?: string; bytes: Uint8Array<ArrayBuffer> }[] = []
  const body: { text?: string; html?: string } = {}
  while (reader.left >= 11) {
    reader.skip(1)
    const id = reader.number(4) & 0xffff
    const value = reader.take(reader.number(4))
    reader.skip(2)
    if (!value) break
    const file = files.at(-1)
    if (id === attribute.body) body.text ??= toText(value)
    else if (id === attribute.message) Object.assign(body, bodyOf(readProperties(value)))
    else if (id === attribute.newFile && files.length < maxFiles) files.push({ name: '', bytes: new Uint8Array() })
    else if (file) addToFile(file, id, value)
  }
  return { ...body, files: files.filter(({ bytes: content }) => content.length > 0) }
}

type OpenFile = { name: string; mimeType?: string; bytes: Uint8Array<ArrayBuffer> }

function addToFile(file: OpenFile, id: number, value: Uint8Array): void {
  if (id === attribute.title) file.name ||= toText(value)
  if (id === attribute.data) file.bytes = Uint8Array.from(value)
  if (id !== attribute.file) return
  const properties = readProperties(value)
  file.name = properties.get(property.longName) ?? (file.name || (properties.get(property.fileName) ?? ''))
  const mimeType = properties.get(property.mimeTag)
  if (mimeType !== undefined) file.mimeType = mimeType
}

function bodyOf(properties: ReadonlyMap<number, string>): { text?: string; html?: string } {
  const text = properties.get(property.body)
  const html = properties.get(property.html)
  return { ...(text !== undefined && { text }), ...(html !== undefined && { html }) }
}

/** The texts among the properties, by their ids. */
function readProperties(bytes: Uint8Array): ReadonlyMap<number, string> {
  const reader = new Reader(bytes)
  const texts = new Map<number, string>()
  const count = Math.min(reader.number(4), maxProperties)
  for (let n = 0; n < count && reader.left >= 8; n++) {
    const type = reader.number(2)
    const id = reader.number(2)
    if (id >= firstNamedId) skipName(reader)
    const values = readValues(reader, type)
    if (!values) break
    const [first] = values
    if (first) texts.set(id, (type & 0xfff) === wideTextType ? toWideText(first) : toText(first))
  }
  return texts
}

function skipName(reader: Reader): void {
  reader.skip(16)
  if (reader.number(4) === 0) reader.skip(4)
  else reader.skip(padded(reader.number(4)))
}

/** Undefined for a type that is not known: what follows cannot be found. */
function readValues(reader: Reader, type: number): readonly Uint8Array[] | undefined {
  const kind = type & 0xfff
  const isBinary = binaryTypes.has(kind)
  const count = isBinary || (type & manyFlag) !== 0 ? Math.min(reader.number(4), maxProperties) : 1
  const values: Uint8Array[] = []
  for (let n = 0; n < count; n++) {
    const length = isBinary ? reader.number(4) : fixedBytes[kind]
    const value = length === undefined ? undefined : reader.take(length)
    if (!value) return undefined
    if (isBinary) {
      reader.skip(padded(value.length) - value.length)
      values.push(value)
    }
  }
  return values
}

const padded = (length: number): number => Math.ceil(length / 4) * 4

/** The code page is rarely named: UTF-8 if it is that, else the one of Western Windows. */
function toText(bytes: Uint8Array): string {
  const end = bytes.indexOf(0)
  const value = end < 0 ? bytes : bytes.subarray(0, end)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(value)
  } catch {
    return new TextDecoder('windows-1252').decode(value)
  }
}

const toWideText = (bytes: Uint8Array): string => new TextDecoder('utf-16le').decode(bytes).replace(/\0.*$/s, '')

class Reader {
  readonly #bytes: Uint8Array
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  get left(): number {
    return this.#bytes.length - this.#at
  }

  skip(count: number): void {
    this.#at = Math.min(this.#bytes.length, this.#at + count)
  }

  /** An unsigned number, the small end first. What is missing counts as zero. */
  number(bytes: 2 | 4): number {
    let value = 0
    for (let n = bytes - 1; n >= 0; n--) value = value * 256 + (this.#bytes[this.#at + n] ?? 0)
    this.skip(bytes)
    return value
  }

  /** Undefined when so many bytes are not there. */
  take(count: number): Uint8Array | undefined {
    if (count > this.left) return undefined
    const taken = this.#bytes.subarray(this.#at, this.#at + count)
    this.#at += count
    return taken
  }
}
