/** Jobs: what runs when, what came of it, and new ones. */

import { useState } from 'preact/hooks'
import { api, get, type Page, path } from '../../api/client.ts'
import { scheduleExamples } from '../../model/schedule-examples.ts'
import { ask } from '../../parts/dialog.tsx'
import { Button } from '../../parts/button.tsx'
import { Choice, Field, Form } from '../../parts/form.tsx'
import { Panel, Screen, useLoad } from '../../parts/load.tsx'
import { addressOf } from '../../parts/route.ts'
import { showDone } from '../../parts/toast.ts'
import { formatDate } from '../../words/format.ts'
import { t, wordsOf } from '../../words/words.ts'
import { loadProjects } from '../projects/load-projects.ts'
import { projects } from '../sessions/sessions.ts'

export type Job = {
  readonly id: string
  readonly name: string
  readonly prompt: string
  readonly schedule: string
  readonly project_id: string | null
  readonly display: string
  readonly state: 'scheduled' | 'paused' | 'completed'
  readonly next_run_at: string | null
  readonly last_run_at: string | null
  readonly last_status: string | null
  readonly last_error: string | null
  readonly last_delivery_error: string | null
  readonly failure_streak: number
}
type Run = {
  readonly id: string
  readonly status: string
  readonly slot: string
  readonly session_id: string | null
  readonly output: string | null
  readonly error: string | null
  readonly delivery_error: string | null
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
  const [isEditing, setEditing] = useState(false)
  const changed = async () => {
    setEditing(false)
    await onChange()
  }
  const { id, name, prompt, display, state, next_run_at: next } = job
  const project = projects.value.find((one) => one.id === job.project_id)
  return (
    <li class="card">
      <p class="row">
        <strong dir="auto">{name}</strong>
        <code>{display}</code>
        <span class="badge">{t(`job_${state}`)}</span>
        {project && <span class="badge">{project.name}</span>}
        {next && <span class="note">{t('nextAt', { at: formatDate(next) })}</span>}
      </p>
      <p class="pre-line" dir="auto">
        {prompt}
      </p>
      <LastRun job={job} />
      <JobActions job={job} onChange={onChange} onEdit={() => setEditing(!isEditing)} />
      {isEditing && <EditJob job={job} onChange={changed} />}
      <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>{t('history')}</summary>
        {isOpen && <History id={id} />}
      </details>
    </li>
  )
}

/** How the last run has ended, and why it or its delivery has failed. */
function LastRun({ job }: { readonly job: Job }) {
  const { last_status: status, last_run_at: at, last_error: error, last_delivery_error: undelivered } = job
  if (status === null) return null
  return (
    <>
      <p class="row">
        <span class="note">{say('lastRun')}</span>
        <span class={`badge ${toneOf({ status, error, delivery_error: undelivered })}`}>{nameOf('run', status)}</span>
        {at && <time dateTime={at}>{formatDate(at)}</time>}
        {job.failure_streak > 1 && <span class="note">{say('failures', { count: job.failure_streak })}</span>}
      </p>
      {[error, undelivered && say('notDelivered', { why: undelivered })].map(
        (text) =>
          text && (
            <p key={text} class="failure" dir="auto">
              {text}
            </p>
          ),
      )}
    </>
  )
}

function JobActions({ job: { id, name, state }, onChange, onEdit }: CardProps & { readonly onEdit: () => void }) {
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
      <Button label={`${t('edit')}: ${name}`} onClick={onEdit}>
        {t('edit')}
      </Button>
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
                <span class={`badge ${toneOf(run)}`}>{nameOf('run', run.status)}</span>
                {run.session_id && <a href={addressOf('chat', run.session_id)}>{t('toSession')}</a>}
              </p>
              <RunText run={run} />
            </li>
          ))}
          {!data.length && <li class="note">{t('noRuns')}</li>}
        </ul>
      )}
    </Panel>
  )
}

/** Good is a run that has ended and whose answer has arrived. */
function toneOf({ status, error, delivery_error: undelivered }: Pick<Run, 'status' | 'error' | 'delivery_error'>) {
  if (status === 'failed' || status === 'unknown' || error || undelivered) return 'bad'
  if (status === 'completed') return 'good'
  return status === 'claimed' || status === 'running' ? '' : 'warn'
}

