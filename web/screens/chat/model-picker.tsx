/** Chooses the model of the next message. The list is loaded when it is first opened. */

import { signal } from '@preact/signals'
import { get } from '../../api/client.ts'
import { showError } from '../../parts/toast.ts'
import { t } from '../../words/words.ts'
import { session } from './store.ts'

type Models = { readonly data: readonly { readonly id: string }[] }
const models = signal<readonly string[] | undefined>(undefined)

async function load(): Promise<void> {
  if (models.value) return
  models.value = []
  const { data } = await get<Models>('/v1/models')
  models.value = data.map(({ id }) => id).filter((id) => id !== 'talaria')
}

type Props = { readonly value: string; readonly onChange: (model: string) => void }

export function ModelPicker({ value, onChange }: Props) {
  const open = () => void load().catch(showError)
  const known = models.value ?? []
  return (
    <select
      class="model"
      aria-label={t('model')}
      value={value}
      onFocus={open}
      onPointerDown={open}
      onChange={(event) => onChange(event.currentTarget.value)}
    >
      <option value="">{session.value?.model ?? t('defaultModel')}</option>
      {(value && !known.includes(value) ? [value, ...known] : known).map((id) => (
        <option key={id} value={id}>
          {id}
        </option>
      ))}
    </select>
  )
}
