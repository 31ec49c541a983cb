/**
 * Replaces secrets in everything that leaves the system: exact values that the caller knows, in the encodings in which
 * they leak, and formats of secrets (secret-formats.ts). It is the only place that masks secrets (docs/design/redaction.md).
 */

import { identifiableFormats, namedFormats, type SecretFormat } from './secret-formats.ts'

export type Redactor = {
  readonly redact: (text: string) => string
  /** For contents of files: masks what identifies itself, but no values that only their names make suspicious. */
  readonly redactFile: (text: string) => string
  /** Masks only the exact values. */
  readonly redactExact: (text: string) => string
  /** Redacts all texts of a JSON value, and the values of fields named like a secret. */
  readonly redactValue: (value: unknown) => unknown
  /** For text that arrives in pieces: a secret that is split over pieces is found. */
  readonly stream: () => RedactionStream
}

export type RedactionStream = {
  /** Returns the text that may be shown now. The rest is kept until it cannot be part of a secret any more. */
  readonly push: (piece: string) => string
  /** For a pause: also returns the end of a line where at most three characters of a value may begin. The others stay. */
  readonly settle: () => string
  /** Returns the rest. */
  readonly flush: () => string
}

const mask = '***'
/** Shorter values would mask ordinary words. */
const minExactChars = 8
const maxValues = 2_000
/** Shorter ends of a value tell too little of it, and stand in ordinary text. */
const minRestChars = 4
const maxRests = 50
/** The longest text that a stream keeps. Private keys have up to 13 KB. */
const maxHeldChars = 32_768

type SecretSpan = readonly [start: number, end: number]

export function createRedactor(secrets: Iterable<string>): Redactor {
  const values = [...secrets].slice(0, maxValues).filter(({ length }) => length >= minExactChars)
  const needles = listForms(values)
  const rests = listRests(values)
  const all = [...identifiableFormats, ...namedFormats]
  const findValues = (text: string) => [
    ...findExact(text, needles),
    ...findWrapped(text, needles),
    ...findEscaped(text, needles),
    ...(text.includes(mask) ? findExact(text, rests) : []),
  ]
  const find = (text: string) => [...findValues(text), ...findFormats(text, all)]
  const redact = (text: string) => replaceSpans(text, find(text))
  return {
    redact,
    redactFile: (text) => replaceSpans(text, [...findValues(text), ...findFormats(text, identifiableFormats)]),
    redactExact: (text) => replaceSpans(text, findValues(text)),
    redactValue: (value) => redactValue(value, redact),
    stream: () => createStream(find, needles, rests),
  }
}

/** A text to mask. In base64 and base32, the characters beside it may hold further bits of the secret. */
type Needle = { readonly text: string; readonly hasBitsBefore?: boolean; readonly hasBitsAfter?: boolean }

/**
 * Lists the secrets as they may appear in text: plain, escaped for JSON, URLs and shells, in hex, and within base64 and base32.
 * Longest first.
 */
