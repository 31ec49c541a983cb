/** Plugins: what each adds and asks for, its approval, limits, log and code, and new ones. */

import { useState } from 'preact/hooks'
import { api, get, type Page, path } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import { Button } from '../../parts/button.tsx'
import { ask, Dialog } from '../../parts/dialog.tsx'
import { Field, Form } from '../../parts/form.tsx'
import { Panel, Screen, useLoad } from '../../parts/load.tsx'
import { addressOf, goTo, place } from '../../parts/route.ts'
import { Switch } from '../../parts/switch.tsx'
import { showDone } from '../../parts/toast.ts'
import { formatDate } from '../../words/format.ts'
import { t } from '../../words/words.ts'
import type { Grants, Plugin, PluginDetail } from './plugin.ts'
import { nameOf, say } from './plugin-words.ts'

export const Plugins = () => (place.value.id ? <OnePlugin name={place.value.id} /> : <AllPlugins />)

function AllPlugins() {
  const plugins = useLoad(() => get<Page<Plugin>>('/api/plugins'), '')
  return (
    <Screen title={t('plugins')}>
      <p class="note">{say('about')}</p>
      <Panel of={plugins}>
        {({ data }) => (
          <ul class="list-of">
            {data.map((plugin) => (
              <li key={plugin.name} class="card list-of">
                <Head plugin={plugin} onChange={plugins.reload} isLink />
              </li>
            ))}
            {!data.length && <li class="note">{say('none')}</li>}
          </ul>
        )}
      </Panel>
      {can('write') && <NewPlugin />}
    </Screen>
  )
}

const tones = { active: 'good', failed: 'bad', paused: 'warn', pending: 'warn' }

type HeadProps = { readonly plugin: Plugin; readonly onChange: () => Promise<void>; readonly isLink?: boolean }

function Head({ plugin, onChange, isLink = false }: HeadProps) {
  const { name, status } = plugin
  return (
    <>
      <div class="row">
        {isLink && (
          <a class="grow" href={addressOf('plugins', name)}>
            <strong dir="auto">{name}</strong>
          </a>
        )}
        <span class={`badge ${tones[status]}`}>{nameOf('status', status)}</span>
        {can('write') && <PluginSwitch plugin={plugin} onChange={onChange} />}
        {can('approve') && <ApproveButton plugin={plugin} onChange={onChange} />}
      </div>
      <Reason plugin={plugin} />
    </>
  )
}

/** A version that was never approved cannot be switched. */
function PluginSwitch({ plugin: { name, runs: isOn, approved_hash: approved }, onChange }: HeadProps) {
  if (approved === null) return null
  const toggle = async () => {
    await api('POST', `${path`/api/plugins/${name}`}/${isOn ? 'pause' : 'resume'}`)
    await onChange()
  }
  return <Switch label={say('switch', { name })} text={say(isOn ? 'on' : 'off')} isOn={isOn} onChange={toggle} />
}

function ApproveButton({ plugin, onChange }: HeadProps) {
  const [isAsking, setAsking] = useState(false)
  if (plugin.hash === plugin.approved_hash) return null
  return (
    <>
      <Button kind="main" label={`${say('approve')}: ${plugin.name}`} onClick={() => setAsking(true)}>
        {say('approve')}
      </Button>
      {isAsking && <Approval plugin={plugin} onClose={() => setAsking(false)} onApproved={onChange} />}
    </>
  )
}

function Reason({ plugin: { status, runs, reason } }: Pick<HeadProps, 'plugin'>) {
  if (status === 'pending') return <p class="note">{say(runs ? 'versionWaits' : 'waits')}</p>
  if (status !== 'failed' || !reason) return null
  return (
    <p class="failure" dir="auto">
      {reason}
    </p>
  )
}

type ApprovalProps = {
  readonly plugin: Plugin
  readonly onClose: () => void
  readonly onApproved: () => Promise<void>
}

/** Shows what the code asks for, and the hash that is approved: a version that is newer by then is refused. */
function Approval({ plugin, onClose, onApproved }: ApprovalProps) {
  const approve = async () => {
    await api('POST', `${path`/api/plugins/${plugin.name}`}/approve`, { body: { hash: plugin.hash } })
    onClose()
    await onApproved()
  }
  return (
    <Dialog title={say('approveTitle', { name: plugin.name })} onClose={onClose}>
      <Asks plugin={plugin} heading="h3" />
      <p class="note">
        {say('hash', { hash: plugin.hash.slice(0, 16) })} <a href={addressOf('plugins', plugin.name)}>{say('code')}</a>
      </p>
      <div class="row end">
        <Button onClick={onClose}>{t('cancel')}</Button>
        <Button kind="main" onClick={approve}>
          {say('approve')}
        </Button>
      </div>
    </Dialog>
  )
}

