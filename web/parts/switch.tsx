/** A switch that is on or off, and does not move before its work is done. */

import { useState } from 'preact/hooks'
import { showError } from './toast.ts'

type Props = {
  /** The name of the switched thing, for people who do not see its surroundings. */
  readonly label: string
  readonly text: string
  readonly isOn: boolean
  readonly onChange: () => Promise<void>
  readonly isFixed?: boolean
}

export function Switch({ label, text, isOn, onChange, isFixed = false }: Props) {
  const [isBusy, setBusy] = useState(false)
  const change = async () => {
    setBusy(true)
    try {
      await onChange()
    } catch (error) {
      showError(error)
    } finally {
      setBusy(false)
    }
  }
  return (
    <button
      type="button"
      class="switch"
      role="switch"
      aria-checked={isOn}
      aria-label={label}
      disabled={isFixed || isBusy}
      onClick={change}
    >
      <span class="switch-track" aria-hidden="true" />
      {text}
    </button>
  )
}