function listForms(secrets: readonly string[]): readonly Needle[] {
  const forms = new Map<string, Needle>()
  for (const secret of secrets) {
    const hex = [...new TextEncoder().encode(secret)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
    const escaped = [escapeForJson(secret), ...encodeForUrl(secret), ...quoteForShell(secret)]
    const texts = [secret, hex, hex.toUpperCase(), ...escaped].map((text) => ({ text }))
    for (const form of [...encodeBase64(secret), ...encodeBase32(secret), ...texts]) forms.set(form.text, form)
  }
  return [...forms.values()].toSorted((one, other) => other.text.length - one.text.length)
}

const escapeForJson = (text: string): string => JSON.stringify(text).slice(1, -1)

/**
 * Lists the ends of secrets behind a mask. A text may have been masked by formats alone before, and a format ends at
 * characters that a value may have.
 */
function listRests(secrets: readonly string[]): readonly Needle[] {
  const rests = new Set<string>()
  for (const secret of secrets)
    for (const { index } of [...secret.matchAll(/[^A-Za-z0-9]/g)].slice(0, maxRests)) {
      const rest = secret.slice(index)
      if (index > 0 && rest.length >= minRestChars) rests.add(mask + rest).add(mask + escapeForJson(rest))
    }
  return [...rests].map((text) => ({ text })).toSorted((one, other) => other.text.length - one.text.length)
}

/** Encoders differ in the slash, the space, the case of digits, and six marks that they may leave as they are. */
function encodeForUrl(secret: string): readonly string[] {
  let texts = secret.isWellFormed() ? [encodeURIComponent(secret)] : []
  const encode = (mark: string) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`
  const variants: readonly ((text: string) => string)[] = [
    (text) => text.replace(/[!'()*]/g, encode),
    // As forms are sent.
    (text) => text.replace(/[!'()~]/g, encode),
    (text) => text.replaceAll('%2F', '/'),
    (text) => text.replaceAll('%20', '+'),
    (text) => text.replace(/%../g, (code) => code.toLowerCase()),
  ]
  for (const change of variants) texts = [...new Set(texts.flatMap((text) => [text, change(text)]))]
  return texts
}

/** The characters of base64 that depend on the secret alone, for each of the three positions that it may begin at. */
function encodeBase64(secret: string): readonly Needle[] {
  const bytes = [...new TextEncoder().encode(secret)]
  const forms = [0, 1, 2].map((offset) => {
    const encoded = btoa(String.fromCharCode(...Array<number>(offset).fill(0), ...bytes))
    const end = (offset + bytes.length) * 8
    const text = encoded.slice(Math.ceil((offset * 8) / 6), Math.floor(end / 6))
    return { text, hasBitsBefore: offset > 0, hasBitsAfter: end % 6 > 0 }
  })
  const urlSafe = forms.map((form) => ({ ...form, text: form.text.replaceAll('+', '-').replaceAll('/', '_') }))
  return [...forms, ...urlSafe].filter(({ text }) => text.length >= minExactChars)
}

const base32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** The characters of base32 that depend on the secret alone, for each of the five positions that it may begin at. */
function encodeBase32(secret: string): readonly Needle[] {
  const bytes = [...new TextEncoder().encode(secret)]
  const bits = bytes.map((byte) => byte.toString(2).padStart(8, '0')).join('')
  const forms = [0, 1, 2, 3, 4].map((offset) => {
    const skipped = (5 - ((offset * 8) % 5)) % 5
    const groups = bits.slice(skipped).match(/.{5}/g) ?? []
    const text = groups.map((group) => base32.charAt(Number.parseInt(group, 2))).join('')
    return { text, hasBitsBefore: skipped > 0, hasBitsAfter: (bits.length - skipped) % 5 > 0 }
  })
  return forms.filter(({ text }) => text.length >= minExactChars)
}

/** As `printf %q` prints it, as it stands between single quotes, and with the escapes of `$'…'`. */
function quoteForShell(secret: string): readonly string[] {
  const ansi = secret.replace(/[\\']/g, '\\$&').replace(/[^ -~]/gu, (character) => {
    const named = { '\n': '\\n', '\t': '\\t', '\r': '\\r', '\u001B': '\\E' }[character]
    const octal = [...new TextEncoder().encode(character)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`)
    return named ?? octal.join('')
  })
  const marked = secret.replace(/^[#~]|[ !"$&'()*,;<>?[\\\]^`{|}]/g, '\\$&')
  return [ansi, marked, secret.replaceAll("'", `'\\''`)]
}

function findExact(text: string, needles: readonly Needle[]): readonly SecretSpan[] {
  const spans: SecretSpan[] = []
  for (const { text: needle, hasBitsBefore, hasBitsAfter } of needles)
    for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + needle.length)) {
      const start = hasBitsBefore && isBase64(text.charAt(at - 1)) ? at - 1 : at
      spans.push([start, hasBitsAfter ? endOfBase64(text, at + needle.length) : at + needle.length])
    }
  return spans
}

