/** Keeps which parts of the open session have versions, and goes from one to another. */

import { effect, signal } from '@preact/signals'
import { api, get, path } from '../../api/client.ts'
import { reloadMessages, session, timeline } from './store.ts'

type Group = {
  readonly message_id: string
  readonly versions: readonly { readonly id: string; readonly current: boolean }[]
}
type Groups = { readonly data: readonly Group[] }

export const versionGroups = signal<readonly Group[]>([])

/** The versions of the part that begins with this message. */
export const versionsFrom = (seq: string): Group | undefined =>
  versionGroups.value.find(({ message_id: id }) => id === `msg_${seq}`)

export const currentOf = ({ versions }: Group): number => versions.findIndex(({ current }) => current)

export async function chooseVersion({ versions }: Group, at: number): Promise<void> {
  const id = session.value?.id ?? ''
  const version = versions[at]?.id
  const { data } = await api<Groups>('POST', path`/api/sessions/${id}/versions`, { body: { version } })
  await reloadMessages()
  if (session.value?.id === id) versionGroups.value = data
}

async function load(id: string): Promise<void> {
  // Without an answer the conversation stands without its older versions.
  const found = await get<Groups>(path`/api/sessions/${id}/versions`).catch(() => undefined)
  if (found && session.peek()?.id === id) versionGroups.value = found.data
}

/** Reads the versions when a session that has some is opened, and when its messages have changed. */
export function watchVersions(): () => void {
  let asked = ''
  return effect(() => {
    const { id, has_versions: hasVersions = false } = session.value ?? {}
    const { run, messages } = timeline.value
    if (id === undefined || run !== undefined) return
    const wanted = `${id} ${hasVersions} ${messages.at(-1)?.seq ?? ''}`
    if (wanted === asked) return
    // Numbers of messages are those of their session alone.
    if (!hasVersions || !asked.startsWith(`${id} `)) versionGroups.value = []
    asked = wanted
    if (hasVersions) void load(id)
  })
}
