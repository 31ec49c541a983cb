/** The chat: messages, what waits for the person, and the composer. */

import { useEffect, useState } from 'preact/hooks'
import { can } from '../../api/me.ts'
import { ask } from '../../parts/dialog.tsx'
import { Button, IconButton } from '../../parts/button.tsx'
import { Waiting } from '../../parts/load.tsx'
import { addressOf, goTo, place } from '../../parts/route.ts'
import { explain } from '../../parts/toast.ts'
import { formatCost, formatNumber } from '../../words/format.ts'
import { t } from '../../words/words.ts'
import { changeSession, projects, sessions, temporarySource } from '../sessions/sessions.ts'
import { opened, type Opened } from './artifact/opened.ts'
import { Composer } from './composer/composer.tsx'
import { Pending } from './pending.tsx'
import { useLate } from '../../parts/late.ts'
import { loadLateStyle } from '../../parts/late-style.ts'
import {
  closeSession,
  connection,
  loadError,
  openNewChat,
  openSession,
  refresh,
  session,
  takeBack,
  timeline,
} from './store.ts'
import { isTalking } from './voice/talking.ts'
import { WaitingMessages } from './waiting-messages.tsx'
import { Welcome } from './welcome.tsx'

export function Chat() {
  const { id, part } = place.value
  useEffect(() => {
    if (id) void openSession(id, Number(part) || undefined)
    else openNewChat()
  }, [id, part])
  useEffect(() => {
    isTalking.value = false
    return closeSession
  }, [])
  return (
    <div class="chat-frame">
      <div class="chat">
        <Head id={id} />
        <Body id={id} />
        <Pending />
        <Queue />
        <WaitingMessages />
        <Voice />
        <Composer key={id} />
      </div>
      <Beside id={id} />
    </div>
  )
}

/** Stays when the first message of a new chat makes its session. */
function Voice() {
  const Mode = useLate(async () => {
    const [{ VoiceMode }] = await Promise.all([import('./voice/voice-mode.tsx'), loadLateStyle()])
    return VoiceMode
  }, isTalking.value)
  return isTalking.value && Mode ? <Mode /> : null
}

/** The file of this session that is open beside it. */
function Beside({ id }: { readonly id: string }) {
  const file = opened.value?.session === id ? opened.value : undefined
  const Panel = useLate<{ readonly file: Opened }>(
    async () => (await import('./artifact/panel.tsx')).ArtifactPanel,
    file !== undefined,
  )
  return file && Panel ? <Panel key={file.path} file={file} /> : null
}

/** The field of a message can be used before the messages are drawn. */
function Body({ id }: { readonly id: string }) {
  const List = useLate(async () => (await import('./list.tsx')).MessageList, true)
  if (!id && !timeline.value.live.length) return <Welcome />
  if (loadError.value !== undefined)
    return (
      <div class="grow load-error">
        <div class="failure" role="alert">
          <p>{explain(loadError.value)}</p>
          <Button onClick={refresh}>{t('retry')}</Button>
        </div>
      </div>
    )
  const isThere = !id || session.value?.id === id
  return List && isThere ? <List key={id} /> : <Waiting class="grow" />
}

function Head({ id }: { readonly id: string }) {
  const open = session.value
  if (!id || !open) return <header class="chat-head" />
  // The list hears of titles that the agent gives.
  const title = sessions.value.find((one) => one.id === id)?.title ?? open.title
  const project = projects.value.find((one) => one.id === open.project_id)
  return (
    <header class="chat-head">
      <h1 dir="auto">{title ?? t('untitled')}</h1>
      {project && (
        <a class="badge clip" href={addressOf('projects', project.id)} dir="auto">
          {project.name}
        </a>
      )}
      {open.source === temporarySource && <span class="badge">{t('temporary')}</span>}
      {connection.value === 'closed' && <span class="badge warn">{t('reconnecting')}</span>}
      <Meter />
      {can('write') && <IconButton icon="edit" label={t('rename')} onClick={() => rename(open.id, title)} />}
      <IconButton icon="files" label={t('files')} onClick={() => goTo('files', open.id)} />
      <More id={open.id} title={title ?? t('untitled')} />
    </header>
  )
}

type MoreProps = { readonly id: string; readonly title: string }

function More({ id, title }: MoreProps) {
  const [isOpen, setOpen] = useState(false)
  const Inside = useLate<MoreProps & { readonly onClose: () => void }>(
    async () => (await import('./session-dialog.tsx')).SessionDialog,
    isOpen,
  )
  return (
    <>
      <IconButton icon="more" label={t('searchAndExport')} onClick={() => setOpen(true)} />
      {isOpen && Inside && <Inside id={id} title={title} onClose={() => setOpen(false)} />}
    </>
  )
}

async function rename(id: string, title: string | null): Promise<void> {
  const name = await ask({ title: t('rename'), action: t('save'), field: title ?? '' })
  if (name?.trim()) session.value = await changeSession(id, { title: name.trim().slice(0, 100) })
}

function Meter() {
  const open = session.value
  if (!open) return null
  const { context, usage } = open
  const tokens = context
    ? t('contextOf', { used: formatNumber(context.tokens), all: formatNumber(context.window) })
    : t('tokens', { count: formatNumber(usage.input + usage.output) })
  return (
    <span class="meter">
      {tokens} · {formatCost(usage.cost_usd)}
    </span>
  )
}

function Queue() {
  const { queued } = timeline.value
  if (!queued.length) return null
  return (
    <ul class="queue" aria-label={t('queued')}>
      {queued.map(({ runId, text }) => (
        <li key={runId}>
          <span class="badge">{t('queued')}</span>
          <span class="clip" dir="auto">
            {text}
          </span>
          <IconButton icon="close" label={t('takeBack')} onClick={() => takeBack(runId)} />
        </li>
      ))}
    </ul>
  )
}