/** The end of a line, also in JSON. */
const lineEnd = /\r?\n|(?:\\r)?\\n/g
/** A line that ends with so many characters without a space is joined with any other. */
const minWrappedChars = 30
/** A line is joined with one that has no space. */
const minChunkChars = 4

/** Finds secrets that are wrapped over lines: base64 prints lines of 76 characters, xxd of 60, and options choose others. */
function findWrapped(text: string, needles: readonly Needle[]): readonly SecretSpan[] {
  if (!needles.length || !(text.includes('\n') || text.includes('\\n'))) return []
  const spaced = needles.filter(({ text: needle }) => hasSpace.test(needle))
  // The lines of a value with spaces do not look like parts of one word.
  const between = spaced.length ? listLineEnds(text) : []
  return [...findWithout(text, needles, listWraps(text)), ...findWithout(text, spaced, between)]
}

const hasSpace = /[^!-~]/

/** Lists the line ends at which a word may go on in the next line, which may go on itself if `isOpen`. */
function listWraps(text: string, isOpen = false): readonly SecretSpan[] {
  const wraps: SecretSpan[] = []
  let [start, previous] = [0, undefined as (Line & { readonly end: SecretSpan }) | undefined]
  for (const { 0: end, index } of [...text.matchAll(lineEnd), { 0: '', index: text.length }]) {
    const line = isOpen && start === text.length ? begunLine : describeLine(text.slice(start, index))
    const isChunk = previous && previous.tailChars >= minChunkChars && (previous.isWord || line.isWord)
    if (previous && line.isWordFirst && (isChunk || previous.tailChars >= minWrappedChars)) wraps.push(previous.end)
    start = index + end.length
    previous = { ...line, end: [index, start] }
  }
  return wraps
}

type Line = { readonly isWord: boolean; readonly isWordFirst: boolean; readonly tailChars: number }

const begunLine: Line = { isWord: true, isWordFirst: true, tailChars: 0 }

/** `tailChars`: characters without a space at the end, of which only the last ones are counted. */
function describeLine(line: string): Line {
  const tail = line.slice(-minWrappedChars)
  const space = /[^!-~][!-~]*$/.exec(tail)
  return {
    isWord: line !== '' && !hasSpace.test(line),
    isWordFirst: isWordCode(line.charCodeAt(0)),
    tailChars: space ? tail.length - space.index - 1 : tail.length,
  }
}

/** Finds secrets in which characters are escaped by backslashes, as shells and quotes do it in different ways. */
function findEscaped(text: string, needles: readonly Needle[]): readonly SecretSpan[] {
  if (!text.includes('\\')) return []
  const marked = needles.filter(({ text: needle }) => /[^A-Za-z0-9]/.test(needle))
  return marked.length ? findWithout(text, marked, listEscapes(text)) : []
}

const listEscapes = (text: string): readonly SecretSpan[] =>
  [...text.matchAll(/\\(?=[^A-Za-z0-9\n])[^]/g)].map(({ index }) => [index, index + 1])

const listLineEnds = (text: string): readonly SecretSpan[] =>
  [...text.matchAll(lineEnd)].map(({ 0: end, index }) => [index, index + end.length])

/** Finds needles in the text without these parts. */
function findWithout(text: string, needles: readonly Needle[], removed: readonly SecretSpan[]): readonly SecretSpan[] {
  if (!removed.length) return []
  const found = findExact(joinWithout(text, removed), needles)
  return found.map(([start, end]) => [positionIn(removed, start, 1), positionIn(removed, end, 0)])
}

function joinWithout(text: string, removed: readonly SecretSpan[]): string {
  let [joined, from] = ['', 0]
  for (const [start, end] of removed) {
    joined += text.slice(from, start)
    from = end
  }
  return joined + text.slice(from)
}

