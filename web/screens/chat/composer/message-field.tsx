/** The text field of a message, with the menu of commands and files above it. */

import type { RefObject } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { textOf } from '../../../model/blocks.ts'
import { complete, findTrigger, replace, type Written } from '../../../model/completion.ts'
import { useLate } from '../../../parts/late.ts'
import { showError } from '../../../parts/toast.ts'
import { t } from '../../../words/words.ts'
import { stop, timeline } from '../store.ts'
import type { MenuKeys, MenuProps } from './suggestion-menu.tsx'
import { endEdit } from '../turns.ts'

const isTouch = matchMedia('(pointer: coarse)').matches

type Props = {
  readonly field: RefObject<HTMLTextAreaElement | null>
  readonly session: string
  readonly text: string
  readonly onWrite: (text: string) => void
  /** Places the caret, too. */
  readonly onInsert: (written: Written) => void
  readonly onSubmit: () => void
  readonly onFiles: (files: readonly File[]) => void
}

export function MessageField({ field, session, text, onWrite, onInsert, onSubmit, onFiles }: Props) {
  const id = useId()
  const keys: MenuKeys = useRef(null)
  const [active, setActive] = useState<string>()
  const menu = useTrigger(text)
  const Menu = useLate<MenuProps>(
    async () => (await import('./suggestion-menu.tsx')).SuggestionMenu,
    menu.trigger !== undefined,
  )
  useEffect(() => fit(field.current), [text])
  const choose = (value: string, whole?: string) => {
    if (!menu.trigger) return
    const done = whole === undefined ? complete(text, menu.trigger, value) : replace(text, menu.trigger, whole)
    onInsert(done)
    menu.setCaret(done.caret)
  }
  const hasMenu = Menu !== undefined && menu.trigger !== undefined
  return (
    <>
      {hasMenu && menu.trigger && (
        <Menu
          trigger={menu.trigger}
          session={session}
          id={`${id}menu`}
          keys={keys}
          onChoose={choose}
          onClose={menu.dismiss}
          onActive={setActive}
        />
      )}
      <textarea
        ref={field}
        rows={1}
        dir="auto"
        value={text}
        aria-label={t('message')}
        aria-autocomplete="list"
        aria-controls={hasMenu ? `${id}menu` : undefined}
        aria-activedescendant={active}
        placeholder={t('message')}
        enterkeyhint={isTouch ? 'enter' : 'send'}
        onInput={(event) => {
          menu.setCaret(event.currentTarget.selectionStart)
          onWrite(event.currentTarget.value)
        }}
        onKeyUp={(event) => menu.setCaret(event.currentTarget.selectionStart)}
        onClick={(event) => menu.setCaret(event.currentTarget.selectionStart)}
        onBlur={() => menu.setCaret(-1)}
        onKeyDown={(event) => keys.current?.(event) || onKey(event, onSubmit, onWrite)}
        onPaste={(event) => onPaste(event, onFiles)}
      />
    </>
  )
}

/** The word at the caret, until the person closes its menu. */
function useTrigger(text: string) {
  const [caret, setCaret] = useState(-1)
  const [dismissed, setDismissed] = useState<number>()
  const found = caret < 0 ? undefined : findTrigger(text, caret)
  useEffect(() => {
    if (found === undefined) setDismissed(undefined)
  }, [found === undefined])
  return {
    trigger: found?.from === dismissed ? undefined : found,
    setCaret,
    dismiss: () => setDismissed(found?.from),
  }
}

/** Measuring lays out the whole page again, so browsers that size a field by its content do it themselves. */
const hasOwnSize = CSS.supports('field-sizing: content')

function fit(field: HTMLTextAreaElement | null): void {
  if (!field || hasOwnSize) return
  field.style.height = 'auto'
  field.style.height = `${field.scrollHeight}px`
}

/** Enter ends the choice of an input method too, and then sends nothing. */
function onKey(event: KeyboardEvent, submit: () => void, write: (text: string) => void): void {
  if (event.key === 'ArrowUp' && !valueOf(event) && !event.altKey) return repeatLast(event, write)
  if (event.key === 'Escape' && timeline.value.run !== undefined) void stop().catch(showError)
  else if (event.key === 'Escape') endEdit()
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing || event.keyCode === 229 || isTouch) return
  event.preventDefault()
  submit()
}

const valueOf = ({ currentTarget }: KeyboardEvent): string => (currentTarget as HTMLTextAreaElement).value

/** Restores the last words of the person in the empty field. */
function repeatLast(event: KeyboardEvent, write: (text: string) => void): void {
  const { live, messages } = timeline.value
  const sent = live.findLast((block) => block.kind === 'user')
  const stored = messages.findLast(({ role, source }) => role === 'user' && source === undefined)
  const words = sent?.kind === 'user' ? sent.text : stored && textOf(stored)
  if (!words) return
  event.preventDefault()
  write(words)
}

function onPaste(event: ClipboardEvent, attach: (files: readonly File[]) => void): void {
  const files = [...(event.clipboardData?.files ?? [])]
  if (!files.length) return
  event.preventDefault()
  attach(files)
}
