/** Shows what tools have done in one line that unfolds: a line for each call, and inside of it its input and result. */

import { useState } from 'preact/hooks'
import { type Activity, kindOf, sayTool, summarise, timeOf } from '../../model/activity.ts'
import { type CallsBlock, parse, type Subagent, type ToolBlock } from '../../model/blocks.ts'
import { targetOf } from '../../model/tools.ts'
import { Markdown } from '../../markdown/draw.tsx'
import { showBidi } from '../../markdown/links.ts'
import { Icon } from '../../parts/icon.tsx'
import { useLate } from '../../parts/late.ts'
import { addressOf } from '../../parts/route.ts'
import { formatDuration } from '../../words/format.ts'
import { language, t } from '../../words/words.ts'
import { type ActivityWord, say } from './activity-words.ts'

/** More kinds of calls are counted. */
const maxParts = 3

export function Calls({ block: { items } }: { readonly block: CallsBlock }) {
  const [isOpen, setOpen] = useState(false)
  const calls = items.filter((item) => item.kind === 'tool')
  const [first] = calls
  if (first && items.length === 1) return <Call block={first} time={timeOf(calls)} />
  const running = calls.findLast(({ state }) => state === 'running')
  const time = timeOf(calls)
  return (
    <details class="act" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Chevron />
        <span class={running ? 'clip live' : 'clip'}>{running ? describe(running) : sumUp(calls)}</span>
        <FailedCount calls={calls} />
        {time ? <span class="note">{formatDuration(time)}</span> : null}
      </summary>
      {isOpen && (
        <ol class="trail">
          {items.map((item) => (
            <li key={item.key} class={item.kind === 'tool' ? item.state : undefined}>
              {item.kind === 'tool' ? <Call block={item} time={item.ms} /> : <Thought text={item.text} />}
            </li>
          ))}
        </ol>
      )}
    </details>
  )
}

const Chevron = () => (
  <span class="chevron">
    <Icon name="right" />
  </span>
)

const describe = ({ tool, input }: ToolBlock): string =>
  [labelOf(tool), showBidi(targetOf(tool, input))].filter(Boolean).join(' ')

const labelOf = (tool: string): string => {
  const kind = kindOf(tool)
  return kind === 'other' ? sayTool(tool) : say(`did_${kind}`)
}

function sumUp(calls: readonly ToolBlock[]): string {
  const all = summarise(calls)
  const shown = all.slice(0, maxParts).map(nameActivity)
  const rest = all.slice(maxParts).reduce((sum, { count }) => sum + count, 0)
  const text = [...shown, ...(rest ? [say('andMore', { count: rest })] : [])].join(' · ')
  // A name of a file stays as it is.
  return all[0]?.name ? text : text.charAt(0).toLocaleUpperCase() + text.slice(1)
}

const counted: Partial<Record<Activity['kind'], ActivityWord>> = {
  run: 'many_run',
  write: 'many_write',
  change: 'many_change',
  read: 'many_read',
  page: 'many_page',
  delegate: 'many_delegate',
}
const named: Partial<Record<Activity['kind'], ActivityWord>> = {
  write: 'one_write',
  change: 'one_change',
  read: 'one_read',
}

function nameActivity({ kind, count, name }: Activity): string {
  const [many, one] = [counted[kind], named[kind]]
  if (count === 1 && one && name) return say(one, { name: showBidi(name) })
  if (count > 1 && many) return say(many, { count })
  const label = kind === 'other' ? name : inSentence(say(`did_${kind}`))
  return count > 1 ? `${label} × ${count}` : label
}

/** German writes nouns with a capital everywhere. */
const inSentence = (label: string): string =>
  language.value === 'en' ? label.charAt(0).toLowerCase() + label.slice(1) : label

function FailedCount({ calls }: { readonly calls: readonly ToolBlock[] }) {
  const count = calls.filter(({ state }) => state === 'failed' || state === 'denied').length
  return count ? <span class="badge bad">{say('failedCount', { count })}</span> : null
}

const Thought = ({ text }: { readonly text: string }) => (
  <details class="thought">
    <summary>
      <Chevron />
      {t('thinking')}
    </summary>
    <Markdown text={text} />
  </details>
)

/** Tools whose result says more in one line than their input. */
const isTelling = (tool: string): boolean => tool === 'todo' || tool === 'clarify'

/** Stored messages have the time of a group, not that of each call in it. */
function Call({ block, time }: { readonly block: ToolBlock; readonly time: number | undefined }) {
  const [isOpen, setOpen] = useState(false)
  const { tool, input, result = '', state, subagents = [] } = block
  const Inside = useLate<{ readonly block: ToolBlock }>(
    async () => (await import('./call-details.tsx')).CallDetails,
    isOpen,
  )
  return (
    <>
      <details class={`tool ${state}`} open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <Chevron />
          <span class={state === 'running' ? 'tool-name live' : 'tool-name'}>{labelOf(tool)}</span>
          <code class="clip">{showBidi(targetOf(tool, input, isTelling(tool) ? parse(result) : undefined))}</code>
          {(state === 'failed' || state === 'denied') && <span class="badge bad">{t(state)}</span>}
          {time ? <span class="note">{formatDuration(time)}</span> : null}
        </summary>
        {isOpen && Inside ? <Inside block={block} /> : null}
      </details>
      {subagents.length > 0 && (
        <ul class="trail">
          {subagents.map((one) => (
            <li key={one.session} class={one.state}>
              <SubagentLink subagent={one} />
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

const states: Readonly<Record<string, 'running' | 'done' | 'failed'>> = {
  running: 'running',
  completed: 'done',
  failed: 'failed',
}

const sayState = (state: string): string => {
  if (state === 'cancelled' || state === 'interrupted') return say('stoppedShort')
  return states[state] ? t(states[state]) : state
}

export const SubagentLink = ({ subagent: { session, goal, state } }: { readonly subagent: Subagent }) => (
  <a class="row subagent" href={addressOf('chat', session)}>
    <strong>{t('subagent')}</strong>
    <span class="clip grow" dir="auto">
      {showBidi(goal)}
    </span>
    <span class={state === 'failed' ? 'badge bad' : 'badge'}>{sayState(state)}</span>
  </a>
)
