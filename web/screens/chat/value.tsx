/** Shows a value of JSON as fields and lists. Text stays as it is. */

import { showBidi } from '../../markdown/links.ts'

/** Deeper values are JSON. */
const maxDepth = 4
const maxItems = 100

type Props = { readonly label: string; readonly value: unknown }

export function Value({ label, value }: Props) {
  if (value === undefined || value === '') return null
  return (
    <div role="group" aria-label={label || undefined}>
      {label && <p class="label">{label}</p>}
      <Part value={value} depth={0} />
    </div>
  )
}

function Part({ value, depth }: { readonly value: unknown; readonly depth: number }) {
  if (isEmpty(value)) return <span class="note">–</span>
  if (typeof value !== 'object' || depth > maxDepth) return <Text value={value} />
  if (Array.isArray(value))
    return (
      <ol class="items">
        {value.slice(0, maxItems).map((item, at) => (
          <li key={at}>
            <Part value={item} depth={depth + 1} />
          </li>
        ))}
        {value.length > maxItems && <li>… {value.length - maxItems}</li>}
      </ol>
    )
  return (
    <dl class="fields">
      {Object.entries(value as object).map(([name, field]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <Part value={field} depth={depth + 1} />
          </dd>
        </div>
      ))}
    </dl>
  )
}

const isEmpty = (value: unknown): boolean =>
  value === null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0)

/** A short text needs no frame. */
function Text({ value }: { readonly value: unknown }) {
  const text = typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '')
  return text.length < 80 && !text.includes('\n') ? (
    <code dir="auto">{showBidi(text)}</code>
  ) : (
    <pre tabIndex={0} dir="auto">
      {showBidi(text)}
    </pre>
  )
}