/** The position in the text of one in the joined text. A removed part at the position itself stands before it. */
function positionIn(removed: readonly SecretSpan[], position: number, isStart: 0 | 1): number {
  let at = position
  for (const [start, end] of removed) {
    if (start >= at + isStart) break
    at += end - start
  }
  return at
}

const isBase64 = (character: string): boolean => /[A-Za-z0-9+/_-]/.test(character)

const maxPadding = 6

/** The end behind one more character and the padding. */
function endOfBase64(text: string, from: number): number {
  let end = isBase64(text.charAt(from)) ? from + 1 : from
  for (let padding = 0; padding < maxPadding && text.charAt(end) === '='; padding++) end++
  return end
}

/** Most texts have neither a long word nor a name of a secret: one test instead of seventy. */
const suspicious =
  /[A-Za-z0-9_+/=.~%:-]{16}|passw|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential|:\/\/|auth|cookie|-u\s|--(?:proxy-)?user/i

function findFormats(text: string, formats: readonly SecretFormat[]): readonly SecretSpan[] {
  if (!suspicious.test(text)) return []
  const spans: SecretSpan[] = [...findPrivateKeys(text)]
  for (const { pattern, accepts } of formats)
    for (const { 0: whole, 1: before = '', index } of text.matchAll(pattern))
      if (!accepts || accepts(whole.slice(before.length), before, text.charAt(index + whole.length)))
        spans.push([index + before.length, index + whole.length])
  return spans
}

const keyHeader = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/y
const keyFooter = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g
/** The body of a key whose end is missing. Backslashes and letters are line ends within JSON. */
const keyBody = /(?:(?:\\[nr]|[\s"',])*[A-Za-z0-9+/=]{16,})*(?:(?:\\[nr]|[\s"',])*[A-Za-z0-9+/]{1,15}={1,2})?/y

function findPrivateKeys(text: string): readonly SecretSpan[] {
  const spans: SecretSpan[] = []
  let start = text.indexOf('-----BEGIN ')
  let footer = -1
  while (start >= 0) {
    keyHeader.lastIndex = start
    let next = start + 1
    if (keyHeader.test(text)) {
      const bodyStart = keyHeader.lastIndex
      if (footer !== Infinity && footer < bodyStart) footer = findFooter(text, bodyStart)
      next = footer - bodyStart <= maxHeldChars ? footer : endOfKeyBody(text, bodyStart)
      spans.push([start, next])
    }
    start = text.indexOf('-----BEGIN ', next)
  }
  return spans
}

function findFooter(text: string, from: number): number {
  keyFooter.lastIndex = from
  return keyFooter.test(text) ? keyFooter.lastIndex : Infinity
}

function endOfKeyBody(text: string, from: number): number {
  keyBody.lastIndex = from
  keyBody.test(text)
  return Math.max(from, keyBody.lastIndex)
}

const mergeSpans = (spans: readonly SecretSpan[]): readonly SecretSpan[] => {
  const merged: [number, number][] = []
  for (const [start, end] of spans.toSorted((one, other) => one[0] - other[0])) {
    const last = merged.at(-1)
    if (last && start <= last[1]) last[1] = Math.max(last[1], end)
    else merged.push([start, end])
  }
  return merged
}

function replaceSpans(text: string, spans: readonly SecretSpan[]): string {
  if (!spans.length) return text
  let result = ''
  let shown = 0
  for (const [start, end] of mergeSpans(spans)) {
    result += text.slice(shown, start) + mask
    shown = end
  }
  return result + text.slice(shown)
}

function redactValue(value: unknown, redact: (text: string) => string, name = ''): unknown {
  if (typeof value === 'string') return isSecretName(name) && value ? mask : redact(value)
  if (Array.isArray(value)) return value.map((item) => redactValue(item, redact, name))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, redactValue(item, redact, key)]))
}

