/**
 * Defines how a dialect encodes errors, streams and tool calls on the wire. The suite of faults runs for each wire.
 */

import type { Answer, Piece } from './bytes.ts'
import type { Fault } from './outcomes.ts'

export type End = 'stop' | 'tools' | 'filter'

export type Wire = {
  /** The dialect, as the settings of a model name it. */
  readonly name: string
  /** The provider, if only one uses the dialect. Otherwise it is `openai` with the dialect in its settings. */
  readonly provider?: 'workers-ai'
  readonly error: (code: number, message: string, headers?: () => Readonly<Record<string, string>>) => Answer
  readonly stream: (...pieces: readonly Piece[]) => Answer
  /** The frames before the first text. */
  readonly open: readonly Piece[]
  readonly text: (words: string) => Piece
  /** A call with its arguments exactly as written here; indexes count from 0. */
  readonly call: (index: number, id: string, name: string, args: string) => readonly Piece[]
  /** The beginning of one, its arguments still coming. */
  readonly callBegun: (id: string, name: string, args: string) => readonly Piece[]
  /** From the reason for the end to the end of the stream. */
  readonly end: (why: End) => readonly Piece[]
  /** The beginning of a frame: the rest of it never comes. */
  readonly halfFrame: readonly Piece[]
  /** The same, cut inside a character of two bytes. */
  readonly halfCharacter: readonly Piece[]
  /** That the provider is overloaded, in the middle of an answer. */
  readonly overloaded: Piece
  /** That something broke behind the provider, as the whole of an answer with 200. */
  readonly failedInside: Answer
  /** Bytes that show a live connection and nothing of an answer. */
  readonly signsOfLife: Readonly<Record<string, string>>
  /** The model declines in the dialect's own way. */
  readonly refusal: readonly Piece[]
  /** A frame that cannot be read. */
  readonly unreadable: readonly Piece[]
  /** Faults of this dialect alone. */
  readonly own: readonly Fault[]
  /** Faults that cannot exist in this dialect, by their names, and why. */
  readonly cannot?: Readonly<Record<string, string>>
}

export const answers = (wire: Wire, ...words: readonly string[]): Answer =>
  wire.stream(...wire.open, ...words.map(wire.text), ...wire.end('stop'))