const RunText = ({ run: { error, output, delivery_error: undelivered } }: { readonly run: Run }) => (
  <>
    {(error ?? output) && (
      <p class={error ? 'failure' : 'pre-line'} dir="auto">
        {error ?? output}
      </p>
    )}
    {undelivered && (
      <p class="failure" dir="auto">
        {say('notDelivered', { why: undelivered })}
      </p>
    )}
  </>
)

const { say, nameOf } = wordsOf(
  {
    lastRun: 'Last run',
    failures: '{count} times in a row',
    notDelivered: 'Not delivered: {why}',
    project: 'Project',
    noProject: 'No project',
    run_claimed: 'Begins',
    run_running: 'Running',
    run_completed: 'Completed',
    run_failed: 'Failed',
    run_unknown: 'How it ended is not known',
    run_missed: 'Missed',
    run_skipped: 'Skipped',
    run_skipped_late: 'Skipped, because it was late',
  },
  {
    lastRun: 'Letzter Lauf',
    failures: '{count}-mal nacheinander',
    notDelivered: 'Nicht zugestellt: {why}',
    project: 'Projekt',
    noProject: 'Kein Projekt',
    run_claimed: 'Beginnt',
    run_running: 'Läuft',
    run_completed: 'Fertig',
    run_failed: 'Fehlgeschlagen',
    run_unknown: 'Wie er endete, ist nicht bekannt',
    run_missed: 'Verpasst',
    run_skipped: 'Ausgelassen',
    run_skipped_late: 'Ausgelassen, weil es zu spät war',
  },
)

type Fields = Pick<Job, 'name' | 'schedule' | 'prompt' | 'project_id'>
const emptyJob: Fields = { name: '', schedule: '', prompt: '', project_id: null }

type NewProps = { readonly project?: string; readonly onAdded: () => Promise<void> }

export function NewJob({ project: given, onAdded }: NewProps) {
  const add = async ({ name, schedule, prompt, project_id: chosen }: Fields) => {
    const project = given ?? chosen
    const fields = { ...(name.trim() && { name: name.trim() }), ...(project && { project_id: project }) }
    await api('POST', '/api/jobs', { body: { prompt, schedule, ...fields } })
    await onAdded()
  }
  return <JobForm label={t('newJob')} action={t('add')} before={emptyJob} hasProject={!given} onSend={add} />
}

/** Sends only what has changed: another schedule begins anew. */
function EditJob({ job, onChange }: CardProps) {
  const save = async (fields: Fields) => {
    const names = ['name', 'schedule', 'prompt', 'project_id'] as const
    const changed = names.filter((name) => fields[name] !== job[name])
    const body = Object.fromEntries(changed.map((name) => [name, fields[name]]))
    await api('PATCH', path`/api/jobs/${job.id}`, { body })
    showDone(t('saved'))
    await onChange()
  }
  return <JobForm label={`${t('edit')}: ${job.name}`} action={t('save')} before={job} onSend={save} />
}

type JobFormProps = {
  readonly label: string
  readonly action: string
  readonly before: Fields
  readonly hasProject?: boolean
  readonly onSend: (fields: Fields) => Promise<void>
}

function JobForm({ label, action, before, hasProject = true, onSend }: JobFormProps) {
  const [fields, setFields] = useState<Fields>(before)
  useLoad(loadProjects, '')
  const set = (name: keyof Fields) => (value: string) => setFields({ ...fields, [name]: value })
  const send = async () => {
    await onSend(fields)
    setFields(before === emptyJob ? { ...emptyJob, schedule: fields.schedule } : fields)
  }
  return (
    <Form label={label} action={action} onSend={send}>
      <Field label={t('name')} value={fields.name} onChange={set('name')} />
      <Field
        label={t('schedule')}
        value={fields.schedule}
        onChange={set('schedule')}
        hint={scheduleExamples.join(' · ')}
      />
      <Field label={t('prompt')} value={fields.prompt} onChange={set('prompt')} kind="area" />
      {hasProject && projects.value.length > 0 && (
        <Choice
          label={say('project')}
          value={fields.project_id ?? ''}
          options={[['', say('noProject')], ...projects.value.map(({ id, name }) => [id, name] as const)]}
          onChange={(id) => setFields({ ...fields, project_id: id || null })}
        />
      )}
    </Form>
  )
}
