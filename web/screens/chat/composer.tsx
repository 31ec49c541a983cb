/** The field in which messages are written, with files, the model, and what happens while a run goes on. */

import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { can } from '../../api/me.ts'
import { IconButton } from '../../parts/button.tsx'
import { place } from '../../parts/route.ts'
import { showError } from '../../parts/toast.ts'
import { t } from '../../words/words.ts'
import { readAttachment } from './attachments.ts'
import { keepDraft, readDraft, suggestion } from './draft.ts'
import { ModelPicker } from './model-picker.tsx'
import { type Attachment, type Draft, stop, timeline } from './store.ts'

type Mode = NonNullable<Draft['mode']>
const modes: readonly Mode[] = ['steer', 'queue', 'interrupt']
const isTouch = matchMedia('(pointer: coarse)').matches

type Props = { readonly onSend: (draft: Draft) => Promise<void> }

export const Composer = ({ onSend }: Props) =>
  can('chat') ? <Writing onSend={onSend} /> : <p class="composer note">{t('readOnly')}</p>

function Writing({ onSend }: Props) {
  const { id } = place.value
  const [text, setText] = useState(() => readDraft(id))
  const [attachments, setAttachments] = useState<readonly Attachment[]>([])
  const [mode, setMode] = useState<Mode>('steer')
  const [model, setModel] = useState('')
  const field = useRef<HTMLTextAreaElement>(null)
  const write = (value: string) => {
    setText(value)
    keepDraft(id, value)
  }
  useEffect(() => {
    if (suggestion.value === undefined) return
    write(suggestion.value)
    suggestion.value = undefined
    field.current?.focus()
  }, [suggestion.value])
  useEffect(() => fit(field.current), [text])
  const attach = async (files: readonly File[]) => {
    const read = await Promise.all(files.map(readAttachment))
    setAttachments((before) => [...before, ...read].slice(0, 20))
  }
  const submit = () => {
    if (!text.trim() && !attachments.length) return
    const draft = { text: text.trim() || t('seeAttachment'), attachments, mode, ...(model && { model }) }
    write('')
    setAttachments([])
    onSend(draft).catch(showError)
  }
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault()
        attach([...(event.dataTransfer?.files ?? [])]).catch(showError)
      }}
    >
      <Attachments list={attachments} onChange={setAttachments} />
      <MessageField field={field} text={text} onWrite={write} onSubmit={submit} onFiles={attach} />
      <div class="row">
        <AttachButton onFiles={attach} />
        <ModelPicker value={model} onChange={setModel} />
        <span class="grow" />
        <Actions mode={mode} onMode={setMode} isEmpty={!text.trim() && !attachments.length} />
      </div>
    </form>
  )
}

type MessageFieldProps = {
  readonly field: RefObject<HTMLTextAreaElement | null>
  readonly text: string
  readonly onWrite: (text: string) => void
  readonly onSubmit: () => void
  readonly onFiles: (files: readonly File[]) => Promise<void>
}

const MessageField = ({ field, text, onWrite, onSubmit, onFiles }: MessageFieldProps) => (
  <textarea
    ref={field}
    rows={1}
    dir="auto"
    value={text}
    aria-label={t('message')}
    placeholder={t('message')}
    enterkeyhint={isTouch ? 'enter' : 'send'}
    onInput={(event) => onWrite(event.currentTarget.value)}
    onKeyDown={(event) => onKey(event, onSubmit)}
    onPaste={(event) => onPaste(event, onFiles)}
  />
)

function fit(field: HTMLTextAreaElement | null): void {
  if (!field) return
  field.style.height = 'auto'
  field.style.height = `${Math.min(field.scrollHeight, 260)}px`
}

/** Enter ends the choice of an input method too, and then sends nothing. */
function onKey(event: KeyboardEvent, submit: () => void): void {
  if (event.key === 'Escape' && timeline.value.run !== undefined) void stop().catch(showError)
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing || event.keyCode === 229 || isTouch) return
  event.preventDefault()
  submit()
}

function onPaste(event: ClipboardEvent, attach: (files: readonly File[]) => Promise<void>): void {
  const files = [...(event.clipboardData?.files ?? [])]
  if (!files.length) return
  event.preventDefault()
  attach(files).catch(showError)
}

type ActionsProps = { readonly mode: Mode; readonly onMode: (mode: Mode) => void; readonly isEmpty: boolean }

function Actions({ mode, onMode, isEmpty }: ActionsProps) {
  const { run, stopping } = timeline.value
  const sendButton = (
    <button type="submit" class="icon-button send" aria-label={t('send')} title={t('send')} disabled={isEmpty}>
      <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
        <path d="M12 19V5M6 11l6-6 6 6" />
      </svg>
    </button>
  )
  if (run === undefined) return sendButton
  return (
    <>
      <select
        aria-label={t('whileRunning')}
        value={mode}
        onChange={(event) => onMode(event.currentTarget.value as Mode)}
      >
        {modes.map((name) => (
          <option key={name} value={name}>
            {t(name)}
          </option>
        ))}
      </select>
      <IconButton icon="stop" label={t('stop')} onClick={stop} disabled={stopping} />
      {!isEmpty && sendButton}
    </>
  )
}

function AttachButton({ onFiles }: { readonly onFiles: (files: readonly File[]) => Promise<void> }) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label={t('attach')}
        onChange={(event) => {
          onFiles([...(event.currentTarget.files ?? [])]).catch(showError)
          event.currentTarget.value = ''
        }}
      />
      <IconButton icon="attach" label={t('attach')} onClick={() => input.current?.click()} />
    </>
  )
}

type AttachmentsProps = {
  readonly list: readonly Attachment[]
  readonly onChange: (list: readonly Attachment[]) => void
}

function Attachments({ list, onChange }: AttachmentsProps) {
  if (!list.length) return null
  return (
    <ul class="attachments">
      {list.map((one, at) => (
        <li key={`${one.name}-${at}`} class="chip">
          {one.type === 'image' ? <img src={one.url} alt={one.name} /> : <span>{one.name}</span>}
          <IconButton icon="close" label={t('remove')} onClick={() => onChange(list.toSpliced(at, 1))} />
        </li>
      ))}
    </ul>
  )
}
