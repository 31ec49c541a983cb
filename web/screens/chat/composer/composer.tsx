/** The field in which messages are written, with files, the model, and what happens while a run goes on. */

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { can } from '../../../api/me.ts'
import { insert, type Written } from '../../../model/completion.ts'
import { Button, IconButton } from '../../../parts/button.tsx'
import { useLate } from '../../../parts/late.ts'
import { place } from '../../../parts/route.ts'
import { showError } from '../../../parts/toast.ts'
import { t } from '../../../words/words.ts'
import { AttachButton, AttachmentList } from './attachment-list.tsx'
import { attach, checkSize, isUploading, listAttached, needsUpload, setAttached, toMessage } from '../attachments.ts'
import { type Draft, keepDraft, readDraft, suggestion } from '../draft.ts'
import { useKeptFocus } from './kept-focus.ts'
import { MessageField } from './message-field.tsx'
import { ModelPicker } from './model-picker.tsx'
import { choiceOf } from '../models.ts'
import { createOnce } from '../new-session.ts'
import { watchPromptKeys } from './prompt-keys.ts'
import { stop, timeline } from '../store.ts'
import { endEdit, isEditing, submit as submitDraft } from '../turns.ts'
import { canTalk, hasFeature, hasMicrophone, isTalking } from '../voice/talking.ts'
import type { VoiceProps } from './voice.tsx'

type Mode = NonNullable<Draft['mode']>
const modes: readonly Mode[] = ['steer', 'queue', 'interrupt']

export const Composer = () => (can('chat') ? <Writing /> : <p class="composer note">{t('readOnly')}</p>)

function Writing() {
  const { id } = place.value
  const attachments = listAttached(id)
  const [mode, setMode] = useState<Mode>('steer')
  const { field, text, write, put } = useText(id)
  const isEmpty = !text.trim() && !attachments.length
  const isBusy = attachments.some(isUploading)
  useEffect(watchPromptKeys, [])
  useKeptFocus(field)
  const submit = () => {
    if (isEmpty || isBusy) return
    const message = toMessage(text, attachments)
    write('')
    setAttached(id, [])
    submitDraft({ ...message, text: message.text || t('seeAttachment'), mode, ...choiceOf(id) }).catch(
      (error: unknown) => {
        // The turn that it replaces could not be taken back.
        write(text)
        setAttached(id, attachments)
        showError(error)
      },
    )
  }
  const say = (words: string) => {
    const { value = text, selectionStart = text.length } = field.current ?? {}
    put(insert(value, words, selectionStart))
  }
  const attachFiles = (files: readonly File[]) => void addFiles(id, files).catch(showError)
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
        attachFiles([...(event.dataTransfer?.files ?? [])])
      }}
    >
      <EditNotice />
      <AttachmentList session={id} />
      <MessageField
        {...{ field, session: id, text }}
        onWrite={write}
        onInsert={put}
        onSubmit={submit}
        onFiles={attachFiles}
      />
      <div class="row">
        <AttachButton onFiles={attachFiles} />
        <Voice onText={say} />
        <ModelPicker session={id} />
        <span class="grow" />
        <Actions mode={mode} onMode={setMode} isEmpty={isEmpty || isBusy} />
      </div>
    </form>
  )
}

const EditNotice = () =>
  isEditing() ? (
    <p class="row note">
      <span class="grow">{t('editing')}</span>
      <Button onClick={endEdit}>{t('cancel')}</Button>
    </p>
  ) : null

/** The words that are being written. `put` places the caret, too. */
function useText(id: string) {
  const [text, setText] = useState(() => readDraft(id))
  const field = useRef<HTMLTextAreaElement>(null)
  const caret = useRef<number>(undefined)
  const write = (value: string) => {
    setText(value)
    keepDraft(id, value)
  }
  const put = (written: Written) => {
    caret.current = written.caret
    write(written.text)
  }
  useLayoutEffect(() => {
    if (caret.current === undefined) return
    field.current?.focus()
    field.current?.setSelectionRange(caret.current, caret.current)
    caret.current = undefined
  }, [text])
  useEffect(() => {
    if (suggestion.value === undefined) return
    write(suggestion.value)
    suggestion.value = undefined
    field.current?.focus()
  }, [suggestion.value])
  return { field, text, write, put }
}

/** Uploads need a session. */
async function addFiles(id: string, chosen: readonly File[]): Promise<void> {
  const files = chosen.filter(checkSize)
  const session = id || !files.some(needsUpload) ? id : (await createOnce(choiceOf(id))).id
  await attach(session, files)
}

const Voice = ({ onText }: VoiceProps) => {
  const isOffered = hasFeature('transcription') && hasMicrophone
  const Recorder = useLate<VoiceProps>(async () => (await import('./voice.tsx')).VoiceButton, isOffered)
  return (
    <>
      {isOffered && Recorder && <Recorder onText={onText} />}
      {canTalk() && (
        <IconButton
          icon="voice"
          label={t('voiceMode')}
          pressed={isTalking.value}
          onClick={() => void (isTalking.value = !isTalking.value)}
        />
      )}
    </>
  )
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
    <div class="row running">
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
    </div>
  )
}
