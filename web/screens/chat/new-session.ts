/** Creates the session of a new chat once, however many messages and files wait for it. */

import { signal } from '@preact/signals'
import type { Session } from '../../model/types.ts'
import { createSession, type NewSession } from '../sessions/sessions.ts'
import { listAttached, setAttached } from './attachments.ts'
import { keepDraft, readDraft } from './draft.ts'

/** Whether the new chat becomes a temporary one. */
export const isTemporary = signal(false)

type NewChat = Pick<NewSession, 'model' | 'key' | 'project'>

const listeners: ((session: Session) => void)[] = []
let creating: Promise<Session> | undefined

export const whenCreated = (work: (session: Session) => void): void => void listeners.push(work)

/** `key` makes a repeated request create the same session. */
export function createOnce(options: NewChat = {}) {
  creating ??= create(options).finally(() => (creating = undefined))
  return creating
}

async function create({ model, key, project }: NewChat): Promise<Session> {
  const created = await createSession({ model, key, project, isTemporary: isTemporary.value })
  isTemporary.value = false
  // The person goes on writing meanwhile.
  keepDraft(created.id, readDraft(''))
  keepDraft('', '')
  setAttached(created.id, listAttached(''))
  setAttached('', [])
  for (const work of listeners) work(created)
  return created
}
