/** Chooses the model of the next messages, and how much it thinks. */

import { useEffect, useState } from 'preact/hooks'
import { useLate } from '../../../parts/late.ts'
import { loadLateStyle } from '../../../parts/late-style.ts'
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
  const hasLevels = listEfforts(id).length > 0
  const Effort = useLate<Props>(async () => (await import('./effort-picker.tsx')).EffortPicker, hasLevels)
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
      {hasLevels && Effort && <Effort session={id} />}
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
