/**
 * Decodes text in encodings that were usual before Unicode, and UTF-16 without its mark. The encoding is a guess, so it is
 * named beside the text.
 */

/** `encoding`: as programs name it, such as `Shift_JIS`. */
export type GuessedText = { readonly text: string; readonly encoding: string }

/** Fewer characters beyond ASCII say too little about their encoding. */
const minForeign = 4
/** The part of the characters beyond ASCII that must be of the language of the encoding. */
const minShare = 0.7
const sampledBytes = 65_536

type CodePage = {
  readonly encoding: string
  readonly label: string
  /** Characters that texts of the language consist of. */
  readonly usual: RegExp
  /** The least part of them in any text. */
  readonly least?: { readonly chars: RegExp; readonly share: number }
}

const japanese = {
  usual: /[\u3000-\u30ff\u4e00-\u9fff\uff01-\uff9f]/g,
  least: { chars: /[\u3041-\u3093\u30a1-\u30f6]/g, share: 0.2 },
}
const lowerCyrillic = { chars: /[\u0430-\u044f\u0451]/g, share: 0.6 }

/** In the order in which they are tried: the ones with the strictest rules first. */
const codePages: readonly CodePage[] = [
  { encoding: 'Shift_JIS', label: 'shift_jis', ...japanese },
  { encoding: 'EUC-JP', label: 'euc-jp', ...japanese },
  {
    encoding: 'windows-1251',
    label: 'windows-1251',
    usual: /[\u0400-\u045f\u00ab\u00bb\u2013-\u201e\u2116]/g,
    least: lowerCyrillic,
  },
  { encoding: 'KOI8-R', label: 'koi8-r', usual: /[\u0400-\u045f]/g, least: lowerCyrillic },
  {
    encoding: 'GBK',
    label: 'gbk',
    usual: /[\u4e00-\u9fa5\u3000-\u303f\uff01-\uff5e\u2018-\u201d]/g,
    least: { chars: /[的一是不了在人有我他这中大来上国个到说们为和地也子时道出要年]/g, share: 0.03 },
  },
  {
    encoding: 'Big5',
    label: 'big5',
    usual: /[\u4e00-\u9fa5\u3000-\u303f\uff01-\uff5e]/g,
    least: { chars: /[的一是不了在人有我他這中大來上國個到說們為和地也子時道出要年]/g, share: 0.03 },
  },
  { encoding: 'EUC-KR', label: 'euc-kr', usual: /[\uac00-\ud7a3\u3000-\u303f]/g },
]

/** Undefined for bytes that are no text, or text of an encoding that cannot be told. */
export function decodeCodePage(bytes: Uint8Array): GuessedText | undefined {
  const wide = guessWide(bytes)
  if (wide) return decode(bytes, wide)
  if (hasControls(bytes)) return undefined
  const sample = bytes.subarray(0, sampledBytes)
  const found = codePages.find((page) => fits(sample, page))
  return found && decode(bytes, found)
}

type Encoding = Pick<CodePage, 'encoding' | 'label'>

/** A text may end in the middle of a character, and have a wrong one. */
const decode = (bytes: Uint8Array, { encoding, label }: Encoding): GuessedText => ({
  text: new TextDecoder(label).decode(bytes),
  encoding,
})

/** In UTF-16 one of two bytes of most Western letters, spaces and line ends is zero. */
function guessWide(bytes: Uint8Array): Encoding | undefined {
  const sample = bytes.subarray(0, sampledBytes)
  const zeros = [0, 0]
  for (const [at, byte] of sample.entries()) if (byte === 0) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1
  const [even = 0, odd = 0] = zeros
  const enough = sample.length / 2 / 4
  if (bytes.length % 2 || Math.max(even, odd) < Math.max(2, enough) || Math.min(even, odd) * 20 > Math.max(even, odd))
    return undefined
  const encoding =
    odd > even ? { encoding: 'UTF-16LE', label: 'utf-16le' } : { encoding: 'UTF-16BE', label: 'utf-16be' }
  const { text } = decode(sample, encoding)
  return /[\p{Cc}\p{Cn}\p{Co}\p{Cs}\uFFFD]/u.test(text.replaceAll(/[\t\n\r\f]/g, '')) ? undefined : encoding
}

/** Text has tabs, line ends, form feeds and escapes, and no other control characters. */
const hasControls = (bytes: Uint8Array): boolean =>
  bytes.some((byte) => byte < 0x20 && ![0x09, 0x0a, 0x0c, 0x0d, 0x1b].includes(byte))

function fits(sample: Uint8Array, { label, usual, least }: CodePage): boolean {
  const foreign = [...new TextDecoder(label).decode(sample)].filter((char) => char > '\u007f').join('')
  // Code points, because every character here is one unit.
  const count = foreign.length
  if (count < minForeign) return false
  const share = (chars: RegExp) => (foreign.match(chars)?.length ?? 0) / count
  return share(usual) >= minShare && (!least || share(least.chars) >= least.share) && share(/\uFFFD/g) < 0.02
}
