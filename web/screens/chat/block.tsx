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
import { SubagentLink, ToolCard } from './tool-card.tsx'

export const BlockView = memo(({ block }: { readonly block: Block }) => (
  <article class={`block ${block.kind}`} data-key={block.key} data-run={block.runId} aria-label={labelOf(block)}>
    <Content block={block} />
  </article>
))

function labelOf(block: Block): string {
  if (block.kind === 'user') return t('you')
  if (block.kind === 'tool') return `${t('tool')} ${block.tool}`
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
    case 'tool':
      return <ToolCard block={block} />
    case 'notice':
      return (
        <details>
          <summary>{block.source ? t('noticeOf', { source: block.source }) : t('notice')}</summary>
          <p class="pre-line" dir="auto">
            {showBidi(block.text)}
          </p>
        </details>
      )
    case 'subagent':
      return <SubagentLink subagent={block} />
  }
}

function User({ block }: { readonly block: UserBlock }) {
  const { text, images, state, key } = block
  return (
    <>
      <p class="bubble pre-line" dir="auto">
        {showBidi(text)}
      </p>
      {images.length > 0 && (
        <p class="row">
          {images.map((url) => (
            <Picture key={url} url={url} />
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

/** Pictures of our own API, and data. Others are named. */
const Picture = ({ url }: { readonly url: string }) =>
  url.startsWith('/api/') || url.startsWith('data:image/') ? (
    <img class="thumb" src={url} alt={t('picture')} loading="lazy" />
  ) : (
    <span class="chip">{`🖼 ${URL.canParse(url) ? new URL(url).host : t('picture')}`}</span>
  )

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