/** Redacts a text that may be JSON. JSON stays valid: each of its texts is redacted by itself. */
export function redactJson(text: string, redact: (text: string) => string): string {
  const redacted = redact(text)
  if (redacted === text || !/^\s*[[{]/.test(text)) return redacted
  try {
    return JSON.stringify(mapTexts(JSON.parse(text), redact))
  } catch {
    return redacted // Not JSON.
  }
}

function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapTexts(item, change)]))
}

const isSecretName = (name: string) => /^(?:.*[_-])?(?:api[_-]?key|secret|passw(?:or)?d|credentials?)$/i.test(name)

/** Text after which the next word may be a secret. */
const openings =
  /(?:(?:api[_-]?key|secret|token|passw(?:or)?d|passphrase|credential|private[_-]?key|access[_-]?key|authorization|bearer|basic|digest|cookie)[\w-]{0,20}["']?\s{0,3}(?:[:=]\s{0,3}["']?)?|(?:^|\s)--?[\w-]{1,20}\s{1,3}["']?|\blogin\s{1,3}\S{0,200}\s{0,3}(?:password\s{0,3})?)$/i
/** An opening has at most this many characters. */
const maxOpeningChars = 260
const authorizationOpening = /authorization["']?\s{0,3}[:=]\s{0,3}["']?(?:\w{1,6}\s{0,3})?$/i

function createStream(
  find: (text: string) => readonly SecretSpan[],
  needles: readonly Needle[],
  rests: readonly Needle[],
): RedactionStream {
  const findOpen = openNeedles(needles, rests)
  /** The text that was shown, or masked, as far back as it tells what follows it: lines, words, and names of secrets. */
  let context = ''
  let held = ''
  /** Replaces what is held before a position in the text. */
  const show = (text: string, spans: readonly SecretSpan[], cut: number) => {
    const from = context.length
    if (cut === from) return ''
    const inHeld = spans.filter(([start, end]) => end > from && start < cut)
    return replaceSpans(
      text.slice(from, cut),
      inHeld.map(([start, end]) => [Math.max(0, start - from), end - from]),
    )
  }
  const advance = (piece: string, minBegunChars: number) => {
    held += piece
    // A carriage return is the end of a line or a space: the next piece tells.
    const [pending] = /\r?$/.exec(held) ?? ['']
    const text = context + held.slice(0, held.length - pending.length)
    const from = context.length
    const spans = mergeSpans(find(text))
    const safeEnd = Math.min(findSafeEnd(text, from), findOpen(text, minBegunChars))
    let cut = Math.max(from, safeEnd, text.length - maxHeldChars)
    // Text that follows a secret without a gap becomes part of its mask.
    const across = spans.find(([start, end]) => start < cut && end >= cut && end > from)
    if (across) cut = Math.max(from, across[0])
    // A secret that is longer than all that is kept is masked, whatever follows.
    if (cut === from && held.length > 2 * maxHeldChars) cut = text.length
    const shown = show(text, spans, cut)
    const contextStart = Math.max(0, findLastWord(text.slice(0, cut)) - maxOpeningChars)
    context = text.slice(Math.max(contextStart, cut - maxHeldChars), cut)
    held = text.slice(cut) + pending
    return shown
  }
  return {
    push: (piece) => advance(piece, 1),
    settle: () => advance('', minSettledChars),
    flush() {
      const text = context + held
      const rest = show(text, find(text), text.length)
      held = ''
      context = ''
      return rest
    },
  }
}

/** Fewer characters of a value at the end of a line tell little of it, and most lines end with some. */
const minSettledChars = 4

/** Returns the position before which no format can begin that the next piece completes. */
function findSafeEnd(text: string, heldFrom: number): number {
  const word = findLastWord(text)
  const from = Math.max(0, word - maxOpeningChars)
  const before = text.slice(from, word)
  const starts = [word]
  for (const opening of [openings, authorizationOpening]) {
    const found = opening.exec(before)
    if (found) starts.push(from + found.index)
  }
  const key = findOpenKey(text.slice(heldFrom))
  if (key >= 0) starts.push(heldFrom + key)
  return Math.min(...starts)
}

/** Returns where the last run of printable ASCII without spaces begins. */
function findLastWord(text: string): number {
  let at = text.length
  while (at > 0 && isWordCode(text.charCodeAt(at - 1))) at--
  return at
}

/** The end of a text that may become the end of a line. */
const begunLineEnd = /\\(?:r\\?)?$/

/**
 * Finds where the end of a text begins that is the beginning of a needle, in each of the ways in which needles are found:
 * as it is, wrapped, and escaped. Else it returns the length of the text.
 */
function openNeedles(needles: readonly Needle[], rests: readonly Needle[]) {
  const isSpaced = ({ text }: Needle) => hasSpace.test(text)
  const spaced = needles.filter(isSpaced)
  const begunWrapped = findBegun(needles)
  const begunSpaced = findBegun(spaced)
  // Other needles, as they are and escaped, are part of the last word, which is always kept.
  const begunPlain = findBegun([...spaced, ...rests.filter(isSpaced)])
  type View = readonly [begun: ReturnType<typeof findBegun>, text: string, removed: readonly SecretSpan[], min: number]
  return (text: string, minChars: number): number => {
    const ended = text.replace(begunLineEnd, '\n')
    const views: View[] = [[begunPlain, text, [], 1]]
    for (const lines of new Set([text, ended]))
      views.push(
        [begunWrapped, lines, listWraps(lines, true), minChars],
        [begunSpaced, lines, listLineEnds(lines), minChars],
      )
    // Behind a backslash that ends the text, there may be a space.
    const escaped = `${text} `
    views.push([begunSpaced, text, listEscapes(escaped), 1])
    return Math.min(
      ...views.map(([begun, shown, removed, min]) => {
        const joined = joinWithout(shown, removed)
        const at = begun(joined, min)
        return at < joined.length ? positionIn(removed, at, 1) : text.length
      }),
    )
  }
}

const bitsAfter = /^[A-Za-z0-9+/_-]?={0,6}$/

/** Finds the first position from which a text is the beginning of a needle, or one whose last bits or padding may follow. */
function findBegun(needles: readonly Needle[]) {
  const byFirst = Map.groupBy(needles, ({ text }) => text.charAt(0))
  const reach = needles.reduce((most, { text }) => Math.max(most, text.length), 0) + 1 + maxPadding
  const hasBits = needles.some(({ hasBitsBefore }) => hasBitsBefore)
  return (text: string, minChars: number): number => {
    for (let at = Math.max(0, text.length - reach); at <= text.length - minChars; at++) {
      const candidates = byFirst.get(text.charAt(at))
      if (!candidates) continue
      const rest = text.slice(at)
      const found = candidates.filter(
        (needle) =>
          needle.text.startsWith(rest) ||
          (needle.hasBitsAfter && rest.startsWith(needle.text) && bitsAfter.test(rest.slice(needle.text.length))),
      )
      const isBehindBits = isBase64(text.charAt(at - 1)) && found.some(({ hasBitsBefore }) => hasBitsBefore)
      if (found.length) return isBehindBits ? at - 1 : at
    }
    return hasBits && minChars === 1 && isBase64(text.charAt(text.length - 1)) ? text.length - 1 : text.length
  }
}

const isWordCode = (code: number): boolean => code > 0x20 && code < 0x7f

/** Returns where a private key begins that has no end yet. */
function findOpenKey(text: string): number {
  const start = text.lastIndexOf('-----BEGIN ')
  return start >= 0 && !/-----END [A-Z0-9 ]{0,60}-----/.test(text.slice(start)) ? start : -1
}
