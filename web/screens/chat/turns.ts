/** Edits, repeats and branches turns of the open session. */

import type { UserBlock } from '../../model/blocks.ts'
import { can } from '../../api/me.ts'
import { isUnsent } from '../../model/timeline.ts'
import { goTo } from '../../parts/route.ts'
import { suggest } from './draft.ts'
import { forgetSent, fork, sendMessage, timeline, undo } from './store.ts'

/** Only the newest turn can be taken back. */
export function isLastUser({ runId }: UserBlock): boolean {
  const { messages, run, live } = timeline.value
  if (run !== undefined || !can('write')) return false
  const newest =
    live.findLast((block) => block.kind === 'user' && !isUnsent(block)) ??
    messages.findLast(({ role, source }) => role === 'user' && !source)
  if (!newest) return false
  return ('run_id' in newest ? newest.run_id : newest.runId) === runId
}

export async function editLast({ text }: UserBlock): Promise<void> {
  await undo()
  suggest(text)
}

export async function sendAgain({ key, text, images }: UserBlock): Promise<void> {
  forgetSent(key)
  await sendMessage({ text, attachments: images.map((url) => ({ type: 'image', url, name: '' })) })
}

export async function branchFrom(runId: string): Promise<void> {
  const copy = await fork(runId)
  goTo('chat', copy.id)
}
