/** Shows errors and confirmations, and speaks to screen readers. */

import { t } from '../words/words.ts'
import { IconButton } from './button.tsx'
import { dismiss, spoken, toasts } from './toast.ts'

export const Toasts = () => (
  <>
    <div class="toasts" role="region" aria-label={t('notices')}>
      {toasts.value.map(({ id, text, isError, action }) => (
        <div key={id} class={isError ? 'toast error' : 'toast'} role={isError ? 'alert' : 'status'}>
          <span dir="auto">{text}</span>
          {action && (
            <button type="button" class="button" onClick={action.run}>
              {action.label}
            </button>
          )}
          <IconButton icon="close" label={t('close')} onClick={() => dismiss(id)} />
        </div>
      ))}
    </div>
    <div class="unseen" role="status" aria-live="polite">
      {spoken.value}
    </div>
  </>
)
