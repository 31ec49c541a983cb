/** Buttons that stay quiet while they work, and that always have a name. */

import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Icon, type IconName } from './icon.tsx'
import { showError } from './toast.ts'

type Props = {
  readonly onClick: () => unknown
  readonly children: ComponentChildren
  readonly kind?: 'main' | 'danger' | 'plain'
  readonly disabled?: boolean
  readonly label?: string
}

/** Is disabled while its work runs. A failure is shown. */
export function Button({ onClick, children, kind = 'plain', disabled = false, label }: Props) {
  const [isBusy, setBusy] = useState(false)
  const press = async () => {
    setBusy(true)
    try {
      await onClick()
    } catch (error) {
      showError(error)
    } finally {
      setBusy(false)
    }
  }
  return (
    <button type="button" class={`button ${kind}`} disabled={disabled || isBusy} aria-label={label} onClick={press}>
      {children}
    </button>
  )
}

type IconProps = {
  readonly icon: IconName
  readonly label: string
  readonly onClick: () => unknown
  readonly disabled?: boolean
  readonly pressed?: boolean
  readonly expanded?: boolean
}

export const IconButton = ({ icon, label, onClick, disabled = false, pressed, expanded }: IconProps) => (
  <button
    type="button"
    class="icon-button"
    aria-label={label}
    title={label}
    disabled={disabled}
    aria-pressed={pressed}
    aria-expanded={expanded}
    onClick={() => void Promise.resolve(onClick()).catch(showError)}
  >
    <Icon name={icon} />
  </button>
)
