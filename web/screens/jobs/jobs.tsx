/** Jobs: what runs when, what came of it, and new ones. */

import { useState } from 'preact/hooks'
import { api, get, type Page, path } from '../../api/client.ts'
import { ask } from '../../parts/dialog.tsx'
import { Button } from '../../parts/button.tsx'
import { Field, Form } from '../../parts/form.tsx'
import { Panel, Screen, useLoad } from '../../parts/load.tsx'
import { addressOf } from '../../parts/route.ts'
import { showDone } from '../../parts/toast.ts'
import { formatDate } from '../../words/format.ts'
import { t } from '../../words/words.ts'

type Job = {
  readonly id: string
  readonly name: string
  readonly prompt: string
  readonly display: string
  readonly state: 'scheduled' | 'paused' | 'completed'
  readonly next_run_at: string | null
  readonly last_error: string | null
}
type Run = {
  readonly id: string
  readonly status: string
  readonly slot: string
  readonly session_id: string | null
  readonly output: string | null
  readonly error: string | null
}

export function Jobs() {
  const jobs = useLoad(() => get<Page<Job>>('/api/jobs?limit=200'), '')
  return (
    <Screen title={t('jobs')}>
      <Panel of={jobs}>
        {({ data }) => (
          <ul class="list-of">
            {data.map((job) => (
              <JobCard key={job.id} job={job} onChange={jobs.reload} />
            ))}
            {!data.length && <li class="note">{t('noJobs')}</li>}
          </ul>
        )}
      </Panel>
      <NewJob onAdded={jobs.reload} />
    </Screen>
  )
}

type CardProps = { readonly job: Job; readonly onChange: () => Promise<void> }

function JobCard({ job, onChange }: CardProps) {
  const [isOpen, setOpen] = useState(false)
  const { id, name, prompt, display, state, next_run_at: next, last_error: error } = job
  return (
    <li class="card">
      <p class="row">
        <strong dir="auto">{name}</strong>
        <code>{display}</code>
        <span class="badge">{t(`job_${state}`)}</span>
        {next && <span class="note">{t('nextAt', { at: formatDate(next) })}</span>}
      </p>
      <p class="pre-line" dir="auto">
        {prompt}
      </p>
      {error && <p class="failure">{error}</p>}
      <JobActions job={job} onChange={onChange} />
      <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>{t('history')}</summary>
        {isOpen && <History id={id} />}
      </details>
    </li>
  )
}

function JobActions({ job: { id, name, state }, onChange }: CardProps) {
  const act = async (action: 'pause' | 'resume' | 'run') => {
    await api('POST', `${path`/api/jobs/${id}`}/${action}`, { body: {} })
    if (action === 'run') showDone(t('started'))
    await onChange()
  }
  const remove = async () => {
    if ((await ask({ title: t('delete'), text: name, action: t('delete'), isDangerous: true })) === undefined) return
    await api('DELETE', path`/api/jobs/${id}`)
    await onChange()
  }
  return (
    <div class="row">
      <Button onClick={() => act('run')}>{t('runNow')}</Button>
      {state === 'scheduled' && <Button onClick={() => act('pause')}>{t('pause')}</Button>}
      {state === 'paused' && <Button onClick={() => act('resume')}>{t('resume')}</Button>}
      <Button onClick={remove}>{t('delete')}</Button>
    </div>
  )
}

function History({ id }: { readonly id: string }) {
  const runs = useLoad(() => get<Page<Run>>(`${path`/api/jobs/${id}`}/runs?limit=20`), id)
  return (
    <Panel of={runs}>
      {({ data }) => (
        <ul class="list-of">
          {data.map((run) => (
            <li key={run.id}>
              <p class="row">
                <time dateTime={run.slot}>{formatDate(run.slot)}</time>
                <span class="badge">{run.status}</span>
                {run.session_id && <a href={addressOf('chat', run.session_id)}>{t('toSession')}</a>}
              </p>
              {(run.error ?? run.output) && (
                <p class="pre-line" dir="auto">
                  {run.error ?? run.output}
                </p>
              )}
            </li>
          ))}
          {!data.length && <li class="note">{t('noRuns')}</li>}
        </ul>
      )}
    </Panel>
  )
}

function NewJob({ onAdded }: { readonly onAdded: () => Promise<void> }) {
  const [name, setName] = useState('')
  const [schedule, setSchedule] = useState('')
  const [prompt, setPrompt] = useState('')
  const add = async () => {
    await api('POST', '/api/jobs', { body: { prompt, schedule, ...(name.trim() && { name: name.trim() }) } })
    setPrompt('')
    setName('')
    await onAdded()
  }
  return (
    <Form label={t('newJob')} action={t('add')} onSend={add}>
      <Field label={t('name')} value={name} onChange={setName} />
      <Field label={t('schedule')} value={schedule} onChange={setSchedule} hint="every 30m · 0 9 * * 1-5 · in 2h" />
      <Field label={t('prompt')} value={prompt} onChange={setPrompt} kind="area" />
    </Form>
  )
}
