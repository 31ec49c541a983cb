/** The limits of a tenant. An empty field is no limit. */

import { useState } from 'preact/hooks'
import { api, path } from '../../api/client.ts'
import { Field, Form } from '../../parts/form.tsx'
import { t } from '../../words/words.ts'

const names = [
  'usd_per_day',
  'usd_per_month',
  'usd_per_session',
  'tokens_per_day',
  'tokens_per_month',
  'requests_per_minute',
  'concurrent_turns',
  'storage_bytes',
  'jobs',
  'children',
]

type Tenant = { readonly id: string; readonly limits: Readonly<Record<string, number>> }
type Props = { readonly tenant: Tenant; readonly onChange: () => Promise<void> }

export function TenantLimits({ tenant: { id, limits }, onChange }: Props) {
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({})
  const shown = [...new Set([...names, ...Object.keys(limits)])]
  const save = async () => {
    const all = shown.map((name) => [name, texts[name] ?? String(limits[name] ?? '')] as const)
    const set = all.filter(([, text]) => text.trim()).map(([name, text]) => [name, Number(text)] as const)
    await api('PATCH', path`/api/admin/tenants/${id}`, { body: { limits: Object.fromEntries(set) } })
    await onChange()
  }
  return (
    <details>
      <summary>
        {t('limits')} {Object.keys(limits).length > 0 && <span class="badge">{Object.keys(limits).length}</span>}
      </summary>
      <Form label={`${t('limits')}: ${id}`} action={t('save')} onSend={save}>
        <p class="note">{t('limitHint')}</p>
        {shown.map((name) => (
          <Field
            key={name}
            label={name}
            value={texts[name] ?? String(limits[name] ?? '')}
            onChange={(text) => setTexts({ ...texts, [name]: text })}
          />
        ))}
      </Form>
    </details>
  )
}
