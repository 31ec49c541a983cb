/**
 * Writes and reads the JSON of a turn, in the step table and in pages of history. Stored names that the code has given
 * up stay as they are, so that a release can be rolled back: the one before reads what this one has written.
 */

import type { Turn } from '#agent/core/turn.ts'

export type StoredTurn = Omit<Turn, 'nextInstruction' | 'fallbackAnswer' | 'crashes' | 'stage'> & {
  /** `nextInstruction` */
  readonly say?: string | undefined
  /** `fallbackAnswer` */
  readonly said?: string | undefined
  /** `crashes` */
  readonly deaths: Turn['crashes']
  readonly stage: StoredStage
}

type Calling = Extract<Turn['stage'], { readonly at: 'calling-model' }>
/** `say`: the instruction of the call. */
type StoredCalling = Omit<Calling, 'instruction'> & { readonly say?: string | undefined }
type StoredStage = Exclude<Turn['stage'], Calling> | StoredCalling

export function toStoredTurn({ nextInstruction, fallbackAnswer, crashes, stage, ...same }: Turn): StoredTurn {
  return { ...same, say: nextInstruction, said: fallbackAnswer, deaths: crashes, stage: toStoredStage(stage) }
}

function toStoredStage(stage: Turn['stage']): StoredStage {
  if (stage.at !== 'calling-model') return stage
  const { instruction, ...same } = stage
  return { ...same, say: instruction }
}

export function fromStoredTurn({ say, said, deaths, stage, ...same }: StoredTurn): Turn {
  return {
    ...same,
    ...(say !== undefined && { nextInstruction: say }),
    ...(said !== undefined && { fallbackAnswer: said }),
    crashes: deaths,
    stage: fromStoredStage(stage),
  }
}

function fromStoredStage(stage: StoredStage): Turn['stage'] {
  if (stage.at !== 'calling-model') return stage
  const { say, ...same } = stage
  return { ...same, ...(say !== undefined && { instruction: say }) }
}
