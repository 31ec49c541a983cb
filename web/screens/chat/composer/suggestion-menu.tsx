/** The menu of commands and files above the field. The field keeps the focus and passes its keys on. */

import type { RefObject } from 'preact'
import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import { filePath, get, type Page } from '../../../api/client.ts'
import { can } from '../../../api/me.ts'
import type { Trigger } from '../../../model/completion.ts'
import { findMatches } from '../../../model/palette.ts'
import { useLoad } from '../../../parts/load.tsx'
import { explain, say } from '../../../parts/toast.ts'
import { germanCommands } from '../../../words/commands-de.ts'
import { language, t } from '../../../words/words.ts'
import type { Scope } from '../../../model/types.ts'

type Entry = {
  /** The words by which it is found. */
  readonly name: string
  readonly value: string
  readonly shown: string
  readonly note: string
  /** Enter sends a message whose command is complete. */
  readonly spellings: readonly string[]
  /** Replaces the word: a prompt of the library. */
  readonly text?: string
}
type Command = {
  readonly name: string
  readonly aliases: readonly string[]
  readonly usage: string
  readonly description: string
  readonly scope: Scope
  readonly chats_only: boolean
}
type File = { readonly path: string; readonly name: string; readonly type: string }

/** Returns whether the menu has used the key. */
export type MenuKeys = RefObject<((event: KeyboardEvent) => boolean) | null>
export type MenuProps = {
  readonly trigger: Trigger
  readonly session: string
  readonly id: string
  readonly keys: MenuKeys
  /** With a text that replaces the word. */
  readonly onChoose: (value: string, text?: string) => void
  readonly onClose: () => void
  /** Told the id of the entry that Enter chooses. */
  readonly onActive: (id: string | undefined) => void
}

const maxShown = 8
const maxPages = 5

async function listAll<T>(address: string): Promise<readonly T[]> {
  const found: T[] = []
  let cursor: string | null = ''
  for (let count = 0; cursor !== null && count < maxPages; count++) {
    const page: Page<T> = await get(`${address}${cursor && `&cursor=${encodeURIComponent(cursor)}`}`)
    found.push(...page.data)
    cursor = page.next_cursor
  }
  return found
}

async function listEntries(kind: Trigger['kind'], session: string): Promise<readonly Entry[]> {
  if (kind === 'command') return [...(await listPrompts()), ...(await listCommands())]
  if (!session) return []
  return listFiles(session)
}

type Prompts = { readonly prompts?: Readonly<Record<string, string>> }

async function listPrompts(): Promise<readonly Entry[]> {
  if (!can('read')) return []
  const { prompts = {} } = await get<Prompts>('/api/settings')
  return Object.entries(prompts).map(([name, text]) => ({
    name,
    value: name,
    shown: `/${name}`,
    note: text,
    spellings: [],
    text,
  }))
}

async function listCommands(): Promise<readonly Entry[]> {
  return (await listAll<Command>('/api/commands?limit=1000'))
    .filter(({ scope, chats_only: isForChats }) => !isForChats && can(scope))
    .map(({ name, aliases, usage, description }) => ({
      name: [name, ...aliases].join(' '),
      value: name,
      shown: `/${name} ${usage}`.trim(),
      note: translate(description),
      spellings: [name, ...aliases],
    }))
}

/** Skills are described in the language of their author. */
const translate = (description: string): string =>
  language.value === 'de' ? (germanCommands[description] ?? description) : description

async function listFiles(session: string): Promise<readonly Entry[]> {
  return (await listAll<File>(`${filePath(session, '')}?recursive=1&limit=1000`))
    .filter(({ type }) => type === 'file')
    .map(({ path, name }) => ({ name, path: path.replace(/^\/workspace\//, '') }))
    .map(({ path, name }) => ({ name: `${name} ${path}`, value: path, shown: path, note: '', spellings: [path] }))
}

export function SuggestionMenu({ trigger, session, id, keys, onChoose, onClose, onActive }: MenuProps) {
  const { kind, query } = trigger
  const loaded = useLoad(() => listEntries(kind, session), `${kind} ${session}`)
  const shown = findMatches(loaded.data ?? [], query).slice(0, maxShown)
  const [at, setAt] = useState(0)
  // Before the next key: it must meet the entry that is marked.
  useLayoutEffect(() => setAt(0), [kind, query])
  const active = shown[at] && `${id}-${at}`
  useLayoutEffect(() => {
    onActive(active)
    if (active) document.getElementById(active)?.scrollIntoView({ block: 'nearest' })
    return () => onActive(undefined)
  }, [active])
  useEffect(() => {
    if (shown.length) say(t('suggestionCount', { count: shown.length }))
  }, [shown.length])
  useLayoutEffect(() => {
    keys.current = (event) => pressKey(event, { at, shown, query }, { setAt, onChoose, onClose })
    return () => void (keys.current = null)
  })
  if (loaded.error !== undefined && !loaded.data) return <p class="suggestions note">{explain(loaded.error)}</p>
  return (
    <ul class="palette suggestions" id={id} role="listbox" aria-label={t('suggestions')} hidden={!shown.length}>
      {shown.map(({ value, shown: text, note, text: whole }, index) => (
        <li
          key={text}
          id={`${id}-${index}`}
          role="option"
          aria-selected={index === at}
          // The field keeps the focus, and a phone its keyboard.
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => onChoose(value, whole)}
        >
          <span class={note ? 'clip whole' : 'clip'} dir="auto">
            {text}
          </span>
          <span class="note clip grow">{note}</span>
        </li>
      ))}
    </ul>
  )
}

type Shown = { readonly at: number; readonly shown: readonly Entry[]; readonly query: string }
type Actions = Pick<MenuProps, 'onChoose' | 'onClose'> & { readonly setAt: (at: number) => void }

const hasModifier = ({ shiftKey, altKey, ctrlKey, metaKey }: KeyboardEvent): boolean =>
  shiftKey || altKey || ctrlKey || metaKey

function pressKey(event: KeyboardEvent, { at, shown, query }: Shown, { setAt, onChoose, onClose }: Actions): boolean {
  const entry = shown[at]
  if (!entry || event.isComposing || hasModifier(event)) return false
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
  if (step) setAt((at + step + shown.length) % shown.length)
  else if (event.key === 'Escape') onClose()
  else if (event.key === 'Tab' || (event.key === 'Enter' && !entry.spellings.includes(query)))
    onChoose(entry.value, entry.text)
  else return false
  event.preventDefault()
  return true
}
