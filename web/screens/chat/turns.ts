/** Edits, repeats and branches turns of the open session. */

import { signal } from '@preact/signals'
import type { UserBlock } from '../../model/blocks.ts'
import { can } from '../../api/me.ts'
import { isUnsent } from '../../model/timeline.ts'
import { goTo, place } from '../../parts/route.ts'
import type { AttachedFile } from '../../model/workspace-files.ts'
import { type Attached, listAttached, readPicture, setAttached, toMessage } from './attachments.ts'
import { type Draft, readDraft, suggest } from './draft.ts'
import { forgetSent, fork, replaceFrom, sendMessage, timeline } from './store.ts'

/** The runs that a person has begun or joined, one for each message. */
const listRuns = (): readonly string[] => {
  const { messages, live } = timeline.value
  return [
    ...messages.flatMap(({ role, source, run_id: id }) => (role === 'user' && !source ? [id] : [])),
    ...live.flatMap((block) => (block.kind === 'user' && !isUnsent(block) ? [block.runId] : [])),
  ]
}

/** Whole turns are replaced, so a message has to begin one and be alone in it. */
export const canEdit = ({ runId }: Pick<UserBlock, 'runId'>): boolean =>
  timeline.value.run === undefined && can('write') && listRuns().filter((run) => run === runId).length === 1

export const isNewestTurn = ({ runId }: Pick<UserBlock, 'runId'>): boolean => listRuns().at(-1) === runId

type Edited = {
  readonly session: string
  readonly runId: string
  /** The message that was being written before, which comes back afterwards. */
  readonly text: string
  readonly attached: readonly Attached[]
}
const edited = signal<Edited | undefined>(undefined)

/** True while the field has the words of an earlier message. Its turn stays until they are sent. */
export const isEditing = (): boolean => edited.value?.session === place.value.id && canEdit(edited.value)

export async function editMessage({ runId, text, images, files = [] }: UserBlock): Promise<void> {
  const { id: session } = place.value
  const pictures = await Promise.all(images.map(readPicture))
  edited.value = { session, runId, text: readDraft(session), attached: listAttached(session) }
  setAttached(session, [...pictures, ...toAttached(files)])
  suggest(text)
}

export function endEdit(): void {
  if (!edited.value) return
  const { session, text, attached } = edited.value
  edited.value = undefined
  setAttached(session, attached)
  suggest(text)
}

/** Sends a message, in the place of the turn that is being edited and of all behind it. */
export async function submit(draft: Draft): Promise<void> {
  if (edited.value && isEditing()) {
    await replaceFrom(edited.value.runId)
    endEdit()
  }
  await sendMessage(draft)
}

export async function sendAgain({ key, text, images, files = [] }: UserBlock): Promise<void> {
  const pictures = images.map((url) => ({ type: 'image' as const, url, name: '' }))
  const message = toMessage(text, [...pictures, ...toAttached(files)])
  forgetSent(key)
  await sendMessage(message)
}

/** Files that the server has stay where they are, and the message names them again. */
const toAttached = (files: readonly AttachedFile[]): readonly Attached[] =>
  files.flatMap(({ name, path, data }): readonly Attached[] => {
    if (path !== undefined) return [{ type: 'upload', key: path, name, share: 1, path, isEarlier: true }]
    return data === undefined ? [] : [{ type: 'file', name, data }]
  })

export async function branchFrom(runId: string): Promise<void> {
  const copy = await fork(runId)
  goTo('chat', copy.id)
}
