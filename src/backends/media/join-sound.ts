/** Joins the pieces of a long speech to one file of the same format, and estimates how long a file lasts. */

import { concat, countOggSamples, joinOgg } from './ogg.ts'
import { MediaFailure } from './vendor.ts'

/** `mime`: the type of every piece. */
export function joinSound(pieces: readonly Uint8Array[], mime: string): Uint8Array<ArrayBuffer> {
  const [first] = pieces
  if (first && pieces.length === 1) return new Uint8Array(first)
  if (mime === 'audio/mpeg') return concat(pieces.map((piece, at) => (at ? withoutTag(piece) : piece)))
  if (mime === 'audio/ogg') return joinOgg(pieces)
  if (mime === 'audio/wav') return joinWav(pieces)
  throw new MediaFailure('refused', 'A long text can be made as mp3, opus or wav only.')
}

/** An ID3 tag in the middle of a file makes some players stop. */
function withoutTag(piece: Uint8Array): Uint8Array {
  if (String.fromCharCode(...piece.subarray(0, 3)) !== 'ID3' || piece.length < 10) return piece
  const size = piece.subarray(6, 10).reduce((sum, byte) => (sum << 7) | (byte & 0x7f), 0)
  return piece.subarray(10 + size)
}

type WavParts = { readonly format: Uint8Array; readonly data: Uint8Array }

/** Streams write the largest number as the size of what follows. */
function readWav(file: Uint8Array): WavParts {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength)
  let format: Uint8Array | undefined
  for (let at = 12; at + 8 <= file.length;) {
    const id = String.fromCharCode(...file.subarray(at, at + 4))
    const size = Math.min(view.getUint32(at + 4, true), file.length - at - 8)
    const body = file.subarray(at + 8, at + 8 + size)
    if (id === 'fmt ') format = body
    if (id === 'data' && format) return { format, data: body }
    at += 8 + size + (size % 2)
  }
  throw new MediaFailure('failed', 'A piece of the speech is no WAV file.')
}

function joinWav(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const parts = pieces.map(readWav)
  const format = parts[0]?.format ?? new Uint8Array()
  return writeWav(
    format,
    parts.map((part) => part.data),
  )
}

function writeWav(format: Uint8Array, parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  const header = new Uint8Array(28 + format.length)
  const view = new DataView(header.buffer)
  const write = (at: number, text: string) => header.set(new TextEncoder().encode(text), at)
  write(0, 'RIFF')
  view.setUint32(4, header.length - 8 + length, true)
  write(8, 'WAVEfmt ')
  view.setUint32(16, format.length, true)
  header.set(format, 20)
  write(20 + format.length, 'data')
  view.setUint32(24 + format.length, length, true)
  return concat([header, ...parts])
}

/** Makes a WAV file of samples of 16 bits in one channel. `rate`: samples in a second. */
export function wrapSamples(samples: Uint8Array, rate: number): Uint8Array<ArrayBuffer> {
  const format = new DataView(new ArrayBuffer(16))
  format.setUint16(0, 1, true) // PCM
  format.setUint16(2, 1, true) // channels
  format.setUint32(4, rate, true)
  format.setUint32(8, rate * 2, true) // bytes in a second
  format.setUint16(12, 2, true) // bytes of a sample
  format.setUint16(14, 16, true) // bits of a sample
  return writeWav(new Uint8Array(format.buffer), [samples])
}

const opusRate = 48_000
/** The lowest bit rate that speech usually has, in bytes per second: an estimate is rather too long. */
const slowestBytes = 2_000

/** Seconds. Exact for WAV and Opus, else at most. */
export function estimateSeconds(bytes: Uint8Array, mime: string): number {
  if (mime === 'audio/wav') return wavSeconds(bytes) ?? bytes.length / slowestBytes
  const samples = mime === 'audio/ogg' ? countOggSamples(bytes) : undefined
  return samples === undefined ? bytes.length / slowestBytes : samples / opusRate
}

function wavSeconds(bytes: Uint8Array): number | undefined {
  try {
    const { format, data } = readWav(bytes)
    const rate = new DataView(format.buffer, format.byteOffset, format.byteLength).getUint32(8, true)
    return rate > 0 ? data.length / rate : undefined
  } catch {
    return undefined
  }
}
