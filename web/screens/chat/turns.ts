/** Edits, repeats and branches turns of the open session. */

import { signal } from '@preact/signals'
import type { UserBlock } from '../../model/blocks.ts'
import { can } from '../../api/me.ts'
import { isUnsent } from '../../model/timeline.ts'
import { goTo, place } from '../../parts/route.ts'
import { type Attached, listAttached, readPicture, setAttached } from './attachments.ts'
import { type Draft, readDraft, suggest } from './draft.ts'
import { forgetSent, fork, sendMessage, timeline, undo } from './store.ts'

/** Only the newest turn can be taken back, and with it every message in it. */
export function isLastUser({ runId }: Pick<UserBlock, 'runId'>): boolean {
  const { messages, run, live } = timeline.value
  if (run !== undefined || !can('write')) return false
  const runs = [
    ...messages.flatMap(({ role, source, run_id: id }) => (role === 'user' && !source ? [id] : [])),
    ...live.flatMap((block) => (block.kind === 'user' && !isUnsent(block) ? [block.runId] : [])),
  ]
  return runs.at(-1) === runId && runs.at(-2) !== runId
}

type Edited = {
  readonly session: string
  readonly runId: string
  /** The message that was being written before, which comes back afterwards. */
  readonly text: string
  readonly attached: readonly Attached[]
}
const edited = signal<Edited | undefined>(undefined)

/** True while the field has the words of the newest turn. That turn stays until they are sent. */
export const isEditing = (): boolean => edited.value?.session === place.value.id && isLastUser(edited.value)

export async function editLast({ runId, text, images }: UserBlock): Promise<void> {
  const { id: session } = place.value
  const pictures = await Promise.all(images.map(readPicture))
  edited.value = { session, runId, text: readDraft(session), attached: listAttached(session) }
  setAttached(session, pictures)
  suggest(text)
}

export function endEdit(): void {
  if (!edited.value) return
  const { session, text, attached } = edited.value
  edited.value = undefined
  setAttached(session, attached)
  suggest(text)
}

/** Sends a message, in the place of the newest turn when that is being edited. */
export async function submit(draft: Draft): Promise<void> {
  if (isEditing()) {
    await undo()
    endEdit()
  }
  await sendMessage(draft)
}

export async function sendAgain({ key, text, images }: UserBlock): Promise<void> {
  forgetSent(key)
  await sendMessage({ text, attachments: images.map((url) => ({ type: 'image', url, name: '' })) })
}

export async function branchFrom(runId: string): Promise<void> {
  const copy = await fork(runId)
  goTo('chat', copy.id)
}
