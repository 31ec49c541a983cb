/** Asks for the approval of a call. No button works at once, so that a click for something else decides nothing. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { api, path } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import { showBidi } from '../../markdown/links.ts'
import type { Approval, Decision } from '../../model/types.ts'
import { ask } from '../../parts/dialog.tsx'
import { explainReason, showError } from '../../parts/toast.ts'
import { formatTime } from '../../words/format.ts'
import { t, type Word } from '../../words/words.ts'
import { Value } from '../chat/value.tsx'
import { SessionLink } from '../sessions/session-link.tsx'
import { countWaiting } from '../sessions/sessions.ts'
import { offerPush } from './push-offer.tsx'

const deadMs = 400
const order: readonly Decision[] = ['once', 'session', 'always', 'deny']

type Props = {
  readonly approval: Approval
  readonly isLinked?: boolean
  readonly onDecided?: () => void
}

export function ApprovalCard({ approval, isLinked = false, onDecided }: Props) {
  const ref = useRef<HTMLElement>(null)
  const isDead = useDeadTime(ref)
  const [isBusy, setBusy] = useState(false)
  const choices = order.filter((one) => approval.choices.includes(one))
  const decide = async (decision: Decision) => {
    if (isDead || isBusy || !can('approve')) return
    const reason = await confirm(decision, approval)
    if (reason === undefined) return
    setBusy(true)
    try {
      await api('POST', path`/api/approvals/${approval.id}`, { body: { decision, ...(reason && { reason }) } })
      onDecided?.()
      await countWaiting()
      if (decision !== 'deny') await offerPush()
    } catch (error) {
      showError(error)
    } finally {
      setBusy(false)
    }
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const choice = choices[Number(event.key) - 1]
    if (choice && event.target === ref.current) void decide(choice)
  }
  return (
    <section
      class="card waiting"
      ref={ref}
      tabIndex={0}
      role="alertdialog"
      aria-label={askFor(approval.tool)}
      onKeyDown={onKeyDown}
    >
      <div class="facts">
        <Facts approval={approval} isLinked={isLinked} />
      </div>
      <div class="choices">
        {choices.map((choice, at) => (
          <button
            key={choice}
            type="button"
            class={`button ${choice === 'deny' ? 'danger' : choice === 'once' ? 'main' : 'plain'}`}
            aria-label={nameChoice(choice, approval)}
            aria-keyshortcuts={String(at + 1)}
            disabled={isDead || isBusy || !can('approve')}
            onClick={() => void decide(choice)}
          >
            <span class="short">{t(choice)}</span>
            <span class="long">{nameChoice(choice, approval)}</span>
          </button>
        ))}
      </div>
      {!can('approve') && <p class="note">{t('mayNotApprove')}</p>}
    </section>
  )
}

const Facts = ({ approval, isLinked }: Required<Pick<Props, 'approval' | 'isLinked'>>) => (
  <>
    <p class="row">
      <strong>{askFor(approval.tool)}</strong>
      <code class="note">{approval.tool}</code>
      <span class="badge warn">{t('risk', { risk: t(`risk_${approval.risk}`) })}</span>
      <time dateTime={approval.created_at}>{formatTime(approval.created_at)}</time>
      {isLinked && <SessionLink id={approval.session_id} />}
    </p>
    <Input of={approval.input} />
    {approval.reasons.length > 0 && (
      <ul dir="auto">
        {approval.reasons.map((reason) => {
          const said = explainReason(reason)
          return (
            <li key={reason} lang={said === undefined ? 'en' : undefined}>
              {said ?? reason}
            </li>
          )
        })}
      </ul>
    )}
  </>
)

/** A command, a path or an address alone needs no name. */
function Input({ of: input }: { readonly of: Approval['input'] }) {
  const fields: readonly unknown[] = Object.values(Object(input) as object)
  const [only] = fields
  return fields.length === 1 && typeof only === 'string' ? (
    <pre class="asked" tabIndex={0} dir="auto">
      {showBidi(only)}
    </pre>
  ) : (
    <Value label={t('input')} value={input} />
  )
}

/** A server may call its tool `constructor`. */
const questions = new Map<string, Word>(
  Object.entries({
    execute_code: 'ask_code',
    patch: 'ask_change',
    read_file: 'ask_read',
    terminal: 'ask_run',
    web_extract: 'ask_page',
    write_file: 'ask_write',
  }),
)

const askFor = (tool: string): string =>
  t(questions.get(tool) ?? (tool.startsWith('browser_') ? 'ask_browse' : 'ask_other'), { tool })

/** A decision that lasts names what it allows. On a phone its question does. */
function nameChoice(choice: Decision, approval: Approval): string {
  const rule = choice === 'session' || choice === 'always' ? describeRule(approval) : ''
  return rule ? `${t(choice)}: ${rule}` : t(choice)
}

function describeRule({ tool, rule }: Approval): string {
  if (rule === undefined) return ''
  if (rule === '*') return t('ruleOfTool', { tool })
  return t(tool === 'terminal' ? 'ruleOfCommand' : 'ruleOfPath', { tool, rule })
}

/** A decision that lasts is asked again. A denial may have a reason. */
function confirm(decision: Decision, approval: Approval): Promise<string | undefined> {
  if (decision === 'deny')
    return ask({ title: t('deny'), text: t('denyReason'), action: t('deny'), field: '', isDangerous: true })
  if (decision === 'once') return Promise.resolve('')
  const text = t(decision === 'always' ? 'alwaysMeans' : 'sessionMeans', { rule: describeRule(approval) })
  return ask({ title: t(decision), text, action: t(decision), isDangerous: true })
}

/** True for a moment after the card has appeared or moved. */
function useDeadTime(ref: { readonly current: HTMLElement | null }): boolean {
  const [isDead, setDead] = useState(true)
  const place = useRef<number | undefined>(undefined)
  useEffect(() => {
    let timer = setTimeout(setDead, deadMs, false)
    const check = () => {
      const top = ref.current?.getBoundingClientRect().top
      if (place.current !== undefined && top !== undefined && Math.abs(top - place.current) > 8) {
        clearTimeout(timer)
        setDead(true)
        timer = setTimeout(setDead, deadMs, false)
      }
      place.current = top
    }
    check()
    const observer = new ResizeObserver(check)
    if (ref.current) observer.observe(ref.current)
    if (ref.current?.parentElement) observer.observe(ref.current.parentElement)
    addEventListener('resize', check)
    return () => {
      clearTimeout(timer)
      observer.disconnect()
      removeEventListener('resize', check)
    }
  }, [])
  return isDead
}
