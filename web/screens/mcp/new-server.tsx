/** Adds an MCP server, or all servers of a configuration of another program. */

import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import { readProgram } from '../../model/mcp-program.ts'
import type { McpServer } from '../../model/types.ts'
import { Choice, Field, Form } from '../../parts/form.tsx'
import { showDone, showError } from '../../parts/toast.ts'
import { t } from '../../words/words.ts'

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
    if (server.status === 'ready') showDone(t('mcpAdded', { name: server.alias }))
  }
  return (
    <Form label={t('mcpAdd')} action={t('add')} onSend={add}>
      <Field label={t('name')} value={alias} onChange={setAlias} hint={t('mcpNameHint')} />
      <Choice
        label={t('mcpAuth')}
        value={auth}
        options={kinds().map((one) => [one, t(`mcpAuth_${one}`)] as const)}
        onChange={setAuth}
      />
      {isProgram ? (
        <>
          <Field label={t('mcpCommand')} kind="area" value={program} onChange={setProgram} />
          <Field label={t('mcpEnv')} kind="area" value={variables} onChange={setVariables} />
        </>
      ) : (
        <Field label={t('mcpAddress')} value={url} onChange={setUrl} />
      )}
      {auth === 'bearer' && <Field label={t('mcpToken')} kind="password" value={token} onChange={setToken} />}
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
    showDone(t('mcpImported', { count: data.filter(({ error }) => error === undefined).length }))
  }
  return (
    <Form label={t('mcpImport')} action={t('mcpImport')} onSend={add}>
      <Field label={t('mcpFile')} kind="area" value={text} onChange={setText} hint={t('mcpFileHint')} />
    </Form>
  )
}
