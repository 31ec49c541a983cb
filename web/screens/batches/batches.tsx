/** Batches: many prompts, each in a session of its own. Their progress, cost and results, and new ones. */

import { useState } from 'preact/hooks'
import { api, get, type Page } from '../../api/client.ts'
import { readPrompts } from '../../model/prompts-of-batch.ts'
import { Field, Form } from '../../parts/form.tsx'
import { Panel, Screen, useLoad } from '../../parts/load.tsx'
import { addressOf, goTo, place } from '../../parts/route.ts'
import { formatDate, formatNumber } from '../../words/format.ts'
import { t } from '../../words/words.ts'
import { type Batch, isGoing } from './batch.ts'
import { BatchDetails } from './batch-details.tsx'
import { Progress, Status, useProgress } from './batch-progress.tsx'
import { say } from './batch-words.ts'

export function Batches() {
  const { id } = place.value
  return id ? <BatchDetails key={id} id={id} /> : <BatchList />
}

function BatchList() {
  const list = useLoad(() => get<Page<Batch>>('/api/batches?limit=200'), '')
  useProgress(list, list.data?.data.some(isGoing) ?? false)
  return (
    <Screen title={t('batches')}>
      <p class="note">{say('about')}</p>
      <Panel of={list}>
        {({ data }) => (
          <ul class="list-of">
            {data.map((batch) => (
              <li key={batch.id} class="card list-of">
                <p class="row">
                  <a class="grow" dir="auto" href={addressOf('batches', batch.id)}>
                    {batch.name}
                  </a>
                  <Status batch={batch} />
                  <time class="note" dateTime={batch.created_at}>
                    {formatDate(batch.created_at)}
                  </time>
                </p>
                <Progress batch={batch} />
              </li>
            ))}
            {!data.length && <li class="note">{say('none')}</li>}
          </ul>
        )}
      </Panel>
      <NewBatch />
    </Screen>
  )
}

const optional = (text: string): number | undefined => (text.trim() ? Number(text.trim().replace(',', '.')) : undefined)

function NewBatch() {
  const [name, setName] = useState('')
  const [text, setText] = useState('')
  const [file, setFile] = useState('')
  const [model, setModel] = useState('')
  const [budget, setBudget] = useState('')
  const [atOnce, setAtOnce] = useState('')
  const prompts = readPrompts(text, file.toLowerCase().endsWith('.csv'))
  const choose = async (chosen: File | undefined) => {
    if (!chosen) return
    setText(await chosen.text())
    setFile(chosen.name)
    if (!name) setName(chosen.name.slice(0, 100))
  }
  const start = async () => {
    if (!prompts.length) throw new Error(say('noPrompts'))
    const fields = { model: model.trim() || undefined, budget_usd: optional(budget), concurrency: optional(atOnce) }
    const body = { ...fields, prompts, name: name.trim() || undefined }
    const { id } = await api<Batch>('POST', '/api/batches', { body })
    goTo('batches', id)
  }
  return (
    <Form label={say('new')} action={say('start')} onSend={start}>
      <Field label={t('name')} value={name} onChange={setName} />
      <Field
        label={say('prompts')}
        kind="area"
        value={text}
        hint={`${say('promptsHint')} ${say('promptCount', { count: formatNumber(prompts.length) })}`}
        onChange={(written) => {
          setText(written)
          if (!written) setFile('')
        }}
      />
      <label>
        {say('file')}
        <input
          type="file"
          accept=".jsonl,.ndjson,.json,.csv,.txt"
          onChange={(event) => void choose(event.currentTarget.files?.[0])}
        />
      </label>
      <Field label={t('model')} value={model} onChange={setModel} hint={say('modelHint')} />
      <Field label={say('budget')} value={budget} onChange={setBudget} hint={say('budgetHint')} />
      <Field label={say('atOnce')} value={atOnce} onChange={setAtOnce} hint={say('atOnceHint')} />
    </Form>
  )
}
