/** Skills: which there are, their instructions, and own ones. */

import { useState } from 'preact/hooks'
import { api, get, type Page, path } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import { diffLines } from '../../model/line-diff.ts'
import { ask } from '../../parts/dialog.tsx'
import { Button } from '../../parts/button.tsx'
import { Diff } from '../../markdown/diff.tsx'
import { Field, Form } from '../../parts/form.tsx'
import { Panel, Screen, useLoad } from '../../parts/load.tsx'
import { addressOf, goTo, place } from '../../parts/route.ts'
import { Markdown } from '../../markdown/draw.tsx'
import { showDone } from '../../parts/toast.ts'
import { t, wordsOf } from '../../words/words.ts'
import { ImportSkill, SkillUpdate } from './import-skill.tsx'
import { PublishSkill } from './publish-skill.tsx'

type Skill = {
  readonly name: string
  readonly description: string
  readonly category: string
  readonly source: string
  readonly origin: string | null
  readonly hash: string
  readonly pinned: boolean
  readonly archived: boolean
}
type Stored = Skill & { readonly content: string; readonly files: readonly { readonly path: string }[] }

const { nameOf } = wordsOf(
  {
    origin_bundled: 'Built in',
    origin_user: 'Written by a person',
    origin_imported: 'Imported',
    origin_agent: 'Learned',
  },
  {
    origin_bundled: 'Mitgeliefert',
    origin_user: 'Von Menschen',
    origin_imported: 'Importiert',
    origin_agent: 'Gelernt',
  },
)

export const Skills = () => (place.value.id ? <OneSkill name={place.value.id} /> : <AllSkills />)

function AllSkills() {
  const skills = useLoad(() => get<Page<Skill>>('/api/skills?limit=200'), '')
  const [search, setSearch] = useState('')
  return (
    <Screen title={t('skills')}>
      <Field label={t('search')} value={search} onChange={setSearch} />
      <Panel of={skills}>
        {({ data }) => (
          <ul class="list-of">
            {data
              .filter(({ name, description }) => `${name} ${description}`.toLowerCase().includes(search.toLowerCase()))
              .map((skill) => (
                <li key={skill.name}>
                  <a class="card link" href={addressOf('skills', skill.name)}>
                    <span class="row">
                      <strong>{skill.name}</strong> <span class="badge">{nameOf('origin', skill.source)}</span>
                      {skill.archived && <span class="badge warn">{t('archived')}</span>}
                    </span>
                    <span class="note" dir="auto">
                      {skill.description}
                    </span>
                  </a>
                </li>
              ))}
          </ul>
        )}
      </Panel>
      {can('write') && <ImportSkill />}
      {can('write') && <NewSkill />}
    </Screen>
  )
}

function OneSkill({ name }: { readonly name: string }) {
  const skill = useLoad(() => get<Stored>(path`/api/skills/${name}`), name)
  return (
    <Screen title={name} actions={<a href={addressOf('skills')}>{t('skills')}</a>}>
      <Panel of={skill}>
        {(data) => (
          <>
            <p dir="auto">{data.description}</p>
            {data.origin && can('write') && <SkillUpdate name={name} origin={data.origin} onChange={skill.reload} />}
            {can('write') && <SkillActions skill={data} onChange={skill.reload} />}
            {can('write') && data.source !== 'bundled' ? (
              <Editor key={data.hash} skill={data} onSaved={skill.reload} />
            ) : (
              <div class="card">
                <Markdown text={data.content.replace(/^---\n[\s\S]{0,5000}?\n---\n/, '')} />
              </div>
            )}
            {can('write') && <PublishSkill name={name} />}
          </>
        )}
      </Panel>
    </Screen>
  )
}

type SkillProps = { readonly skill: Stored; readonly onChange: () => Promise<void> }

function SkillActions({ skill: { name, pinned, archived, source }, onChange }: SkillProps) {
  const mark = async (change: object) => {
    await api('PATCH', path`/api/skills/${name}`, { body: change })
    await onChange()
  }
  const remove = async () => {
    if ((await ask({ title: t('delete'), text: name, action: t('delete'), isDangerous: true })) === undefined) return
    await api('DELETE', path`/api/skills/${name}`)
    goTo('skills')
  }
  return (
    <div class="row">
      <Button onClick={() => mark({ pinned: !pinned })}>{t(pinned ? 'unpin' : 'pin')}</Button>
      <Button onClick={() => mark({ archived: !archived })}>{t(archived ? 'restore' : 'archive')}</Button>
      {source !== 'bundled' && <Button onClick={remove}>{t('delete')}</Button>}
    </div>
  )
}

function Editor({ skill, onSaved }: { readonly skill: Stored; readonly onSaved: () => Promise<void> }) {
  const [text, setText] = useState(skill.content)
  const [diff, setDiff] = useState<string | undefined>(undefined)
  const send = async () => {
    if (!diff) return setDiff(diffLines(skill.content, text))
    await api('PUT', path`/api/skills/${skill.name}`, { body: { content: text } })
    showDone(t('saved'))
    setDiff(undefined)
    await onSaved()
  }
  const change = (value: string) => {
    setText(value)
    setDiff(undefined)
  }
  return (
    <Form label="SKILL.md" action={t(diff ? 'save' : 'reviewChanges')} onSend={send}>
      <Field label={t('content')} value={text} onChange={change} kind="area" />
      {diff !== undefined && (diff ? <Diff text={diff} /> : <p class="note">{t('noChanges')}</p>)}
    </Form>
  )
}

function NewSkill() {
  const [name, setName] = useState('')
  const [text, setText] = useState('---\nname: \ndescription: \n---\n\n')
  const add = async () => {
    await api('POST', '/api/skills', { body: { name: name.trim(), content: text } })
    goTo('skills', name.trim())
  }
  return (
    <Form label={t('newSkill')} action={t('add')} onSend={add}>
      <Field label={t('name')} value={name} onChange={setName} />
      <Field label="SKILL.md" value={text} onChange={setText} kind="area" />
    </Form>
  )
}
