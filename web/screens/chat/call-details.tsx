/** Shows the input and the result of a call: a terminal, a diff, a plan, or fields. Loaded when a call is unfolded. */

import { findDiff } from '../../model/diff.ts'
import { kindOf } from '../../model/activity.ts'
import { colourOutput } from '../../model/ansi.ts'
import { parse, type ToolBlock } from '../../model/blocks.ts'
import { readPlan, type Task } from '../../model/tools.ts'
import { Diff } from '../../markdown/diff.tsx'
import { showBidi } from '../../markdown/links.ts'
import { t } from '../../words/words.ts'
import { Value } from './value.tsx'

export function CallDetails({ block }: { readonly block: ToolBlock }) {
  const { tool, input, result = '', progress } = block
  const value = parse(result)
  const plan = tool === 'todo' ? readPlan(input, value) : undefined
  if (plan) return <Plan tasks={plan} />
  const { command, code } = Object(input) as { readonly command?: unknown; readonly code?: unknown }
  const line = tool === 'terminal' ? command : kindOf(tool) === 'code' ? code : undefined
  if (typeof line === 'string')
    return (
      <Terminal line={line} isCommand={tool === 'terminal'} output={outputOf(value, progress)} progress={progress} />
    )
  const diff = findDiff(input, value)
  return (
    <div class="call-details">
      {diff ? <Diff text={diff} /> : <Value label={t('input')} value={input} />}
      {progress && !result && <Value label={t('output')} value={progress} />}
      {result && <Value label={t('result')} value={value} />}
    </div>
  )
}

type Output = { readonly text: string; readonly rest: Readonly<Record<string, unknown>> }

/** The text that a program has written, and what else there is to say of it. */
function outputOf(value: unknown, progress: string): Output {
  if (typeof value !== 'object' || value === null) return { text: String(value || progress), rest: {} }
  const { output, stdout, stderr, exit_code: exitCode, ...rest } = value as Readonly<Record<string, unknown>>
  const text = [output, stdout, stderr].filter((one) => typeof one === 'string' && one !== '').join('\n')
  return { text, rest: { ...(exitCode !== undefined && exitCode !== 0 && { [t('exitCode')]: exitCode }), ...rest } }
}

function Terminal({ line, isCommand, output: { text, rest }, progress }: TerminalProps) {
  const isEmpty = !Object.values(rest).some((one) => one !== null && one !== '' && one !== false)
  return (
    <div class="call-details">
      <pre class="term" tabIndex={0} dir="ltr">
        {isCommand && <span class="term-sign">$ </span>}
        {showBidi(line)}
        {'\n'}
        {colourOutput(text, progress).map((span, at) =>
          span.kind ? (
            <span key={at} class={span.kind}>
              {showBidi(span.text)}
            </span>
          ) : (
            showBidi(span.text)
          ),
        )}
      </pre>
      {!isEmpty && <Value label="" value={rest} />}
    </div>
  )
}
type TerminalProps = {
  readonly line: string
  readonly isCommand: boolean
  readonly output: Output
  readonly progress: string
}

const marks: Readonly<Record<string, string>> = { completed: '☑', in_progress: '▶', cancelled: '☒' }

const Plan = ({ tasks }: { readonly tasks: readonly Task[] }) => (
  <ul class="plan call-details">
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
