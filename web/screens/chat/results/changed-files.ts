/** Keeps which files the turns of the open session have changed. They are read when there are calls that could have. */

import { effect, signal } from '@preact/signals'
import { get, type Page, path } from '../../../api/client.ts'
import type { ChangedFiles } from '../../../model/arrange-blocks.ts'
import { session, timeline } from '../store.ts'

type Checkpoint = { readonly run_id: string; readonly files: readonly string[]; readonly count: number }

export const changedFiles = signal<ChangedFiles>({})

async function load(id: string): Promise<void> {
  // A host that is away has no list. The answers stand without it.
  const page = await get<Page<Checkpoint>>(path`/api/sessions/${id}/checkpoints`).catch(() => undefined)
  if (page && session.peek()?.id === id)
    changedFiles.value = Object.fromEntries(page.data.map(({ run_id: runId, ...one }) => [runId, one]))
}

/** Reads the list when a session with calls is opened, and after each of its runs. */
export function watchChangedFiles(): () => void {
  let asked = ''
  return effect(() => {
    const id = session.value?.id
    const { run, messages } = timeline.value
    const last = messages.findLast(({ role }) => role === 'tool')?.seq
    const wanted = id === undefined || last === undefined || run !== undefined ? '' : `${id} ${last}`
    if (!wanted || wanted === asked) return
    asked = wanted
    if (id) void load(id)
  })
}
