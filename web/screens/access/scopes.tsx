/** Describes what a key may do, in words beside the names of the API. */

import { wordsOf } from '../../words/words.ts'

/** The words of a list. Its hint has the names of the API. */
export const Scopes = ({ of: scopes }: { readonly of: readonly string[] }) => (
  <span title={scopes.join(', ')}>{scopes.map((scope) => nameOf('scope', scope)).join(', ')}</span>
)

export const nameScope = (scope: string): string => nameOf('scope', scope)

const { nameOf } = wordsOf(
  {
    scope_chat: 'Chat',
    scope_read: 'Read',
    scope_write: 'Change',
    scope_jobs: 'Plan jobs',
    scope_approve: 'Approve',
    scope_admin: 'Run the deployment',
  },
  {
    scope_chat: 'Chatten',
    scope_read: 'Lesen',
    scope_write: 'Ändern',
    scope_jobs: 'Aufträge planen',
    scope_approve: 'Freigeben',
    scope_admin: 'Installation betreiben',
  },
)
