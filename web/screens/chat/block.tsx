/** Draws one block of the conversation. */

import { useComputed } from '@preact/signals'
import { api } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import { ask } from '../../parts/dialog.tsx'
import { explainFailure, showDone } from '../../parts/toast.ts'
import { memo } from './memo.ts'
import { type Block, keyOf, type TextBlock, type UserBlock } from '../../model/blocks.ts'
import { isUnsent } from '../../model/timeline.ts'
import { Markdown } from '../../markdown/draw.tsx'
import { showBidi } from '../../markdown/links.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { formatDuration, formatTime } from '../../words/format.ts'
import { sourceName } from '../../words/source-name.ts'
import { t } from '../../words/words.ts'
import { branchFrom, canEdit, editMessage, isNewestTurn, sendAgain } from './turns.ts'
import { copy } from './copy.ts'
import { forgetSent, timeline } from './store.ts'
import { Results } from './results/results.tsx'
import { MessagePicture, WorkspaceFile } from './results/workspace-file.tsx'
import { Calls, SubagentLink } from './activity.tsx'
import { RatingButtons } from './rating.tsx'
import { ReadButton } from './read-button.tsx'
import { Versions } from './version-row.tsx'

export const BlockView = memo(({ block }: { readonly block: Block }) => (
  <article class={`block ${block.kind}`} data-key={block.key} data-run={block.runId} aria-label={labelOf(block)}>
    <Content block={block} />
  </article>
))

function labelOf(block: Block): string {
  if (block.kind === 'user') return t('you')
  if (block.kind === 'tool' || block.kind === 'calls') return t('activity')
  if (block.kind === 'results') return t('files')
  return block.kind === 'text' ? t('agent') : t(block.kind)
}

function Content({ block }: { readonly block: Block }) {
  switch (block.kind) {
    case 'user':
      return <User block={block} />
    case 'text':
      return <Answer block={block} />
    case 'thinking':
      return <Thinking block={block} />
    case 'calls':
      return <Calls block={block} />
    case 'tool':
      return null
    case 'notice':
      return (
        <details>
          <summary>{block.source ? t('noticeOf', { source: sourceName(block.source) }) : t('notice')}</summary>
          <p class="pre-line" dir="auto">
            {showBidi(block.text)}
          </p>
        </details>
      )
    case 'results':
      return <Results block={block} />
    case 'subagent':
      return <SubagentLink subagent={block} />
  }
}

function User({ block }: { readonly block: UserBlock }) {
  const { text, images, files = [], state, key } = block
  return (
    <>
      {text && (
        <p class="bubble pre-line" dir="auto">
          {showBidi(text)}
        </p>
      )}
      {files.length > 0 && (
        <p class="row end">
          {files.map(({ name, path }) =>
            path === undefined ? (
              <span class="chip">{showBidi(name)}</span>
            ) : (
              <WorkspaceFile key={path} path={path} text={name} />
            ),
          )}
        </p>
      )}
      {images.length > 0 && (
        <p class="row end">
          {images.map((url) => (
            <MessagePicture key={url} url={url} name={t('picture')} />
          ))}
        </p>
      )}
      {state === 'joining' && <span class="badge">{t('joining')}</span>}
      {isUnsent(block) && (
        <div class="row end">
          <span class="badge warn">{t(state === 'missed' ? 'missed' : 'notSent')}</span>
          <Button onClick={() => sendAgain(block)}>{t('retry')}</Button>
          <Button onClick={() => forgetSent(key)}>{t('remove')}</Button>
        </div>
      )}
      {(state === 'stored' || state === 'sent') && <UserActions block={block} />}
    </>
  )
}

/** Adds the words of a message to the prompt library. */
async function savePrompt(text: string): Promise<void> {
  const name = await ask({ title: t('savePrompt'), text: t('promptNameHint'), action: t('save'), field: '' })
  if (!name?.trim()) return
  await api('PATCH', '/api/settings', { body: { prompts: { [name.trim()]: text } } })
  showDone(t('saved'))
}

const UserActions = ({ block }: { readonly block: UserBlock }) => (
  <div class="actions">
    {block.at && <time dateTime={block.at}>{formatTime(block.at)}</time>}
    <IconButton icon="copy" label={t('copy')} onClick={() => copy(block.text)} />
    {can('write') && block.text && (
      <IconButton icon="memory" label={t('savePrompt')} onClick={() => savePrompt(block.text)} />
    )}
    {block.state === 'stored' && !isNewestTurn(block) && <Versions seq={block.key} />}
    {block.state === 'stored' && canEdit(block) && (
      <IconButton icon="edit" label={t('editAndResend')} onClick={() => editMessage(block)} />
    )}
    {block.state === 'stored' && (
      <IconButton icon="branch" label={t('branchHere')} onClick={() => branchFrom(block.runId)} />
    )}
  </div>
)

const noticeBegins = 'I could not finish this: '
const noticeEnds = ' you can try again.'

/** The answer of a run that has failed ends with a notice, which stands here in the words of the page. */
function AnswerText({ text }: { readonly text: string }) {
  const at = text.endsWith(noticeEnds) ? text.lastIndexOf(noticeBegins) : -1
  if (at < 0) return <Markdown text={text} />
  return (
    <>
      {at > 0 && <Markdown text={text.slice(0, at)} />}
      <p dir="auto">{explainFailure(text.slice(at + noticeBegins.length))}</p>
    </>
  )
}

/** The row below the newest answer has its own button. */
function Answer({ block }: { readonly block: TextBlock }) {
  const isNewest = useComputed(() => {
    const last = timeline.value.messages.at(-1)
    return last?.role === 'assistant' && block.key === keyOf(last.run_id, last.seq, 'text')
  })
  return (
    <>
      <AnswerText text={block.text} />
      {block.marks.length === 0 && !isNewest.value && (
        <div class="actions">
          <IconButton icon="copy" label={t('copy')} onClick={() => copy(block.text)} />
          <ReadButton id={block.key} text={block.text} />
          <RatingButtons seq={seqOf(block)} />
        </div>
      )}
    </>
  )
}

/** Stored blocks have the number of their message in the key. */
const seqOf = ({ key, runId }: TextBlock): number => Number.parseInt(key.slice(runId.length + 1), 10)

/** While it grows, its last line is shown. */
function Thinking({ block }: { readonly block: TextBlock }) {
  const isLive = useComputed(() => timeline.value.run !== undefined && timeline.value.live.at(-1)?.key === block.key)
  const line = isLive.value ? (block.text.trim().split('\n').at(-1) ?? '') : ''
  // Less than a second is no thought that somebody has waited for.
  const time = block.ms === undefined ? '' : formatDuration(Math.max(1_000, Math.round(block.ms / 1_000) * 1_000))
  return (
    <details class="thought">
      <summary>
        <span class="chevron">
          <Icon name="right" />
        </span>
        {isLive.value ? (
          <>
            <span class="live">{t('thinking')}</span>
            <span class="clip">{showBidi(line.slice(-120))}</span>
          </>
        ) : (
          <span>{time ? t('thoughtFor', { time }) : t('thoughts')}</span>
        )}
      </summary>
      <Markdown text={block.text} />
    </details>
  )
}
