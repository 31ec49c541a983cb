/** The messages of a session. At most `maxShown` are elements of the page, however long the session is. */

import { type ReadonlySignal, useComputed, useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { arrangeBlocks, shows } from '../../model/arrange-blocks.ts'
import { type Block, joinBlocks, toBlocks } from '../../model/blocks.ts'
import { type Anchor, endPx, findAnchor, isAtEnd, restoreAnchor } from './anchor.ts'
import { IconButton } from '../../parts/button.tsx'
import { showError } from '../../parts/toast.ts'
import { formatDay } from '../../words/format.ts'
import { t } from '../../words/words.ts'
import { drawFilesBy } from '../../markdown/file-view.tsx'
import { BlockView } from './block.tsx'
import { EndOfRun } from './end-of-run.tsx'
import { findMarked, mark } from './marked.ts'
import { changedFiles, watchChangedFiles } from './results/changed-files.ts'
import { WorkspaceFile } from './results/workspace-file.tsx'
import { loadNextPage, loadOlder, marked, reloadMessages, timeline } from './store.ts'
import { watchVersions } from './versions.ts'

drawFilesBy(WorkspaceFile)

const maxShown = 200
const pageSize = 50
const nearPx = 600
const markedTopPx = 80
const unfoldMs = 1_000

export function MessageList() {
  const ref = useRef<HTMLDivElement>(null)
  const { stored, blocks } = useBlocks()
  /** Undefined: the end is shown and followed. */
  const last = useSignal<string | undefined>(undefined)
  const shown = useSignal(pageSize)
  const anchor = useRef<Anchor | undefined>(undefined)
  const end = last.value === undefined ? blocks.value.length : indexAfter(blocks.value, last.value)
  const start = Math.max(0, end - shown.value)
  const isFollowing = useRef(true)
  const isAway = useSignal(false)
  const window = { start, end, blocks: blocks.value, shown: shown.value }
  const refs = { last, shown, isFollowing, anchor }
  const markedKey = useMarked(stored, blocks.value, refs)
  useFollowSent(ref, refs)
  useWatchers()
  const { onScroll, onClick } = useScrolling(ref, { window, refs, isAway, markedKey })
  return (
    <div class="list-frame">
      <div
        class="list"
        ref={ref}
        role="log"
        aria-live="off"
        aria-label={t('conversation')}
        tabIndex={0}
        onScroll={onScroll}
        onClick={onClick}
      >
        <div>
          {(start > 0 || timeline.value.older) && <p class="note">{t('olderAbove')}</p>}
          {withDays(blocks.value.slice(start, end)).map((entry) =>
            typeof entry === 'string' ? (
              <p key={`day ${entry}`} class="day">
                {formatDay(entry)}
              </p>
            ) : (
              <BlockView key={entry.key} block={entry} />
            ),
          )}
          {end === blocks.value.length && timeline.value.newer === null && <EndOfRun />}
        </div>
      </div>
      {isAway.value && <ToEnd onClick={() => goToEnd(ref.current, refs)} />}
    </div>
  )
}

type Scrolling = {
  readonly window: Shown
  readonly refs: Refs
  readonly isAway: { value: boolean }
  readonly markedKey: string | undefined
}

/** Keeps the end or the place of the reader in view, and shows more where the reader comes near the end of what is shown. */
function useScrolling(ref: { readonly current: HTMLElement | null }, { window, refs, isAway, markedKey }: Scrolling) {
  const { last, isFollowing, anchor } = refs
  const seen = useRef({ clientHeight: 0, scrollHeight: 0, scrollTop: 0 })
  useLayoutEffect(() => {
    const list = ref.current
    if (!list) return
    settle(list, window, refs, seen)
    mark(list, markedKey)
    isAway.value = timeline.value.newer !== null || !isFollowing.current
  })
  useEffect(() => watchSize(ref.current, isFollowing, seen), [])
  const judge = (list: HTMLElement) => {
    isFollowing.current = last.value === undefined && isAtEnd(list)
    isAway.value = timeline.value.newer !== null || !isFollowing.current
    anchor.current = findAnchor(list)
    seen.current = measure(list)
  }
  const onScroll = () => {
    const list = ref.current
    // A change of size moved the end away, which is followed as soon as that is observed.
    if (!list || (isFollowing.current && isOutgrown(list, seen.current))) return
    judge(list)
    if (list.scrollTop < nearPx) showOlder(window, refs)
    else if (isNearEnd(list)) showNewer(window, refs)
  }
  /** A part that a person unfolds stays where it is: its content may be loaded long after, so only scrolling follows the end again. */
  const onClick = ({ target }: Event) => {
    const summary = (target as Element).closest('summary')
    if (!summary && !(target as Element).closest('.code-bar')) return
    isFollowing.current = false
    if (ref.current) anchor.current = findAnchor(ref.current)
    const isOpening = summary?.parentElement instanceof HTMLDetailsElement && !summary.parentElement.open
    if (isOpening) isAway.value = true
    else setTimeout(() => ref.current && judge(ref.current), unfoldMs)
  }
  return { onScroll, onClick }
}

/** Reads what belongs to the messages and is not in them. */
function useWatchers(): void {
  useEffect(watchChangedFiles, [])
  useEffect(watchVersions, [])
}

function useBlocks() {
  // While an answer streams these stay, and so do the blocks of the messages.
  const messages = useComputed(() => timeline.value.messages)
  const watched = useComputed(() => timeline.value.watched)
  const stored = useComputed(() => toBlocks(messages.value, watched.value))
  const blocks = useComputed((): readonly Block[] => {
    const { newer, live } = timeline.value
    return arrangeBlocks(
      newer === null ? joinBlocks(stored.value, live) : stored.value,
      timeline.value,
      changedFiles.value,
    )
  })
  return { stored, blocks }
}

/** Inserts the time of the first block of each day before it. */
function withDays(blocks: readonly Block[]): readonly (Block | string)[] {
  let last = ''
  return blocks.flatMap((block) => {
    const day = block.at === undefined ? last : new Date(block.at).toDateString()
    if (day === last || block.at === undefined) return [block]
    last = day
    return [block.at, block]
  })
}

const ToEnd = ({ onClick }: { readonly onClick: () => unknown }) => (
  <div class="to-end">
    <IconButton icon="down" label={t('toEnd')} onClick={onClick} />
  </div>
)

/** Scrolls the list, after its elements have changed, to where the person reads. */
function settle(list: HTMLElement, window: Shown, refs: Refs, seen: { current: Seen }): void {
  const { isFollowing, anchor, last, shown } = refs
  // The person has gone up, and the event of it has not come yet.
  if (isFollowing.current && list.scrollTop < seen.current.scrollTop - endPx && !isAtEnd(list)) {
    isFollowing.current = false
    anchor.current = findAnchor(list)
  } else if (isFollowing.current && last.value === undefined) list.scrollTop = list.scrollHeight
  else if (anchor.current) restoreAnchor(list, anchor.current)
  seen.current = measure(list)
  // No scroll event comes when the list is short, or stands at its beginning or end.
  const isShort = list.scrollHeight < list.clientHeight + nearPx
  if (isShort || (!isFollowing.current && list.scrollTop < nearPx)) showOlder(window, { last, shown })
  if (last.value !== undefined && isNearEnd(list)) showNewer(window, { last, shown })
}

type Refs = Signals & { readonly isFollowing: { current: boolean }; readonly anchor: { current: Anchor | undefined } }

/** Shows the message that the address names, and the end when it names none. Returns the key of its block. */
function useMarked(
  stored: ReadonlySignal<readonly Block[]>,
  blocks: readonly Block[],
  { last, shown, isFollowing, anchor }: Refs,
) {
  const found = useComputed(() => findMarked(timeline.value.messages, stored.value, marked.value)).value
  const key = found === undefined ? undefined : blocks.find((block) => shows(block, found))?.key
  useLayoutEffect(() => {
    const at = stored.value.findIndex((block) => block.key === found)
    isFollowing.current = at < 0
    last.value = at < 0 ? undefined : stored.value[Math.min(stored.value.length, at + pageSize) - 1]?.key
    shown.value = at < 0 ? pageSize : 2 * pageSize
    anchor.current = key === undefined ? undefined : { key, top: markedTopPx }
  }, [found])
  return key
}

/** Shows a message of the person when it is sent, also while older ones are being read. */
function useFollowSent(list: { readonly current: HTMLElement | null }, refs: Refs): void {
  const sent = timeline.value.live.findLast((block) => block.kind === 'user' && block.state === 'sending')?.key
  useLayoutEffect(() => void (sent !== undefined && showEnd(list.current, refs)), [sent])
}

async function showEnd(list: HTMLElement | null, { last, shown, isFollowing }: Refs): Promise<void> {
  if (timeline.value.newer !== null) await reloadMessages()
  last.value = undefined
  shown.value = pageSize
  isFollowing.current = true
  list?.scrollTo({ top: list.scrollHeight })
}

/** The button goes, so the list gets its focus. */
async function goToEnd(list: HTMLElement | null, refs: Refs): Promise<void> {
  await showEnd(list, refs)
  list?.focus({ preventScroll: true })
}

const isNearEnd = (list: HTMLElement): boolean => list.scrollHeight - list.scrollTop - list.clientHeight < nearPx

function indexAfter(blocks: readonly Block[], key: string): number {
  const at = blocks.findIndex((block) => shows(block, key))
  return at < 0 ? blocks.length : at + 1
}

type Shown = { readonly start: number; readonly end: number; readonly blocks: readonly Block[]; readonly shown: number }
type Signals = { readonly last: { value: string | undefined }; readonly shown: { value: number } }

/** Shows more above. When that is too many, those at the end are dropped. */
function showOlder({ start, end, blocks, shown: count }: Shown, { last, shown }: Signals): void {
  if (start > 0) {
    const dropped = Math.max(0, count + pageSize - maxShown)
    if (dropped) last.value = blocks[end - dropped - 1]?.key
    shown.value = Math.min(maxShown, count + pageSize)
  } else if (timeline.value.older) loadOlder().catch(showError)
}

function showNewer({ end, blocks, shown: count }: Shown, { last, shown }: Signals): void {
  const { newer } = timeline.value
  if (end >= blocks.length) {
    if (newer !== null) loadNextPage().catch(showError)
    else if (last.value !== undefined) last.value = undefined
    return
  }
  const next = Math.min(blocks.length, end + pageSize)
  last.value = next === blocks.length && newer === null ? undefined : blocks[next - 1]?.key
  shown.value = Math.min(maxShown, count + next - end)
}

/** Pictures, cards of files and rows of icons change heights without an event of the session. */
function watchSize(
  list: HTMLElement | null,
  isFollowing: { readonly current: boolean },
  seen: { current: Seen },
): (() => void) | undefined {
  if (!list) return undefined
  const follow = () => {
    if (isFollowing.current) list.scrollTop = list.scrollHeight
    seen.current = measure(list)
  }
  const observer = new ResizeObserver(follow)
  for (const one of [list, ...list.children]) observer.observe(one)
  return () => observer.disconnect()
}

type Seen = Pick<HTMLElement, 'clientHeight' | 'scrollHeight' | 'scrollTop'>

const measure = ({ clientHeight, scrollHeight, scrollTop }: HTMLElement): Seen => ({
  clientHeight,
  scrollHeight,
  scrollTop,
})

/** Whether the size has changed, and the person has not gone up. */
const isOutgrown = (list: HTMLElement, { clientHeight, scrollHeight, scrollTop }: Seen): boolean =>
  (list.clientHeight !== clientHeight || list.scrollHeight !== scrollHeight) && list.scrollTop > scrollTop - endPx