function listGrants({ fetch: hosts = [], secrets = [], kv, llm }: Grants): readonly string[] {
  const all = [
    ...(hosts.length ? [say('grant_fetch', { hosts: hosts.join(', ') })] : []),
    ...secrets.map(({ name, host }) => say('grant_secret', { name, host })),
    ...(kv ? [say('grant_kv')] : []),
    ...(llm ? [say('grant_llm', { usd: llm.usd_per_day })] : []),
  ]
  return all.length ? all : [say('grant_none')]
}

type AsksProps = { readonly plugin: Plugin; readonly heading: 'h2' | 'h3' }

function Asks({ plugin: { grants, tools, hooks }, heading: Heading }: AsksProps) {
  const seen = Object.entries(hooks)
  return (
    <>
      <Heading>{say('asksFor')}</Heading>
      <ul>
        {listGrants(grants).map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
      {tools.length > 0 && (
        <>
          <Heading>{say('tools')}</Heading>
          <ul>
            {tools.map(({ name, tool, description }) => (
              <li key={name} dir="auto">
                <code>{tool}</code> {description}
              </li>
            ))}
          </ul>
        </>
      )}
      {seen.length > 0 && (
        <>
          <Heading>{say('hooks')}</Heading>
          <ul>
            {seen.map(([hook, { matcher, required }]) => (
              <li key={hook}>
                {nameOf('hook', hook)} <code>{matcher}</code> {required && say('guard')}
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  )
}

function OnePlugin({ name }: { readonly name: string }) {
  const plugin = useLoad(() => get<PluginDetail>(path`/api/plugins/${name}`), name)
  const remove = async () => {
    if ((await ask({ title: t('delete'), text: name, action: t('delete'), isDangerous: true })) === undefined) return
    await api('DELETE', path`/api/plugins/${name}`)
    goTo('plugins')
  }
  return (
    <Screen
      title={name}
      actions={
        <>
          <a href={addressOf('plugins')}>{t('plugins')}</a>
          {can('write') && <Button onClick={remove}>{t('delete')}</Button>}
        </>
      }
    >
      <Panel of={plugin}>
        {(data) => (
          <>
            <Head plugin={data} onChange={plugin.reload} />
            <section class="card">
              <Asks plugin={data} heading="h2" />
            </section>
            <section>
              <h2>{say('limits')}</h2>
              <p>{say('limitsText')}</p>
            </section>
            <Logs logs={data.logs} />
            <Code key={data.hash} plugin={data} onSaved={plugin.reload} />
          </>
        )}
      </Panel>
    </Screen>
  )
}

const Logs = ({ logs }: Pick<PluginDetail, 'logs'>) => (
  <section>
    <h2>{say('logs')}</h2>
    <ul class="list-of">
      {logs.toReversed().map(({ at, level, text }, index) => (
        <li key={index} class={level === 'error' ? 'failure' : 'note'}>
          <time dateTime={at}>{formatDate(at)}</time>{' '}
          <span class="pre-line" dir="auto">
            {text}
          </span>
        </li>
      ))}
      {!logs.length && <li class="note">{say('noLogs')}</li>}
    </ul>
  </section>
)

function Code({ plugin, onSaved }: { readonly plugin: PluginDetail; readonly onSaved: () => Promise<void> }) {
  const [code, setCode] = useState(plugin.code)
  const save = async () => {
    await api('PATCH', path`/api/plugins/${plugin.name}`, { body: { code } })
    showDone(say('savedWaits'))
    await onSaved()
  }
  if (!can('write'))
    return (
      <pre tabIndex={0} dir="ltr">
        <code>{plugin.code}</code>
      </pre>
    )
  return (
    <Form label={say('code')} action={say('saveCode')} onSend={save}>
      <Field label={say('code')} kind="area" value={code} onChange={setCode} hint={say('codeHint')} />
    </Form>
  )
}

function NewPlugin() {
  const [name, setName] = useState('')
  const [code, setCode] = useState('')
  const [hosts, setHosts] = useState('')
  const [usd, setUsd] = useState('')
  const [hasStore, setStore] = useState(false)
  const add = async () => {
    const named = hosts.split(/[\s,]+/u).filter(Boolean)
    const grants: Grants = {
      ...(named.length && { fetch: named }),
      ...(hasStore && { kv: true }),
      ...(usd.trim() && { llm: { usd_per_day: Number(usd) } }),
    }
    await api('POST', '/api/plugins', { body: { name: name.trim(), code, grants } })
    goTo('plugins', name.trim())
  }
  return (
    <Form label={say('add')} action={t('add')} onSend={add}>
      <Field label={t('name')} value={name} onChange={setName} />
      <Field label={say('code')} kind="area" value={code} onChange={setCode} hint={say('codeHint')} />
      <Field label={say('hosts')} value={hosts} onChange={setHosts} hint={say('fetchHint')} />
      <Field label={say('budget')} value={usd} onChange={setUsd} />
      <label class="check">
        <input type="checkbox" checked={hasStore} onChange={() => setStore(!hasStore)} />
        {say('store')}
      </label>
    </Form>
  )
}
