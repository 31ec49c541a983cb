/** Chooses the model of the next messages, and how much it thinks. */

import { useEffect } from 'preact/hooks'
import { showError } from '../../../parts/toast.ts'
import { t } from '../../../words/words.ts'
import { choiceOf, choose, listEfforts, loadModels, models } from '../models.ts'
import { session } from '../store.ts'

type Props = { readonly session: string }

export function ModelPicker({ session: id }: Props) {
  // Without a network the names are unknown. Opening the list asks again.
  useEffect(() => void (models.value ?? loadModels().catch(() => undefined)), [])
  const { model = '' } = choiceOf(id)
  const load = () => void loadModels().catch(showError)
  const first = session.value?.model ?? models.value?.[0]?.id
  const known = (models.value ?? []).map((one) => one.id).filter((name) => name !== first || name === model)
  return (
    <>
      <select
        class="model"
        aria-label={t('model')}
        value={model}
        onFocus={load}
        onChange={({ currentTarget: { value } }) => choose(id, value ? { model: value } : {})}
      >
        <option value="">{first ?? t('defaultModel')}</option>
        {(model && !known.includes(model) ? [model, ...known] : known).map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
      <EffortPicker session={id} />
    </>
  )
}

function EffortPicker({ session: id }: Props) {
  const levels = listEfforts(id)
  const choice = choiceOf(id)
  if (!levels.length) return null
  return (
    <select
      aria-label={t('effort')}
      value={choice.effort ?? ''}
      onChange={({ currentTarget: { value: effort } }) => choose(id, { ...choice, effort })}
    >
      <option value="">{t('effort')}</option>
      {levels.map((level) => (
        <option key={level} value={level}>
          {level}
        </option>
      ))}
    </select>
  )
}
