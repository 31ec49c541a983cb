/** Chooses the model of the next messages, and how much it thinks. */

import { useEffect, useState } from 'preact/hooks'
import { useLate } from '../../../parts/late.ts'
import { loadLateStyle } from '../../../parts/late-style.ts'
import { nameEffort } from '../../../words/efforts.ts'
import { t } from '../../../words/words.ts'
import { projects } from '../../sessions/sessions.ts'
import type { ModelDialogProps } from '../../models/model-dialog.tsx'
import { addModel, choiceOf, choose, listEfforts, loadModels, models } from '../models.ts'
import { session } from '../store.ts'

/** The model of the open session, else that of the project of a new one. */
const defaultOf = (project: string): string =>
  session.value?.model ??
  projects.value.find(({ id }) => id === project)?.model ??
  models.value?.[0]?.id ??
  t('defaultModel')

type Props = { readonly session: string }

export function ModelPicker({ session: id }: Props) {
  const [isOpen, setOpen] = useState(false)
  const Dialog = useLate<ModelDialogProps>(async () => {
    const [part] = await Promise.all([import('../../models/model-dialog.tsx'), loadLateStyle()])
    return part.ModelDialog
  }, isOpen)
  // Without a network the names are unknown.
  useEffect(() => void (models.value ?? loadModels().catch(() => undefined)), [])
  const { model = '', project = '' } = choiceOf(id)
  const automatic = defaultOf(project)
  const name = model || automatic
  return (
    <>
      <button
        type="button"
        class="model"
        aria-haspopup="dialog"
        aria-label={`${t('model')}: ${name}`}
        title={name}
        onClick={() => setOpen(true)}
      >
        <span class="clip">{name.slice(name.indexOf('/') + 1)}</span>
      </button>
      <EffortPicker session={id} />
      {isOpen && Dialog && (
        <Dialog
          chosen={model}
          automatic={automatic}
          onChoose={(value, facts) => {
            if (facts) addModel(facts)
            choose(id, { ...(project && { project }), ...(value && { model: value }) })
          }}
          onClose={() => setOpen(false)}
        />
      )}
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
          {nameEffort(level)}
        </option>
      ))}
    </select>
  )
}
