/** Writes sounds for tests: answers of vendors, and what the microphone of the browser hears. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const rate = 16_000
/** A WAV file of parts, each with its seconds and loudness. */
export function createSound(parts: readonly (readonly [seconds: number, loudness: number])[]): Buffer {
  const samples = parts.flatMap(([seconds, loudness]) =>
    Array.from({ length: seconds * rate }, (_, at) => Math.round(loudness * 32_767 * Math.sin(at / 8))),
  )
  const sound = Buffer.alloc(44 + samples.length * 2)
  sound.write('RIFF', 0)
  sound.writeUInt32LE(36 + samples.length * 2, 4)
  sound.write('WAVEfmt ', 8)
  sound.writeUInt32LE(16, 16)
  sound.writeUInt16LE(1, 20)
  sound.writeUInt16LE(1, 22)
  sound.writeUInt32LE(rate, 24)
  sound.writeUInt32LE(rate * 2, 28)
  sound.writeUInt16LE(2, 32)
  sound.writeUInt16LE(16, 34)
  sound.write('data', 36)
  sound.writeUInt32LE(samples.length * 2, 40)
  for (const [at, sample] of samples.entries()) sound.writeInt16LE(sample, 44 + at * 2)
  return sound
}

/** A tone of 1.2 s, and 8 s of silence, which the microphone hears again and again. Returns the path of the file. */
export function writeSpeech(): string {
  const folder = mkdtempSync(join(tmpdir(), 'talaria-speech-'))
  process.once('exit', () => rmSync(folder, { recursive: true }))
  const path = join(folder, 'speech.wav')
  const parts = [
    [1.2, 0.5],
    [8, 0],
  ] as const
  writeFileSync(path, createSound(parts))
  return path
}
