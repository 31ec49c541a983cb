/** Adds an MCP server, or all servers of a configuration of another program. */

import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import { readProgram } from '../../model/mcp-program.ts'
import type { McpServer } from '../../model/types.ts'
import { Choice, Field, Form } from '../../parts/form.tsx'
import { showDone, showError } from '../../parts/toast.ts'
import { t } from '../../words/words.ts'
import { nameOf, say } from './mcp-words.ts'

type Props = { readonly onAdded: () => Promise<void> }
type Imported = {
  readonly data: readonly { readonly alias: string; readonly status?: string; readonly error?: string }[]
}

export const NewServer = ({ onAdded }: Props) => (
  <>
    <AddForm onAdded={onAdded} />
    <ImportForm onAdded={onAdded} />
  </>
)

function AddForm({ onAdded }: Props) {
  const [alias, setAlias] = useState('')
  const [url, setUrl] = useState('')
  const [auth, setAuth] = useState('none')
  const [token, setToken] = useState('')
  const [program, setProgram] = useState('')
  const [variables, setVariables] = useState('')
  const isProgram = auth === 'program'
  const add = async () => {
    const how = isProgram
      ? readProgram(program, variables)
      : { url: url.trim(), auth, ...(auth === 'bearer' && { token }) }
    const body = { alias: alias.trim(), ...how }
    const server = await api<McpServer>('POST', '/api/mcp/servers', { body })
    for (const clear of [setAlias, setUrl, setToken, setProgram, setVariables]) clear('')
    await onAdded()
    if (server.status === 'ready') showDone(say('added', { name: server.alias }))
  }
  return (
    <Form label={say('add')} action={t('add')} onSend={add}>
      <Field label={t('name')} value={alias} onChange={setAlias} hint={say('nameHint')} />
      <Choice
        label={say('auth')}
        value={auth}
        options={kinds().map((one) => [one, nameOf('auth', one)] as const)}
        onChange={setAuth}
      />
      {isProgram ? (
        <>
          <Field label={say('command')} kind="area" value={program} onChange={setProgram} />
          <Field label={say('env')} kind="area" value={variables} onChange={setVariables} />
        </>
      ) : (
        <Field label={say('address')} value={url} onChange={setUrl} />
      )}
      {auth === 'bearer' && <Field label={say('token')} kind="password" value={token} onChange={setToken} />}
    </Form>
  )
}

/** A program needs the scope `approve`, because it runs on hosts. */
const kinds = () => ['none', 'bearer', 'oauth', ...(can('approve') ? (['program'] as const) : [])] as const

function ImportForm({ onAdded }: Props) {
  const [text, setText] = useState('')
  const add = async () => {
    const file: unknown = JSON.parse(text)
    const { data } = await api<Imported>('POST', `/api/mcp/import`, { body: file })
    setText('')
    await onAdded()
    for (const { alias, error } of data) if (error !== undefined) showError(new Error(`${alias}: ${error}`))
    showDone(say('imported', { count: data.filter(({ error }) => error === undefined).length }))
  }
  return (
    <Form label={say('importServers')} action={say('importServers')} onSend={add}>
      <Field label={say('file')} kind="area" value={text} onChange={setText} hint={say('fileHint')} />
    </Form>
  )
}
