/** Draws one block of the conversation. */

import { memo } from './memo.ts'
import type { Block, TextBlock, UserBlock } from '../../model/blocks.ts'
import { isUnsent } from '../../model/timeline.ts'
import { Markdown } from '../../markdown/draw.tsx'
import { showBidi } from '../../markdown/links.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { showDone } from '../../parts/toast.ts'
import { formatTime } from '../../words/format.ts'
import { t } from '../../words/words.ts'
import { branchFrom, editLast, isLastUser, sendAgain } from './turns.ts'
import { forgetSent } from './store.ts'
import { Results } from './results/results.tsx'
import { MessagePicture, WorkspaceFile } from './results/workspace-file.tsx'
import { Calls, SubagentLink } from './activity.tsx'

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
      return (
        <details>
          <summary>{t('thinking')}</summary>
          <Markdown text={block.text} />
        </details>
      )
    case 'calls':
      return <Calls block={block} />
    case 'tool':
      return null
    case 'notice':
      return (
        <details>
          <summary>{block.source ? t('noticeOf', { source: block.source }) : t('notice')}</summary>
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

const UserActions = ({ block }: { readonly block: UserBlock }) => (
  <div class="actions">
    {block.at && <time dateTime={block.at}>{formatTime(block.at)}</time>}
    <IconButton icon="copy" label={t('copy')} onClick={() => copy(block.text)} />
    {isLastUser(block) && <IconButton icon="edit" label={t('editAndResend')} onClick={() => editLast(block)} />}
    {block.state === 'stored' && (
      <IconButton icon="branch" label={t('branchHere')} onClick={() => branchFrom(block.runId)} />
    )}
  </div>
)

const Answer = ({ block }: { readonly block: TextBlock }) => (
  <>
    <Markdown text={block.text} />
    {block.marks.length === 0 && (
      <div class="actions">
        <IconButton icon="copy" label={t('copy')} onClick={() => copy(block.text)} />
      </div>
    )}
  </>
)

async function copy(text: string): Promise<void> {
  await navigator.clipboard.writeText(text)
  showDone(t('copied'))
}
