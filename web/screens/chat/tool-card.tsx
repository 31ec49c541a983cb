/** A tool call: its target and state, and inside its input and its result. */

import { useMemo, useState } from 'preact/hooks'
import { parse, type Subagent, type ToolBlock } from '../../model/blocks.ts'
import { readPlan, targetOf, type Task } from '../../model/tools.ts'
import { addressOf } from '../../parts/route.ts'
import { formatDuration } from '../../words/format.ts'
import { t } from '../../words/words.ts'
import { Diff } from '../../markdown/diff.tsx'
import { findDiff } from '../../model/diff.ts'
import { showBidi } from '../../markdown/links.ts'

export function ToolCard({ block }: { readonly block: ToolBlock }) {
  const [isOpen, setOpen] = useState(false)
  const { tool, input, result = '', state, ms, subagents = [] } = block
  const target = useMemo(() => targetOf(tool, input, tool === 'todo' ? parse(result) : undefined), [input, result])
  return (
    <>
      <details class={`card tool ${state}`} open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <span class="tool-name">{tool}</span> <code class="clip">{showBidi(target)}</code>
          <span class="badge">{t(state)}</span>
          {ms ? <span class="note">{formatDuration(ms)}</span> : null}
        </summary>
        {isOpen ? <Inside block={block} /> : null}
      </details>
      {subagents.map((one) => (
        <SubagentLink key={one.session} subagent={one} />
      ))}
    </>
  )
}

export const SubagentLink = ({ subagent: { session, goal, state } }: { readonly subagent: Subagent }) => (
  <a class="card link row subagent" href={addressOf('chat', session)}>
    <strong>{t('subagent')}</strong>
    <span class="clip grow" dir="auto">
      {showBidi(goal)}
    </span>
    <span class="badge">{state}</span>
  </a>
)

function Inside({ block }: { readonly block: ToolBlock }) {
  const { input, result = '', progress } = block
  const value = parse(result)
  const plan = block.tool === 'todo' ? readPlan(input, value) : undefined
  if (plan) return <Plan tasks={plan} />
  const diff = findDiff(input, value)
  return (
    <>
      {diff ? <Diff text={diff} /> : <Value label={t('input')} value={input} />}
      {progress && !result && <Value label={t('output')} value={progress} />}
      {result && <Value label={t('result')} value={value} />}
    </>
  )
}

const marks: Readonly<Record<string, string>> = { completed: '☑', in_progress: '▶', cancelled: '☒' }

const Plan = ({ tasks }: { readonly tasks: readonly Task[] }) => (
  <ul class="plan">
    {tasks.map(({ id, content, status }) => (
      <li key={id}>
        <span role="img" aria-label={status.replace('_', ' ')}>
          {marks[status] ?? '☐'}
        </span>{' '}
        <span dir="auto">{showBidi(content)}</span>
      </li>
    ))}
  </ul>
)

/** Text as it is, anything else field by field. */
export function Value({ label, value }: { readonly label: string; readonly value: unknown }) {
  if (value === undefined || value === '') return null
  return (
    <div role="group" aria-label={label}>
      <p class="label">{label}</p>
      {isFields(value) ? (
        <dl class="fields">
          {Object.entries(value).map(([name, field]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <Text value={field} />
              </dd>
            </div>
          ))}
        </dl>
      ) : (
        <Text value={value} />
      )}
    </div>
  )
}

const Text = ({ value }: { readonly value: unknown }) => (
  <pre tabIndex={0} dir="auto">
    {showBidi(typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? ''))}
  </pre>
)

const isFields = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
