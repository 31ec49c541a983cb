/** The palette: finds screens, sessions and actions by a few letters. */

import { useEffect, useId, useState } from 'preact/hooks'
import { get, type Page } from '../../api/client.ts'
import { can, leave } from '../../api/me.ts'
import { findMatches } from '../../model/palette.ts'
import type { Session } from '../../model/types.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { goTo } from '../../parts/route.ts'
import { applyTheme, themes } from '../../parts/theme.ts'
import { showError } from '../../parts/toast.ts'
import { t } from '../../words/words.ts'
import { isPaletteOpen } from '../keys.ts'
import { listScreens } from '../navigation.tsx'
import { sessions } from '../sessions/sessions.ts'

type Entry = { readonly id: string; readonly name: string; readonly kind: string; readonly run: () => unknown }

const maxShown = 12
const searchDelayMs = 200

function listEntries(found: readonly Session[]): readonly Entry[] {
  const all = new Map([...sessions.value, ...found].map((one) => [one.id, one]))
  return [
    ...(can('chat') ? [{ id: 'new', name: t('newChat'), kind: t('action'), run: () => goTo('chat') }] : []),
    ...listScreens().map((screen) => ({ id: screen, name: t(screen), kind: t('screen'), run: () => goTo(screen) })),
    ...[...all.values()].map(({ id, title }) => ({
      id: `session ${id}`,
      name: title ?? t('untitled'),
      kind: t('conversation'),
      run: () => goTo('chat', id),
    })),
    ...themes.map((name) => ({
      id: `theme ${name}`,
      name: `${t('theme')}: ${t(`theme_${name}`)}`,
      kind: t('action'),
      run: () => applyTheme(name),
    })),
    { id: 'keys', name: t('shortcuts'), kind: t('screen'), run: () => goTo('keys') },
    { id: 'out', name: t('signOut'), kind: t('action'), run: leave },
  ]
}

export function Palette() {
  const id = useId()
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const found = useFoundSessions(text)
  const shown = findMatches(listEntries(found), text).slice(0, maxShown)
  const close = () => void (isPaletteOpen.value = false)
  const choose = (entry: Entry | undefined) => {
    if (!entry) return
    close()
    Promise.resolve(entry.run()).catch(showError)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step && shown.length) setAt((at + step + shown.length) % shown.length)
    else if (event.key === 'Enter' && !event.isComposing) choose(shown[at])
    else return
    event.preventDefault()
  }
  return (
    <Dialog title={t('palette')} onClose={close}>
      <input
        role="combobox"
        aria-expanded="true"
        aria-controls={`${id}list`}
        aria-activedescendant={shown[at] ? `${id}${at}` : undefined}
        aria-label={t('palette')}
        autocomplete="off"
        value={text}
        onKeyDown={onKeyDown}
        onInput={(event) => {
          setText(event.currentTarget.value)
          setAt(0)
        }}
      />
      <ul class="palette" id={`${id}list`} role="listbox" aria-label={t('result')}>
        {shown.map((entry, index) => (
          <li
            key={entry.id}
            id={`${id}${index}`}
            role="option"
            aria-selected={index === at}
            onClick={() => choose(entry)}
          >
            <span class="clip grow" dir="auto">
              {entry.name}
            </span>
            <span class="note">{entry.kind}</span>
          </li>
        ))}
      </ul>
      {!shown.length && <p class="note">{t('nothingFound')}</p>}
    </Dialog>
  )
}

/** Sessions that are not in the list beside the chat. */
function useFoundSessions(text: string): readonly Session[] {
  const [found, setFound] = useState<readonly Session[]>([])
  useEffect(() => {
    const wished = text.trim()
    if (wished.length < 2) return setFound([])
    const abort = new AbortController()
    const search = () =>
      get<Page<Session>>(`/api/sessions?limit=20&archived=all&q=${encodeURIComponent(wished)}`, abort.signal)
        .then(({ data }) => setFound(data))
        .catch(showError)
    const timer = setTimeout(search, searchDelayMs)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [text])
  return found
}
